import type { Detail, Explanation, Progress } from '../../control.ts'
import type { Machine } from '../../machine.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { momentOf, withMoments } from '../moment.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering, said } from './answer.ts'
import { stateText } from './outcome.ts'
import type { Reached } from './reach.ts'
import { labelsText, machineOf, stateCell } from './state-cell.ts'

export interface Shown {
  readonly entity: Detail
  readonly progress: Progress
  readonly explanation: Explanation
}

/** All about one entity, whatever its machine is. */
export function show(id: number, options: AnswerOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    (reached) => lookAt(reached, id),
    async (found, { control }) => linesOf(found, await control.machines(), host),
  )
}

async function lookAt({ control }: Reached, id: number): Promise<Shown> {
  const [entity, progress, explanation] = await Promise.all([
    control.get(id),
    control.progress(id),
    control.explain(id),
  ])
  return { entity, progress, explanation }
}

function linesOf(
  { entity, progress, explanation }: Shown,
  machines: readonly Machine[],
  host: Host,
): readonly string[] {
  return [
    withMoments(plain(explanation.sentence, 1_000), host),
    '',
    ...table(factsOf(entity, machines, host)),
    ...section('Data', dataLines(entity.data, String)),
    ...section('What its processor says', entity.progress === null ? [] : dataLines(entity.progress, String)),
    ...section('Children', childLines(progress, machines)),
    ...section('Why they failed', table(byCount(progress.reasons))),
    ...section('What can be asked of it', actionLines(entity)),
  ]
}

function factsOf(
  entity: Detail,
  machines: readonly Machine[],
  host: Host,
): readonly (readonly [string, string | number])[] {
  const { createdAt, createdBy, changedAt, generation, attempts, request } = entity
  return said([
    ['name', entity.name === null ? null : plain(entity.name, 120)],
    ['machine', `${plain(entity.machine, 60)}, version ${entity.version}`],
    ['state', stateCell(machines, entity, entity.shown)],
    ['created', `${momentOf(createdAt, host)}${createdBy === null ? '' : ` by ${plain(createdBy, 100)}`}`],
    ['changed', momentOf(changedAt, host)],
    ['parent', entity.parent === null ? null : String(entity.parent)],
    ['lane', entity.parent === null ? null : plain(entity.lane, 60)],
    ['key', entity.key === null ? null : plain(entity.key, 200)],
    ['priority', entity.priority === 0 ? null : String(entity.priority)],
    ['labels', labelsText(entity.labels, machineOf(machines, entity.machine, entity.version), 100)],
    ['generation', generation === 0 ? null : String(generation)],
    ['attempts', attempts === 0 ? null : String(attempts)],
    [
      'asked for',
      request === null ? null : `${plain(request.edge, 60)} by ${plain(request.actor ?? 'the engine', 100)}`,
    ],
    ['reason', entity.reason === null ? null : plain(entity.reason, 300)],
    ['error', entity.error === null || entity.error === entity.reason ? null : plain(entity.error, 1_000)],
    ['removed', entity.purged ? 'by retention; this is what is left of it' : null],
  ])
}

export function childLines(
  { lanes, total, settled, percent }: Progress,
  machines: readonly Machine[],
): readonly string[] {
  if (total === 0) return []
  const rows = lanes.flatMap((lane) =>
    byCount(lane.counts).map(
      ([count, state], index) =>
        [index === 0 ? plain(lane.name, 60) : '', stateCell(machines, lane, state), count] as const,
    ),
  )
  return [...table(rows), `  ${countOf(settled)} of ${countOf(total)} are settled, ${Math.floor(percent)} %`]
}

export function byCount(counts: Readonly<Record<string, number>>): readonly (readonly [number, string])[] {
  return Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => [count, plain(name)] as const)
}

function actionLines({ actions }: Detail): readonly string[] {
  return table(
    actions.map(({ action, to, warning, refusal }) => [
      plain(action, 60),
      `→ ${stateText(to)}`,
      refusal === null
        ? warning === null
          ? ''
          : `with a warning: ${plain(warning, 200)}`
        : `not now: ${plain(refusal, 200)}`,
    ]),
  )
}
