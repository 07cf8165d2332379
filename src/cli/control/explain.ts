import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { plain } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'

/** Why an entity is where it is. */
export function explain(id: number, options: AnswerOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    ({ control }) => control.explain(id),
    ({ sentence, facts }) => [
      plain(sentence, 2_000),
      ...(Object.keys(facts).length === 0 ? [] : ['', ...dataLines(facts)]),
    ],
  )
}
