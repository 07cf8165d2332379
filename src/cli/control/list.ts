import type { Control, ListFilter, ListPage } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import type { Machine } from '../../machine.ts'
import type { StateOutcome } from '../../state-outcome.ts'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { commandLine, plain, table } from '../text.ts'
import { type AnswerOptions, answering } from './answer.ts'
import { unknownOutcome } from './outcome.ts'
import { labelsText, machineOf, stateCell } from './state-cell.ts'

/** What can be asked of a list, as it is typed. */
export interface FilterOptions {
  readonly machine?: string
  readonly machineVersion?: number
  readonly state?: readonly string[]
  readonly outcome?: readonly StateOutcome[]
  readonly parent?: number
  /** Children of all parents too. */
  readonly all?: boolean
  readonly lane?: string
  readonly label?: { readonly name: string; readonly value: string }
  readonly collection?: string
  readonly settled?: boolean
  readonly open?: boolean
  readonly reason?: string
  readonly key?: string
}

export interface ListOptions extends AnswerOptions, FilterOptions {
  readonly after?: number
  readonly limit?: number
  readonly oldest?: boolean
}

/** A page of entities: the roots, or the children of one. */
export async function list(options: ListOptions, host: Host): Promise<number> {
  const { after, limit = 20, oldest = false } = options
  const filter = { ...filterOf(options), limit, newestFirst: !oldest, ...(after === undefined ? {} : { after }) }
  let next: number | null = null
  let unknown: readonly string[] = []
  const status = await answering(
    options,
    host,
    async ({ control }) => {
      if (options.machine !== undefined) await refuseUnknown(control, options.machine)
      const page = await control.list(filter)
      next = page.next
      if (options.outcome !== undefined) unknown = await unknownIn(control, options)
      return page
    },
    async (page, { control }) => linesOf(page, after !== undefined, await control.machines(), host),
  )
  if (unknown.length > 0) host.terminal.err(`${unknownOutcome(unknown)}\n`)
  if (!options.json && next !== null) host.terminal.err(`There may be more: ${moreOf(host.words, next)}\n`)
  return status
}

export function filterOf(options: FilterOptions): ListFilter {
  const { machine, machineVersion, state, outcome, parent, all, lane, collection, settled, open, reason, key } = options
  if (settled && open) throw new SluiceError('invalid', 'Take --settled or --open; nothing is both.')
  if (collection !== undefined && options.label !== undefined) {
    throw new SluiceError('invalid', 'Take --collection or --label; one label can be asked for at a time.')
  }
  const label = collection === undefined ? options.label : { name: 'collection', value: collection }
  return {
    ...(machine === undefined ? {} : { machine }),
    ...(machineVersion === undefined ? {} : { version: machineVersion }),
    ...(state === undefined ? {} : { states: state }),
    ...(outcome === undefined ? {} : { outcomes: outcome }),
    ...(all ? {} : { parent: parent ?? null }),
    ...(lane === undefined ? {} : { lane }),
    ...(label === undefined ? {} : { label }),
    ...(settled ? { settled: true } : open ? { settled: false } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Digests and the like are cut: a list is to find something by, and `show` has all. */
const labelMax = 20

/** A column in which no row says anything is left out. */
function withoutEmpty(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const [, ...below] = rows
  return rows.map((row) => row.filter((_, column) => below.some((other) => other[column] !== '')))
}

/** The same command, behind what was shown. */
function moreOf(words: readonly string[], next: number): string {
  const at = words.indexOf('--after')
  const kept = at < 0 ? words : [...words.slice(0, at), ...words.slice(at + 2)]
  return commandLine(['sluice', ...kept, '--after', String(next)])
}

/** The machines among which was looked and whose states say nothing here of how they ended. Children of all parents are not counted. */
async function unknownIn(control: Control, { machine, parent, all }: FilterOptions): Promise<readonly string[]> {
  if (all) return []
  const [machines, lanes] = await Promise.all([
    control.machines(),
    parent === undefined ? control.totals() : control.progress(parent).then((progress) => progress.lanes),
  ])
  const known = new Set(machines.map(({ name, version }) => `${name}@${version}`))
  const names = lanes
    .filter((lane) => machine === undefined || lane.machine === machine)
    .map((lane) => `${lane.machine}@${lane.version}`)
  return [...new Set(names)].filter((name) => !known.has(name)).sort()
}

/** A name that nothing has is more likely mistyped than empty. What is stored counts too: its machine need not be known here. */
async function refuseUnknown(control: Control, name: string): Promise<void> {
  const [machines, lanes] = await Promise.all([control.machines(), control.totals()])
  const known = new Set([...machines.map((one) => one.name), ...lanes.map((lane) => lane.machine)])
  if (known.has(name) || (await control.list({ machine: name, limit: 1 })).entities.length > 0) return
  const names = [...known]
    .sort()
    .map((one) => plain(one, 60))
    .join(', ')
  throw new SluiceError('invalid', `There is no machine ${plain(name, 60)} here. Known: ${names || 'none'}.`, {
    machine: name,
  })
}

function linesOf(
  { entities }: ListPage,
  isLater: boolean,
  machines: readonly Machine[],
  host: Host,
): readonly string[] {
  if (entities.length === 0) return [`There are no ${isLater ? 'more ' : ''}such entities.`]
  return entityLines(entities, machines, host)
}

/** A line for each, under a title. */
export function entityLines(
  entities: ListPage['entities'],
  machines: readonly Machine[],
  host: Host,
): readonly string[] {
  const hasNames = entities.some(({ name }) => name !== null)
  const title = ['id', ...(hasNames ? ['name'] : []), 'machine', 'state', 'labels', 'changed', 'reason']
  const rows = entities.map((entity) => [
    String(entity.id),
    ...(hasNames ? [plain(entity.name ?? '', 40)] : []),
    plain(entity.machine, 40),
    stateCell(machines, entity, entity.shown),
    labelsText(entity.labels, machineOf(machines, entity.machine, entity.version), labelMax),
    shortMomentOf(entity.changedAt, host),
    plain(entity.reason ?? ''),
  ])
  return table(withoutEmpty([title, ...rows]), '')
}
