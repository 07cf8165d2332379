import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { retry } from 'sluice/chunked'
import type { LinePlace } from '../ndjson.ts'

export interface RangeOfLines {
  readonly range: number
  readonly from: LinePlace
  readonly to: number
  /** Of the whole file; with the last range only. */
  readonly sha256: string | null
}

export interface FileState {
  readonly size: number
  readonly changedMs: number
}

const blockBytes = 1024 * 1024
const lineFeed = 0x0a

export async function stateOf(handle: FileHandle): Promise<FileState> {
  const { size, mtimeMs } = await handle.stat()
  return { size, changedMs: mtimeMs }
}

/**
 * Divides a file into ranges of about so many bytes, each of which begins with a line and ends with one. There is always one, if
 * only an empty one: so that a report knows every file.
 */
export async function* rangesOf(
  path: string,
  open: (path: string) => Promise<FileHandle>,
  rangeBytes: number,
  signal: AbortSignal,
): AsyncGenerator<RangeOfLines & FileState> {
  const handle = await open(path)
  try {
    const state = await stateOf(handle)
    const hash = createHash('sha256')
    const block = Buffer.allocUnsafe(blockBytes)
    let from: LinePlace = { offset: 0, line: 1 }
    let line = 1
    let range = 0
    for (let at = 0; ; ) {
      signal.throwIfAborted()
      const { bytesRead } = await handle.read(block, 0, blockBytes, at)
      if (bytesRead === 0) break
      const bytes = block.subarray(0, bytesRead)
      hash.update(bytes)
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) {
        line += 1
        const next = at + end + 1
        if (next - from.offset < rangeBytes || next === state.size) continue
        yield { ...state, range, from, to: next, sha256: null }
        range += 1
        from = { offset: next, line }
      }
      at += bytesRead
    }
    const { size, changedMs } = await stateOf(handle)
    if (size !== state.size || changedMs !== state.changedMs) {
      throw retry(`${path} was changed while it was read. It is looked at again.`)
    }
    yield { ...state, range, from, to: size, sha256: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}
