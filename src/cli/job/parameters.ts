import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { messageOf, SluiceError } from '../../errors.ts'

export interface ParameterOptions {
  readonly params?: string
  readonly paramsFile?: string
}

/** More than a job can hold in any case; what is bigger is an attachment. */
const bytesMax = 16 * 1024 * 1024

/** The parameters as they were typed or written to a file; without either, none. */
export async function parametersOf({ params, paramsFile }: ParameterOptions, input: Readable): Promise<unknown> {
  if (params !== undefined && paramsFile !== undefined) {
    throw new SluiceError('invalid', 'Give the parameters by --params or by --params-file, not by both.')
  }
  if (paramsFile !== undefined) {
    const source: AsyncIterable<Buffer | string> = paramsFile === '-' ? input : createReadStream(paramsFile)
    return parsed(await textOf(source, paramsFile), paramsFile === '-' ? 'on standard input' : `in ${paramsFile}`)
  }
  return params === undefined ? {} : parsed(params, 'of --params')
}

async function textOf(source: AsyncIterable<Buffer | string>, file: string): Promise<string> {
  const blocks: Buffer[] = []
  let bytes = 0
  for await (const block of source) {
    blocks.push(Buffer.from(block))
    bytes += blocks.at(-1)!.length
    if (bytes > bytesMax) {
      throw new SluiceError('invalid', `The parameters in ${file} have more than ${bytesMax} bytes; use --attach.`)
    }
  }
  return Buffer.concat(blocks).toString('utf8')
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SluiceError('invalid', `The parameters ${where} are not JSON: ${messageOf(error, 300)}.`)
  }
}
