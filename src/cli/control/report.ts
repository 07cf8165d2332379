import { type Report, reportOf } from '../../http/routes/report.ts'
import { durationOf, timeOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering, said } from './answer.ts'
import { exitOfEntity, stateText } from './outcome.ts'
import { byCount, childLines } from './show.ts'

/** How an entity ended, or how far it is, and what it reports. The exit status tells how it ended. */
export function report(id: number, options: AnswerOptions, host: Host): Promise<number> {
  let exit: 0 | 1 | 2 = 2
  return answering(
    options,
    host,
    async ({ control }) => {
      const found = await reportOf(control, await control.get(id))
      exit = exitOfEntity(await control.machines(), found, found.progress)
      return found
    },
    linesOf,
    () => exit,
  )
}

function linesOf(found: Report): readonly string[] {
  const { machine, version, state, settled, createdAt, createdBy, changedAt, sentence, progress, result } = found
  return [
    plain(sentence, 1_000),
    '',
    ...table(
      said([
        ['machine', `${plain(machine, 60)}, version ${version}`],
        ['state', plain(stateText(state), 60)],
        ['created', `${timeOf(createdAt)}${createdBy === null ? '' : ` by ${plain(createdBy, 100)}`}`],
        ['ended', settled ? `${timeOf(changedAt)}, after ${durationOf(changedAt - createdAt)}` : null],
      ]),
    ),
    ...section('Children', childLines(progress)),
    ...section('Why they failed', table(byCount(progress.reasons))),
    ...section('What it reports', result === null ? [] : dataLines(result)),
  ]
}
