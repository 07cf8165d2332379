import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import type { UploadOptions } from 'sluice/upload'
import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { serverOf } from '../place.ts'
import type { ProgressBar } from '../progress-bar.ts'
import { fileBytes } from './file-bytes.ts'
import { notificationIn } from './notification-file.ts'
import { type Opened, openToWork } from './place.ts'
import { type WorkOptions, workOn } from './work.ts'

export interface RunOptions extends WorkOptions {
  readonly name?: string
  readonly uploader?: string
  readonly contentType?: string
  readonly sha256?: string
  readonly force?: boolean
  readonly textIndex?: boolean
  readonly maxSize?: number
  readonly notify?: string
  readonly collection?: string
}

/** Uploads a file and stays until its batch is settled. A file that is known already is not uploaded again. */
export async function run(file: string, options: RunOptions, host: Host): Promise<number> {
  let source: Source
  return workOn(
    {
      async open(signal) {
        const isRemote = serverOf(options, host.environment) !== null
        if (isRemote) refuseServersOwn(options)
        source = await sourceOf(file, isRemote, options, host, signal)
        return openToWork(options, host.environment, await familyOptions(options))
      },
      begin: (opened, bar) => receive(opened, source, options, host, bar),
    },
    options,
    host,
  )
}

/** What is decided where the work is done. Whoever asks for it is told, not ignored. */
function refuseServersOwn(options: RunOptions): void {
  for (const name of ['uploader', 'textIndex', 'maxSize', 'notify'] as const) {
    if (options[name] === undefined) continue
    const option = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    throw new SluiceError('invalid', `${option} goes without a server: that is for the server to say.`)
  }
}

/** How much of a file is sent at once. */
const sendBytes = 1_048_576

interface Source {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly fileName: string
  /** Null: a pipe, which ends when it ends. */
  readonly size: number | null
}

/** Looked at before anything is opened: a mistyped name leaves no store behind. */
async function sourceOf(
  file: string,
  isRemote: boolean,
  { name }: RunOptions,
  { input }: Host,
  signal: AbortSignal,
): Promise<Source> {
  if (file === '-') return { bytes: addAbortSignal(signal, input), fileName: name ?? 'stdin', size: null }
  const found = await stat(file)
  if (found.isDirectory()) throw new SluiceError('invalid', `${file} is a folder, not a file.`)
  return {
    // A connection may hold on to a piece while the next one is read.
    bytes: isRemote ? createReadStream(file, { highWaterMark: sendBytes, signal }) : fileBytes(file, signal),
    fileName: name ?? file,
    size: found.isFile() ? found.size : null,
  }
}

async function familyOptions({ textIndex, maxSize, notify }: RunOptions): Promise<Omit<UploadOptions, 'folder'>> {
  return {
    ...(textIndex === undefined ? {} : { textIndex }),
    ...(maxSize === undefined ? {} : { fileBytesMax: maxSize }),
    ...(notify === undefined ? {} : { notification: await notificationIn(notify) }),
  }
}

function receive(opened: Opened, source: Source, options: RunOptions, host: Host, bar: ProgressBar | null) {
  const { uploader = host.user, contentType, sha256, force, collection } = options
  const { fileName, size } = source
  return opened.upload.receive(opened.control, source.bytes, {
    fileName,
    uploadedBy: uploader,
    ...(contentType === undefined ? {} : { contentType }),
    ...(size === null ? {} : { expectedBytes: size }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(force === undefined ? {} : { force }),
    ...(collection === undefined ? {} : { collection }),
    onProgress: (bytes) => bar?.show({ phase: 'receiving', done: bytes, total: size, unit: 'bytes' }),
  })
}
