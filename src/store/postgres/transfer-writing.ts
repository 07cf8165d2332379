import type { MoveRecord } from '../../event.ts'
import type { Hold, HoldActor } from '../../hold.ts'
import type { LaneRecord, MachineRecord, OperationRecord, Records, Section, StagingRecord } from '../../transfer.ts'
import { actorText } from './actor-text.ts'
import { drawn } from './commit.ts'
import type { Desk } from './desk.ts'
import { type Lesson, Unlearned } from './dictionary.ts'
import type { LaneName } from './need.ts'
import type { StagedLane } from './staging.ts'
import { laneKey, Stock } from './stock.ts'
import { type Group, uniqueLanes } from './transfer-group.ts'
import { insert } from './transfer-insert.ts'
import { writeEntities } from './transfer-placing.ts'
import { trailMax } from './writing.ts'

/** Names that the records have and this store does not know yet: learned at once, before the group is written. */
export function lessonOf<Name extends Section>(
  { dictionary }: Desk,
  section: Name,
  records: readonly Records[Name][],
): Lesson | null {
  const words = new Set<string>()
  const machines = new Map<string, { readonly name: string; readonly version: number }>()
  const paths = new Map<string, Pick<MoveRecord, 'cause' | 'hops'>>()
  if (section === 'entities') {
    for (const { machine: name, version, state, born, request } of records as readonly Records['entities'][]) {
      for (const word of [state, born, ...(request ? [request.edge] : [])])
        if (dictionary.wordIfKnown(word) === null) words.add(word)
      if (!dictionary.machineIfKnown(name, version)) machines.set(`${name}@${version}`, { name, version })
    }
  }
  if (section === 'history') {
    for (const { cause, hops } of records as readonly MoveRecord[]) {
      try {
        dictionary.path(cause, hops)
      } catch (error) {
        if (!(error instanceof Unlearned)) throw error
        paths.set(JSON.stringify([cause, hops]), { cause, hops })
      }
    }
  }
  if (words.size + machines.size + paths.size === 0) return null
  return { words: [...words], machines: [...machines.values()], paths: [...paths.values()] }
}

/** Takes in what another store has told. */
export function writeRecords<Name extends Section>(
  group: Group,
  section: Name,
  records: readonly Records[Name][],
): Promise<void> | void {
  return writers[section](group, records)
}

type Writer<Name extends Section> = (group: Group, records: readonly Records[Name][]) => Promise<void> | void

const writers: { readonly [Name in Section]: Writer<Name> } = {
  machines: writeMachines,
  lanes: writeLanes,
  stagings: writeStagings,
  entities: writeEntities,
  history: writeHistory,
  holds: ({ session }, holds) => insert(session, 'hold', holdColumns(holds)),
  past_holds: ({ session }, holds) =>
    insert(session, 'past_hold', {
      ...holdColumns(holds),
      ended_at: ['int8', holds.map(({ ended, since }) => ended?.at ?? since)],
      ended_by: ['text', holds.map(({ ended }) => (ended?.by ? holderText(ended.by) : null))],
    }),
  pools: ({ session }, pools) =>
    insert(session, 'pool', {
      name: ['text', pools.map(({ name }) => name)],
      ceiling: ['float8', pools.map(({ ceiling }) => ceiling)],
      taken: ['float8', pools.map(({ taken }) => taken)],
      turns: ['int8', pools.map(({ turns }) => turns)],
    }),
  shares: ({ session }, shares) =>
    insert(session, 'pool_share', {
      pool: ['text', shares.map(({ pool }) => pool)],
      entity: ['int8', shares.map(({ entity }) => entity)],
      amount: ['float8', shares.map(({ amount }) => amount)],
      turn: ['int8', shares.map(({ turn }) => turn)],
    }),
  tombstones: ({ session }, tombstones) =>
    insert(session, 'tombstone', {
      id: ['int8', tombstones.map(({ id }) => id)],
      machine: ['text', tombstones.map(({ machine }) => machine)],
      version: ['int4', tombstones.map(({ version }) => version)],
      state: ['text', tombstones.map(({ state }) => state)],
      key: ['text', tombstones.map(({ key }) => key)],
      data: ['text', tombstones.map(({ data }) => data)],
      lanes: ['text', tombstones.map(({ lanes }) => lanes)],
      created_at: ['int8', tombstones.map(({ createdAt }) => createdAt)],
      purged_at: ['int8', tombstones.map(({ purgedAt }) => purgedAt)],
    }),
  operations: writeOperations,
}

/** Whoever knows the machines of before is told to read them again. */
function writeMachines({ session }: Group, machines: readonly MachineRecord[]): void {
  insert(session, 'machine', {
    name: ['text', machines.map(({ name }) => name)],
    version: ['int4', machines.map(({ version }) => version)],
    digest: ['text', machines.map(({ digest }) => digest)],
    labels: ['text', machines.map(({ labels }) => JSON.stringify(labels))],
    declaration: ['text', machines.map(({ declaration }) => declaration)],
  })
  session.send("UPDATE counter SET value = value + 1 WHERE name = 'machines'")
}

