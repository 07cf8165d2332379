import type { Control } from '../../control.ts'
import type { Hold } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Worker } from '../../lease.ts'
import { countOf, timeOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'
import { holdLine } from './holds.ts'
import { stateText } from './outcome.ts'
import { byCount } from './show.ts'

interface Status {
  readonly lanes: readonly Lane[]
  readonly workers: readonly Worker[]
  readonly holds: readonly Hold[]
}

/** What there is, who works on it, and what is held. */
export function status(options: AnswerOptions, host: Host): Promise<number> {
  return answering(
    options,
    host,
    ({ control }) => statusOf(control),
    (found) => linesOf(found),
  )
}

async function statusOf(control: Control): Promise<Status> {
  const [lanes, workers, holds] = await Promise.all([control.totals(), control.workers(), control.holds()])
  return { lanes, workers, holds }
}

function linesOf({ lanes, workers, holds }: Status): readonly string[] {
  const roots = lanes.flatMap((lane) =>
    byCount(lane.counts).map(([count, state], index) => [
      index === 0 ? `${plain(lane.machine, 60)} (version ${lane.version})` : '',
      stateText(state),
      count,
    ]),
  )
  const open = lanes.reduce((all, lane) => all + lane.open, 0)
  const total = lanes.reduce((all, lane) => all + lane.total, 0)
  return [
    `${countOf(total)} roots, ${countOf(open)} of them open; ${countOf(workers.length)} workers; ${countOf(holds.length)} holds.`,
    ...section('Roots', table(roots)),
    ...section('Workers', table(workers.map(workerCells))),
    ...section('Holds', table(holds.map(holdLine))),
    ...(open > 0 && workers.length === 0
      ? ['', 'Nobody works on this store: start sluice serve or sluice worker.']
      : []),
  ]
}

function workerCells(worker: Worker): readonly (string | number)[] {
  const { name, host, pid, program, roles, machines, leases, startedAt } = worker
  return [
    plain(name, 60),
    plain(`${host}, process ${pid}`, 80),
    plain(program, 40),
    `since ${timeOf(startedAt)}`,
    leases,
    'leases',
    plain(machines.join(', '), 120),
    roles.length === 0 ? '' : plain(`roles ${roles.join(', ')}`, 60),
  ]
}
