import type { Entity } from '../../entity.ts'
import { stops } from '../../hold.ts'
import { claimPlan, edgesFrom, isFinal, isSettled, policyOf } from '../../machine.ts'
import type { Move } from '../../store.ts'
import type { Cause, Edge } from '../../transition.ts'
import type {
  ClaimFact,
  FanOutFact,
  HoldFact,
  LaneFact,
  MoveFact,
  PoolFact,
  RowFact,
  TimeFact,
  VerdictFact,
  WaitFact,
} from './facts.ts'

/** Null: it holds. Otherwise what was seen instead. */
type Check<Fact> = (fact: Fact) => string | null

export interface Invariant {
  readonly name: string
  readonly sentence: string
  readonly move?: Check<MoveFact>
  readonly fanOut?: Check<FanOutFact>
  readonly claim?: Check<ClaimFact>
  readonly row?: Check<RowFact>
  readonly lane?: Check<LaneFact>
  readonly verdict?: Check<VerdictFact>
  readonly wait?: Check<WaitFact>
  readonly hold?: Check<HoldFact>
  readonly time?: Check<TimeFact>
  readonly pool?: Check<PoolFact>
}

/** Whether the row was seen right before and right after this move, and nothing else can have changed it. */
function isSeenAround(move: Move, before: Entity, after: Entity): boolean {
  const epoch = move.by === 'outside' ? move.epoch + 1 : move.epoch
  const seq = move.hops.length > 0 ? move.seq + 1 : move.seq
  return before.epoch === move.epoch && before.seq === move.seq && after.epoch === epoch && after.seq === seq
}

function attemptsAfter(attempts: number, move: Move): number {
  const after = { reset: move.keep ? 1 : 0, one: 1, back: Math.max(0, attempts - 1), stay: attempts }
  return after[move.attempts]
}

/** After these an entity has its attempts anew. */
const isProgress: ReadonlySet<Cause> = new Set(['done', 'fail', 'children', 'action'])

/** Which edges a record of this cause may hold: what led there inline, the edge itself, and the hops of a claim behind it. */
const edgesByCause: Readonly<Record<string, readonly Cause[]>> = {
  claim: ['gate', 'time', 'claim'],
  done: ['done', 'time', 'claim'],
  retry: ['done', 'retry', 'time', 'claim'],
  poll: ['done', 'poll', 'time', 'claim'],
  fail: ['done', 'fail', 'time', 'claim'],
  children: ['children', 'done', 'claim'],
  time: ['time', 'done', 'claim'],
  action: ['action', 'done', 'claim'],
  respawn: ['action'],
}

