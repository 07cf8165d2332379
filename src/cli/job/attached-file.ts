import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { GivenAttachment } from 'sluice/chunked'
import { SluiceError } from '../../errors.ts'

export interface AttachedFile {
  readonly name: string
  readonly file: string
}

/** `NAME=FILE`, or a file that keeps its own name; one for each option. */
export function attachedFile(text: string, before: readonly AttachedFile[] = []): readonly AttachedFile[] {
  const [, name, file] = /^([^=/\\]+)=(.+)$/.exec(text) ?? [null, basename(text), text]
  if (!name || !file) throw new InvalidArgumentError('NAME=FILE was expected.')
  return [...before, { name, file }]
}

/** How much of a file is read at once: less costs time, more costs memory. */
const readBytes = 1_048_576

/** Looked at before anything is opened: a mistyped name leaves no job behind. */
export async function checkFiles(files: readonly AttachedFile[]): Promise<void> {
  for (const { file } of files) {
    if ((await stat(file)).isDirectory()) throw new SluiceError('invalid', `${file} is a folder, not a file.`)
  }
}

/** Files are opened when it is their turn. */
export function attachmentsOf(files: readonly AttachedFile[], signal: AbortSignal): readonly GivenAttachment[] {
  return files.map(({ name, file }) => ({ name, source: blocksOf(file, signal) }))
}

async function* blocksOf(file: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  yield* createReadStream(file, { highWaterMark: readBytes, signal }) as AsyncIterable<Buffer>
}
