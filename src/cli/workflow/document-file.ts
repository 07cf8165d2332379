import { readFile, stat } from 'node:fs/promises'
import { messageOf, SluiceError } from '../../errors.ts'
import { sizeOf } from '../size.ts'

/** A workflow is written by people or tools; what is bigger than this is something else. */
const bytesMax = 64 * 2 ** 20

export async function readDocumentFile(file: string): Promise<unknown> {
  const { size } = await stat(file)
  if (size > bytesMax) {
    throw new SluiceError(
      'invalid',
      `${file} has ${sizeOf(size)}; a workflow document has at most ${sizeOf(bytesMax)}.`,
    )
  }
  const text = await readFile(file, 'utf8')
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new SluiceError('invalid', `${file} is not JSON: ${messageOf(error, 200)}.`)
  }
}