function writeLanes({ desk, session }: Group, lanes: readonly LaneRecord[]): void {
  insert(session, 'lane', {
    name: ['text', lanes.map(({ name }) => name)],
    parent: ['int8', lanes.map(({ parent }) => parent)],
    machine: [
      'int4',
      lanes.map(({ machine, version }) => (machine === '' ? null : desk.dictionary.machine(machine, version).id)),
    ],
    counts: ['text', lanes.map(({ counts }) => JSON.stringify(counts))],
    total: ['int8', lanes.map(({ total }) => total)],
    open: ['int8', lanes.map(({ open }) => open)],
    reasons: ['text', lanes.map(({ reasons }) => JSON.stringify(reasons))],
    sums: ['text', lanes.map(({ sums }) => JSON.stringify(sums))],
    wake: ['int8', lanes.map(({ wake }) => wake)],
    seen: ['int8', lanes.map(({ seen }) => seen)],
    watches: ['text', lanes.map(({ watches }) => JSON.stringify(watches))],
    entered: ['text', lanes.map(({ entered }) => JSON.stringify(entered))],
    gate: ['text', lanes.map(({ gate }) => gate)],
    status: ['text', lanes.map(({ status }) => status)],
    awaited: ['bool', lanes.map(({ awaited }) => awaited)],
    hidden: ['bool', lanes.map(({ hidden }) => hidden)],
  })
}

async function writeStagings({ desk, session }: Group, stagings: readonly StagingRecord[]): Promise<void> {
  const stock = new Stock(session, desk.dictionary)
  const names = stagings.flatMap(({ lanes }) => lanes.map(({ parent, lane }): LaneName => ({ parent, name: lane })))
  const [ids] = await Promise.all([
    drawn(session, 'staging_id', stagings.length),
    stock.loadLanes({ names: uniqueLanes(names) }),
  ])
  const lanesOf = ({ lanes }: StagingRecord): readonly StagedLane[] =>
    lanes.map(({ parent, lane, machine, version, watches, figures }) => ({
      lane: stock.laneIds.get(laneKey(parent, lane))!,
      machine: desk.dictionary.machine(machine, version).id,
      watches,
      figures: [...figures],
    }))
  insert(session, 'staging', {
    id: ['int8', ids],
    source: ['int8', stagings.map(({ source }) => source)],
    births: ['text', stagings.map(({ births }) => JSON.stringify(births))],
    lanes: ['text', stagings.map((staging) => JSON.stringify(lanesOf(staging)))],
  })
}

/** Where trails go when they have become long: in pieces of that length. What comes next begins a new trail. */
function writeHistory({ desk, session }: Group, moves: readonly MoveRecord[]): void {
  const rows: { readonly entity: number; readonly first: number; records: string }[] = []
  for (const move of moves) {
    const last = rows.at(-1)
    const line = lineOf(move, desk.dictionary.path(move.cause, move.hops))
    if (last?.entity === move.entity && last.records.length < trailMax) last.records += line
    else rows.push({ entity: move.entity, first: move.seq, records: line })
  }
  insert(session, 'history', {
    entity: ['int8', rows.map(({ entity }) => entity)],
    first: ['int4', rows.map(({ first }) => first)],
    records: ['text', rows.map(({ records }) => records)],
  })
}

function lineOf(move: MoveRecord, path: number): string {
  const { seq, epoch, generation, at, error } = move
  const actor = actorText(move)
  const rest = actor === null && error === null ? '' : `,${actor ?? 'null'},${JSON.stringify(error)}`
  return `[${seq},${epoch},${generation},${at},${path}${rest}]\n`
}

function holdColumns(holds: readonly Hold[]) {
  return {
    id: ['int4', holds.map(({ id }) => id)],
    scope: ['text', holds.map(({ scope }) => JSON.stringify(scope))],
    reason: ['text', holds.map(({ reason }) => reason)],
    owner: ['text', holds.map(({ owner }) => owner)],
    until: ['int8', holds.map(({ until }) => until)],
    since: ['int8', holds.map(({ since }) => since)],
    set_by: ['text', holds.map(({ by }) => holderText(by))],
  } as const
}

/** Unlike that of a move it is never left out: nobody at all is told from nobody known. */
function holderText({ actor, role, reason, requestId }: HoldActor): string {
  return JSON.stringify([actor, role, reason, requestId])
}

/** Positions go on from the last; those of new transactions are made to follow when the transfer is finished. */
async function writeOperations({ session }: Group, operations: readonly OperationRecord[]): Promise<void> {
  const found = await session.one(
    `SELECT greatest((SELECT max(position) FROM operation), (SELECT value FROM counter WHERE name = 'pruned'), 1)`,
  )
  const last = found?.[0] as number
  insert(session, 'operation', {
    name: ['text', operations.map(({ name }) => name)],
    position: ['int8', operations.map((_, index) => last + 1 + index)],
    at: ['int8', operations.map(({ at }) => at)],
    verdicts: ['text', operations.map(({ verdicts }) => verdicts)],
    changes: ['text', operations.map(({ changes }) => changes)],
  })
}
