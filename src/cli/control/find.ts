import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { plain } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'
import { entityLines } from './list.ts'

/** What a person means who types an id or a key. */
export function find(text: string, options: AnswerOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    async ({ control }) => {
      const found = await control.find(text)
      if (found.length > 0) return { found }
      throw new SluiceError('not_found', `There is no entity with the id or the key ${plain(text, 200)}.`, { text })
    },
    async ({ found }, { control }) => entityLines(found, await control.machines(), host),
  )
}
