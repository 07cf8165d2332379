import type { Report } from '../../control.ts'
import type { Machine } from '../../machine.ts'
import { durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { momentOf, withMoments } from '../moment.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering, said } from './answer.ts'
import { exitOfEntity } from './outcome.ts'
import { byCount, childLines } from './show.ts'
import { stateCell } from './state-cell.ts'

/** How an entity ended, or how far it is, and what it reports. The exit status tells how it ended. */
export function report(id: number, options: AnswerOptions, host: Host): Promise<number> {
  let exit: 0 | 1 | 2 = 2
  return answering(
    options,
    host,
    async ({ control }) => {
      const found = await control.report(id)
      exit = exitOfEntity(await control.machines(), found, found.progress)
      return found
    },
    async (found, { control }) => linesOf(found, await control.machines(), host),
    () => exit,
  )
}

function linesOf(found: Report, machines: readonly Machine[], host: Host): readonly string[] {
  const { machine, version, state, settled, createdAt, createdBy, changedAt, sentence, progress, result } = found
  return [
    withMoments(plain(sentence, 1_000), host),
    '',
    ...table(
      said([
        ['machine', `${plain(machine, 60)}, version ${version}`],
        ['state', stateCell(machines, found, state)],
        ['created', `${momentOf(createdAt, host)}${createdBy === null ? '' : ` by ${plain(createdBy, 100)}`}`],
        ['ended', settled ? `${momentOf(changedAt, host)}, after ${durationOf(changedAt - createdAt)}` : null],
      ]),
    ),
    ...section('Children', childLines(progress, machines)),
    ...section('Why they failed', table(byCount(progress.reasons))),
    ...section('What it reports', result === null ? [] : dataLines(result)),
  ]
}
