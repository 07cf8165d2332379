import type { Event } from '../../event.ts'
import type { Host } from '../host.ts'
import { instantOf } from '../moment.ts'
import { plain, table } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'

export interface HistoryOptions extends AnswerOptions {
  readonly after?: number
  readonly limit?: number
}

/** Every hop of an entity, oldest first. */
export function history(id: number, options: HistoryOptions, host: Host): Promise<number> {
  const { after, limit = 100 } = options
  const page = { limit, ...(after === undefined ? {} : { afterSeq: after }) }
  return answering(
    options,
    host,
    async ({ control }) => ({ events: await control.history(id, page) }),
    ({ events }) => {
      if (events.length === 0) return [`There is no ${after === undefined ? '' : 'more '}history of ${id}.`]
      return table(
        [['seq', 'at', 'way', 'transition', 'by', 'why'], ...events.map((event) => cellsOf(event, host))],
        '',
      )
    },
  )
}

export function cellsOf(event: Event, host: Host): readonly string[] {
  const { seq, at, from, to, transition, cause, actor, reason, error } = event
  return [
    String(seq),
    instantOf(at, host),
    plain(`${from ?? '·'} → ${to ?? '·'}`, 80),
    plain(transition === cause ? transition : `${transition} (${cause})`, 60),
    plain(actor ?? '', 40),
    plain([reason, error].filter((text) => text !== null && text !== '').join(': ')),
  ]
}
