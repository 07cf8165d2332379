import type { Control } from '../../control.ts'
import type { Hold } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Worker } from '../../lease.ts'
import type { Machine } from '../../machine.ts'
import { counted, countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { plain, section, table } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'
import { holdLine } from './holds.ts'
import { byCount } from './show.ts'
import { stateCell } from './state-cell.ts'

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
    async (found, { control }) => linesOf(found, await control.machines(), host),
  )
}

async function statusOf(control: Control): Promise<Status> {
  const [lanes, workers, holds] = await Promise.all([control.totals(), control.workers(), control.holds()])
  return { lanes, workers, holds }
}

function linesOf({ lanes, workers, holds }: Status, machines: readonly Machine[], host: Host): readonly string[] {
  const roots = lanes.flatMap((lane) =>
    byCount(lane.counts).map(([count, state], index) => [
      index === 0 ? `${plain(lane.machine, 60)} (version ${lane.version})` : '',
      stateCell(machines, lane, state),
      count,
    ]),
  )
  const open = lanes.reduce((all, lane) => all + lane.open, 0)
  const total = lanes.reduce((all, lane) => all + lane.total, 0)
  return [
    `${counted(total, 'root')}, ${countOf(open)} of them open; ${counted(workers.length, 'worker')}; ${counted(holds.length, 'hold')}.`,
    ...section('Roots', table(roots)),
    ...section('Workers', workerLines(workers, host)),
    ...section('Holds', table(holds.map((hold) => holdLine(hold, host)))),
    ...(open > 0 && workers.length === 0
      ? ['', 'Nobody works on this store: start sluice serve or sluice worker.']
      : []),
  ]
}

/** A row for each, and what it works on below it: names of machines would push everything else aside. */
function workerLines(workers: readonly Worker[], host: Host): readonly string[] {
  const rows = table(workers.map((worker) => workerCells(worker, host)))
  return workers.flatMap(({ machines, roles }, index) => [
    rows[index] ?? '',
    `    works on ${plain(machines.join(', '), 2_000) || 'nothing'}${roles.length === 0 ? '' : plain(`; roles ${roles.join(', ')}`, 1_000)}`,
  ])
}

function workerCells({ name, host: on, pid, program, leases, startedAt }: Worker, host: Host): readonly string[] {
  return [
    plain(name, 60),
    plain(`${on}, process ${pid}`, 80),
    plain(program, 40),
    `since ${shortMomentOf(startedAt, host)}`,
    counted(leases, 'lease'),
  ]
}