/** The promises of the engine, each with the check that it is kept. */
export const invariants: readonly Invariant[] = [
  {
    name: 'G1 table',
    sentence: 'Every hop of every history row is an edge of the declared table, and of a kind that its cause may take.',
    move({ record, edges }) {
      const allowed = edgesByCause[record.cause]
      if (!allowed) return `A row of cause ${record.cause}, which nothing has.`
      for (const [index, edge] of edges.entries()) {
        const { transition, from, to } = record.hops[index]!
        if (!edge) return `${transition} from ${from} to ${to} is no edge of the machine.`
        if (!allowed.includes(edge.on))
          return `${transition} is an edge on ${edge.on}, taken by a row of cause ${record.cause}.`
      }
      return null
    },
  },
  {
    name: 'G2 chain',
    sentence:
      'Rows are numbered 1, 2, 3 without a gap; each begins in the state in which the one before ended, and so does each hop.',
    move({ record, known }) {
      if (record.seq !== known.seq + 1) return `Row ${record.seq} follows row ${known.seq}.`
      if (record.hops.length === 0) return 'A row without a hop.'
      let state = known.state
      for (const hop of record.hops) {
        if (hop.from !== state) return `It was ${state}; the hop ${hop.transition} begins in ${hop.from}.`
        state = hop.to
      }
      return null
    },
    row({ row, known }) {
      if (row.seq === known.seq && row.state === known.state && row.generation === known.generation) return null
      return `The row says ${row.state}, seq ${row.seq}, generation ${row.generation}; its history ends in ${known.state}, seq ${known.seq}, generation ${known.generation}.`
    },
  },
  {
    name: 'G3 generations',
    sentence:
      'A settled state is entered once per generation and left by an action only, which raises the generation by one.',
    move({ record, known, edges }) {
      let { generation, settledIn } = known
      for (const edge of edges) {
        if (!edge) return null
        // A request that failed leads back to the same state: that is no reopening.
        if (edge.to === edge.from) continue
        if (isSettled(known.machine, edge.from)) {
          if (edge.on !== 'action') return `${edge.name} left ${edge.from} by ${edge.on}.`
          generation += 1
        }
        if (!isSettled(known.machine, edge.to)) continue
        if (settledIn === generation)
          return `It entered ${edge.to} in generation ${generation}, which had been settled before.`
        settledIn = generation
      }
      return record.generation === generation
        ? null
        : `The row is of generation ${record.generation}; it should be ${generation}.`
    },
    row: ({ row, known }) =>
      row.settled === known.settled ? null : `The row says settled ${row.settled} in ${row.state}.`,
  },
  {
    name: 'G4 fence',
    sentence:
      'Every epoch of an entity is given out once; a lease holder moves with the epoch of its own claim, and no row bears an older one than the row before.',
    claim({ entity, known, owner }) {
      const before = known.issued.get(entity.epoch)
      return before === undefined ? null : `Epoch ${entity.epoch} was given to ${before}, and now to ${owner}.`
    },
    move({ record, known, move, sender }) {
      if (record.epoch < known.epoch) return `A row of epoch ${record.epoch} after one of epoch ${known.epoch}.`
      const holder = known.issued.get(record.epoch)
      if (move?.by === 'lease')
        return holder === sender
          ? null
          : `${sender} moved it with epoch ${record.epoch}, which belongs to ${holder ?? 'nobody'}.`
      // A claim's own row is seen before its answer: then nobody is known to have the epoch yet.
      return holder === undefined || record.cause === 'claim'
        ? null
        : `Epoch ${record.epoch} belonged to ${holder} when it was moved from outside.`
    },
    row({ row, before, released }) {
      if (row.epoch < before.epoch) return `Its epoch fell from ${before.epoch} to ${row.epoch}.`
      return released !== null && row.epoch === before.epoch
        ? `Its lease was ended (${released}), and its epoch is still ${row.epoch}.`
        : null
    },
  },
  {
    name: 'G5 lease',
    sentence:
      'Whoever has a lease waits to run and has a worker that is known; whatever is settled has neither lease nor timer, unless a person asked for more.',
    row({ row, known, model }) {
      const { owner, wait, settled, request } = row
      if (owner !== null && wait.for !== 'run') return `Worker ${owner} has it while it waits for ${wait.for}.`
      if (owner !== null && !model.workers.has(owner)) return `Worker ${owner}, which has it, is not there.`
      if (settled && request === null && owner !== null) return `Worker ${owner} has it although it is ${row.state}.`
      if (settled && request === null && wait.for !== 'nothing' && wait.for !== 'purge')
        return `It is ${row.state} and waits for ${wait.for}.`
      // What leads back to the same state (a message that is sent) may be asked for also there.
      const isStaying = ({ name, from, to }: Edge) => name === request?.edge && from === row.state && to === from
      if (request !== null && isFinal(known.machine, row.state) && !known.machine.edges.some(isStaying))
        return `It is ${row.state}, which is final, and ${request.edge} is asked for.`
      return null
    },
  },
  {
    name: 'G6 durability',
    sentence: 'What was acknowledged is there.',
    verdict({ move, verdict, wasApplied }) {
      return verdict.kind === 'saved' && move.hops.length > 0 && wasApplied === 'no'
        ? 'It was answered saved, and there is no row.'
        : null
    },
  },
  {
    name: 'G7 no phantom',
    sentence: 'What is there was asked for; what was answered as not done is not there.',
    move: ({ record, wasInvoked }) => (wasInvoked ? null : `Nobody asked for ${JSON.stringify(record.hops)}.`),
    verdict: ({ verdict, wasApplied }) =>
      verdict.kind !== 'saved' && wasApplied === 'yes' ? `It was answered ${verdict.kind}, and there is a row.` : null,
  },
  {
    name: 'G8 fan-out',
    sentence: 'Children appear with the commit of their source, all of them at once, numbered from 0 without a gap.',
    fanOut({ born, expected, unopened }) {
      if (unopened.length > 0) return `Spawned again, and not reopened: ${unopened.join(', ')}.`
      const missing = expected.filter((ordinal) => !born.includes(ordinal))
      const strange = born.filter((ordinal) => !expected.includes(ordinal))
      return missing.length + strange.length === 0
        ? null
        : `Missing are ${missing.join(', ') || 'none'}; not asked for were ${strange.join(', ') || 'none'}.`
    },
    move({ record, known, model, move, rules }) {
      for (const { transition } of record.hops) {
        const countOf = rules.fanOuts[`${known.machine.name} ${transition}`]
        if (!countOf) continue
        const count = countOf(JSON.parse(move?.data ?? known.row.data))
        const ordinals = [...model.spawnedBy(known.id).keys()].sort((one, other) => one - other)
        if (ordinals.length !== count || ordinals.some((ordinal, index) => ordinal !== index)) {
          return `It should have ${count} children; it has ${ordinals.join(', ') || 'none'}.`
        }
      }
      return null
    },
  },
  {
    name: 'G9 conservation',
    sentence:
      'A lane counts exactly the children that are in it, state by state, and has woken its parent whenever it had to.',
    lane({ lane, tally }) {
      if (!tally) return lane.total === 0 && lane.open === 0 ? null : `It counts ${lane.total}, and there are none.`
      const states = new Set([...Object.keys(lane.counts), ...tally.counts.keys()])
      for (const state of states) {
        const said = lane.counts[state] ?? 0
        const counted = tally.counts.get(state) ?? 0
        if (said !== counted) return `It says ${said} ${state}; there are ${counted}.`
      }
      if (lane.parent !== null && lane.wake < tally.wakes)
        return `Its wake number is ${lane.wake}; it should have grown to ${tally.wakes}.`
      return lane.total === tally.total && lane.open === tally.open
        ? null
        : `It says ${lane.open} open of ${lane.total}; there are ${tally.open} of ${tally.total}.`
    },
  },
  {
    name: 'G10 fan-in',
    sentence: 'A join is passed once per generation, and no child is open then.',
    move({ record, known, edges, model, rules }) {
      for (const edge of edges) {
        if (edge?.on !== 'children') continue
        const open = edge.when.length === 0 ? model.childrenOf(known.id).find((child) => !child.settled) : undefined
        if (open) return `${edge.name} was taken while child ${open.id} is ${open.state}.`
        const name = `${known.machine.name} ${edge.name}`
        if (rules.joins.has(name) && model.joins.has(`${known.id} ${edge.name} ${record.generation}`)) {
          return `${edge.name} was taken twice in generation ${record.generation}.`
        }
      }
      return null
    },
  },
  {
    name: 'G11 attempts',
    sentence:
      'A claim counts one attempt; no processor is run more often than its policy allows; whoever does nothing wrong never fails.',
    claim: ({ entity }) => (entity.attempts < 1 ? `A claim left ${entity.attempts} attempts.` : null),
    row({ row, before, released, saved, isUnderWay }) {
      if (saved && isSeenAround(saved, before, row)) {
        const expected = attemptsAfter(before.attempts, saved)
        if (row.attempts !== expected)
          return `It had ${before.attempts} attempts, of which it should ${saved.attempts}; it has ${row.attempts}, not ${expected}.`
      }
      // Only where the row was last seen under the very lease that ended, and no checkpoint can have forgiven anything since.
      if (
        released === null ||
        isUnderWay ||
        before.owner === null ||
        row.owner !== null ||
        row.epoch !== before.epoch + 1
      )
        return null
      const counts = released === 'timed_out' || (released === 'dead' && row.suspect === 1)
      const expected = counts ? before.attempts : Math.max(0, before.attempts - 1)
      return row.attempts === expected
        ? null
        : `Its lease ended (${released}) at ${before.attempts} attempts; it has ${row.attempts}, not ${expected}.`
    },
    move({ record, known, edges, rules }) {
      for (const edge of edges) {
        if (edge?.on === 'retry') known.retries += 1
        else if (edge && isProgress.has(edge.on)) known.retries = 0
        const policy = policyOf(known.machine, edge && claimPlan(known.machine, edge.from)?.processor)
        const attemptsMax = rules.attemptsMax?.(known) ?? policy.attemptsMax
        if (known.retries >= attemptsMax)
          return `It is tried again for the ${known.retries}th time; ${attemptsMax} attempts were allowed.`
      }
      const hop = record.hops.find(({ transition }) => rules.never.has(`${known.machine.name} ${transition}`))
      return hop ? `It took ${hop.transition}: ${record.error}` : null
    },
  },
  {
    name: 'G12 effects',
    sentence: 'An effect has one idempotency key: the same at every attempt, another in every generation.',
    // Judged where effects are made: see Ledger.
  },
  {
    name: 'G13 bounded waiting',
    sentence: 'When nothing goes wrong, whoever could run is claimed within a bounded time.',
    wait: ({ waitedMs, allowedMs }) =>
      waitedMs <= allowedMs ? null : `It waited ${waitedMs} ms; ${allowedMs} are allowed.`,
  },
  {
    name: 'G14 no orphan',
    sentence:
      'Every open entity waits for something that its state has; a gate is passed only after it was opened; nothing is claimed that does not wait.',
    row({ row, known }) {
      if (row.settled && row.request === null) return null
      const { machine } = known
      const { wait, state } = row
      const has = (cause: Cause): boolean => edgesFrom(machine, state, cause).length > 0
      switch (wait.for) {
        case 'run': {
          const edge = row.request?.edge
          const runs =
            edge === undefined
              ? claimPlan(machine, state) !== null
              : machine.edges.some(({ name, from }) => name === edge && from === state)
          return runs ? null : `It waits to run${edge ? ` ${edge}` : ''} in ${state}, where nothing does.`
        }
        case 'children':
          return has('children') ? null : `It waits for children in ${state}, which has no edge for them.`
        case 'time':
          return has('time') ? null : `It waits for a timer in ${state}, which has none.`
        case 'nothing':
          return has('action') ? null : `It is ${state}, not settled, and nobody will ever move it.`
        case 'purge':
          return `It is ${state}, not settled, and waits to be purged.`
        default:
          return wait satisfies never
      }
    },
    move({ edges, known, model }) {
      const gate = edges.find((edge) => edge?.on === 'gate')
      return gate && !model.opened.has(`${known.parent}/${known.lane}`)
        ? `${gate.name} was passed, and the gate of ${known.lane} was never opened.`
        : null
    },
  },
  {
    name: 'G15 audit',
    sentence: 'What a person did says who, in which role, why, and by which request.',
    move({ record, known, edges, rules }) {
      if (record.cause === 'respawn' || !edges.some((edge) => edge?.on === 'action')) return null
      const [edge] = edges
      if (edge && rules.asked?.has(`${known.machine.name} ${edge.name}`) && known.row.request?.actor === null)
        return null
      const { actor, role, reason, requestId } = record
      const missing = Object.entries({ actor, role, reason, requestId })
        .filter(([, value]) => value === null)
        .map(([name]) => name)
      return missing.length === 0 ? null : `${missing.join(', ')} missing.`
    },
  },
  {
    name: 'G16 orders',
    sentence:
      'What rests or was stopped under its parent is not started; what was stopped is not moved by whoever had it.',
    move({ record, known, move, model }) {
      const order = model.orderOver(known)
      if (record.cause === 'claim' && order !== 'go')
        return `It was claimed, and its parent ${known.parent} has ordered ${order}.`
      return move?.by === 'lease' && order === 'stop'
        ? `It was moved by its lease, and its parent ${known.parent} has ordered stop.`
        : null
    },
  },
  {
    name: 'G17 holds',
    sentence: 'Nothing that is held is claimed, or goes on by a move that did not know of the hold.',
    hold({ entity, holdable, holds, labelNames, now }) {
      const hold = holds.find((hold) => stops(hold, entity, holdable, labelNames, now))
      return hold ? `Hold ${hold.id} over ${JSON.stringify(hold.scope)} stands since ${hold.since}.` : null
    },
  },
  {
    name: 'G18 pools',
    sentence: 'No more is taken of a pool than there is, and what is taken belongs to those who are entitled to it.',
    pool: ({ name, max, taken }) => (taken <= max ? null : `${taken} of ${max} are taken of ${name}.`),
  },
  {
    name: 'G19 time',
    sentence: 'The time of the store never steps back.',
    time: ({ now, before }) => (now >= before ? null : `It was ${before}, and is ${now}.`),
  },
  {
    name: 'G20 leftovers',
    sentence:
      'What a run wrote of its state ends with the state: whoever moves on begins without cursor, progress or request; only whoever is tried again goes on from its cursor.',
    row({ row, saved, before }) {
      if (!saved || saved.hops.length === 0 || !isSeenAround(saved, before, row)) return null
      const isTriedAgain = saved.cause === 'retry' || saved.cause === 'poll'
      if (row.checkpoint !== null && !isTriedAgain)
        return `It has the cursor ${row.checkpoint.cursor} of the state before.`
      if (row.progress !== null) return `It has the progress ${row.progress} of the state before.`
      return row.request !== null && !saved.request
        ? `It has the request ${row.request.edge} of the state before.`
        : null
    },
  },
]

/** What facts there are to judge. */
export type Kind = Exclude<keyof Invariant, 'name' | 'sentence'>
export type FactOf<K extends Kind> = Parameters<NonNullable<Invariant[K]>>[0]

/** Asked for many thousand times a second: sorted once. */
export function byKind(all: readonly Invariant[]): Readonly<Record<Kind, readonly Invariant[]>> {
  return {
    move: all.filter(({ move }) => move),
    fanOut: all.filter(({ fanOut }) => fanOut),
    claim: all.filter(({ claim }) => claim),
    row: all.filter(({ row }) => row),
    lane: all.filter(({ lane }) => lane),
    verdict: all.filter(({ verdict }) => verdict),
    wait: all.filter(({ wait }) => wait),
    hold: all.filter(({ hold }) => hold),
    time: all.filter(({ time }) => time),
    pool: all.filter(({ pool }) => pool),
  }
}
