import type { Detail, Explanation, Progress } from '../../control.ts'
import { countOf, timeOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { dataLines } from '../job/data-lines.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering, said } from './answer.ts'
import { stateText } from './outcome.ts'
import type { Reached } from './reach.ts'

export interface Shown {
  readonly entity: Detail
  readonly progress: Progress
  readonly explanation: Explanation
}

/** All about one entity, whatever its machine is. */
export function show(id: number, options: AnswerOptions, host: Host): Promise<number> {
  return answering(options, host, (reached) => lookAt(reached, id), linesOf)
}

async function lookAt({ control }: Reached, id: number): Promise<Shown> {
  const [entity, progress, explanation] = await Promise.all([
    control.get(id),
    control.progress(id),
    control.explain(id),
  ])
  return { entity, progress, explanation }
}

function linesOf({ entity, progress, explanation }: Shown): readonly string[] {
  return [
    plain(explanation.sentence, 1_000),
    '',
    ...table(factsOf(entity)),
    ...section('Data', dataLines(entity.data)),
    ...section('What its processor says', entity.progress === null ? [] : dataLines(entity.progress)),
    ...section('Children', childLines(progress)),
    ...section('Why they failed', table(byCount(progress.reasons))),
    ...section('What can be asked of it', actionLines(entity)),
  ]
}

function factsOf(entity: Detail): readonly (readonly [string, string | number])[] {
  const { createdAt, createdBy, changedAt, generation, attempts, request } = entity
  return said([
    ['machine', `${plain(entity.machine, 60)}, version ${entity.version}`],
    ['state', plain(stateText(entity.shown), 60)],
    ['created', `${timeOf(createdAt)}${createdBy === null ? '' : ` by ${plain(createdBy, 100)}`}`],
    ['changed', timeOf(changedAt)],
    ['parent', entity.parent],
    ['lane', entity.parent === null ? null : plain(entity.lane, 60)],
    ['key', entity.key === null ? null : plain(entity.key, 200)],
    ['priority', entity.priority === 0 ? null : entity.priority],
    [
      'labels',
      entity.labels
        .filter((label) => label !== null)
        .map((label) => plain(label, 100))
        .join(', '),
    ],
    ['generation', generation === 0 ? null : generation],
    ['attempts', attempts === 0 ? null : attempts],
    [
      'asked for',
      request === null ? null : `${plain(request.edge, 60)} by ${plain(request.actor ?? 'the engine', 100)}`,
    ],
    ['reason', entity.reason === null ? null : plain(entity.reason, 300)],
    ['error', entity.error === null ? null : plain(entity.error, 1_000)],
    ['removed', entity.purged ? 'by retention; this is what is left of it' : null],
  ])
}

export function childLines({ lanes, total, settled, percent }: Progress): readonly string[] {
  if (total === 0) return []
  const rows = lanes.flatMap((lane) =>
    byCount(lane.counts).map(
      ([count, state], index) => [index === 0 ? plain(lane.name, 60) : '', stateText(state), count] as const,
    ),
  )
  return [...table(rows), `  ${countOf(settled)} of ${countOf(total)} are settled, ${Math.floor(percent)} %`]
}

export function byCount(counts: Readonly<Record<string, number>>): readonly (readonly [number, string])[] {
  return Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => [count, plain(name, 100)] as const)
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
