import assert from 'node:assert/strict'
import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { LabelNames } from '../../hold.ts'
import { stops } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import { parcelMachine, shipmentMachine } from '../builders.ts'
import type { Observation } from './observation.ts'
import type { Answer } from './player.ts'
import { randomLimits } from './player.ts'

const labelNames: LabelNames = (machine) =>
  [parcelMachine, shipmentMachine].find((row) => row.name === machine)?.labels ?? []

/** What must be true after every step, seen only from outside: no store is asked whether it is right. */
export class Invariants {
  readonly #histories = new Map<EntityId, MoveRecord[]>()
  readonly #births = new Set<EntityId>()
  /** Roots that a purge has begun on: their lanes keep the figures that go into the tombstone. */
  readonly #purging = new Set<EntityId>()
  #before: Observation | null = null

  check(now: Observation, answer: Answer): void {
    if (answer.kind === 'purged') this.#purging.add(answer.root)
    this.#checkFeed(now)
    this.#checkEntities(now)
    this.#checkLanes(now)
    this.#checkPools(now)
    this.#checkWorkers(now)
    this.#checkDue(now)
    if (this.#before) {
      this.#checkProgress(this.#before, now)
      if (answer.kind === 'claimed')
        checkClaim(this.#before, now, answer, (entity) => this.#isPurging(this.#before!, entity))
      if (answer.kind === 'committed') checkCommit(this.#before, now, answer)
    }
    this.#before = now
  }

  history(id: EntityId): readonly MoveRecord[] {
    return this.#histories.get(id) ?? []
  }

  /** The feed tells every birth once and every move once, in the order of seq. */
  #checkFeed(now: Observation): void {
    for (const id of now.births) {
      assert.ok(!this.#births.has(id), `the feed tells the birth of ${id} once`)
      this.#births.add(id)
    }
    for (const record of now.moves) {
      const records = this.#histories.get(record.entity) ?? []
      assert.equal(record.seq, records.length + 1, `the moves of ${record.entity} have no gap and come once`)
      const last = records.at(-1)
      if (last) {
        assert.ok(record.epoch >= last.epoch, `the epoch of ${record.entity} never goes back`)
        assert.ok(record.at >= last.at, `the history of ${record.entity} never goes back in time`)
      }
      if (record.cause === 'claim')
        assert.ok(record.epoch > (last?.epoch ?? 0), `a claim of ${record.entity} raises the epoch`)
      this.#histories.set(record.entity, [...records, record])
    }
    for (const entity of now.entities) assert.ok(this.#births.has(entity.id), `the feed told the birth of ${entity.id}`)
  }

  #checkEntities(now: Observation): void {
    const spawned = new Set<string>()
    for (const entity of now.entities) {
      const records = this.history(entity.id)
      assert.equal(entity.seq, records.length, `${entity.id} has one history row per move`)
      let state = entity.born
      for (const { from, to } of records.flatMap((record) => record.hops)) {
        assert.equal(from, state, `the path of ${entity.id} is connected`)
        state = to
      }
      assert.equal(entity.state, state, `${entity.id} is where its history leads`)
      if (entity.settled) assert.equal(entity.owner, null, `${entity.id} is settled and has no lease`)
      if (entity.source === null) continue
      const birth = `${entity.source}/${entity.ordinal}`
      assert.ok(!spawned.has(birth), `(source, ordinal) ${birth} is unique`)
      spawned.add(birth)
    }
  }

  #checkLanes(now: Observation): void {
    const purging = (parent: EntityId | null) =>
      parent !== null && now.entities.some((entity) => entity.id === parent && this.#isPurging(now, entity))
    const counted = now.lanes.filter((lane) => !purging(lane.parent))
    for (const lane of counted) {
      const children = now.entities.filter((child) => child.parent === lane.parent && child.lane === lane.name)
      assert.deepEqual(figuresOf(lane), recounted(children), `lane ${lane.name} of ${lane.parent} equals a recount`)
      assert.ok(lane.seen <= lane.wake, `lane ${lane.name} of ${lane.parent} has seen no more than there was`)
      for (const child of children) {
        assert.equal(child.stopped, lane.status === 'stopped', `${child.id} shows that its lane is stopped`)
      }
    }
    const named = new Set(now.lanes.map((lane) => `${lane.parent}/${lane.name}`))
    for (const { id, parent, lane } of now.entities)
      assert.ok(named.has(`${parent}/${lane}`), `${id} is counted somewhere`)
    assert.deepEqual(
      now.drift.filter((drift) => !purging(drift.parent)),
      [],
      'the store itself sees no drift',
    )
  }

  #checkPools(now: Observation): void {
    for (const pool of now.pools) {
      assert.ok(pool.taken <= pool.ceiling, `pool ${pool.name} keeps to its ceiling`)
      const shares = pool.holders.reduce((sum, share) => sum + share.amount, 0)
      if (pool.holders.length < 10)
        assert.equal(pool.taken, shares, `what is taken of ${pool.name} is what its holders have`)
      if (pool.name !== 'press' && !pool.name.startsWith('per/')) continue
      for (const { entity } of pool.holders) {
        const holder = now.entities.find((other) => other.id === entity)
        if (holder) assert.notEqual(holder.owner, null, `${entity} has a unit of ${pool.name} only while it is leased`)
      }
    }
  }

  #checkWorkers(now: Observation): void {
    for (const worker of now.workers) {
      const held = now.entities.filter((entity) => entity.owner === worker.id)
      assert.equal(worker.leases, held.length, `worker ${worker.id} holds what it is said to hold`)
    }
  }

  #checkDue(now: Observation): void {
    const { due, time } = now
    const awake = now.entities.filter((entity) => !this.#isPurging(now, entity))
    const expected = (entities: readonly Entity[]) => new Set(entities.map((entity) => entity.id))
    const parents = awake.filter(({ id, wait }) => {
      if (wait.for !== 'children') return false
      return (
        now.lanes.some((lane) => lane.parent === id && lane.wake > lane.seen) || (wait.at !== null && wait.at <= time)
      )
    })
    const told = due.parents.filter(({ entity }) => !this.#isPurging(now, entity))
    assert.deepEqual(new Set(told.map(({ entity }) => entity.id)), expected(parents), 'parents that are due')
    const timers = awake.filter(({ wait }) => wait.for === 'time' && wait.at <= time)
    const toldTimers = due.timers.filter((entity) => !this.#isPurging(now, entity))
    assert.deepEqual(expected(toldTimers), expected(timers), 'timers that are due')
  }

  #checkProgress(before: Observation, now: Observation): void {
    assert.ok(now.time >= before.time, 'time never steps back')
    const then = new Map(before.entities.map((entity) => [entity.id, entity]))
    for (const entity of now.entities) {
      const old = then.get(entity.id)
      if (!old) continue
      assert.ok(entity.epoch >= old.epoch && entity.seq >= old.seq, `the numbers of ${entity.id} never go back`)
      if (entity.owner !== old.owner) {
        assert.ok(entity.epoch > old.epoch || entity.owner === null, `${entity.id} has a new owner under a new epoch`)
      }
    }
    for (const lane of now.lanes) {
      const old = before.lanes.find((other) => other.parent === lane.parent && other.name === lane.name)
      if (old) assert.ok(lane.wake >= old.wake, `the wake number of ${lane.name} of ${lane.parent} never goes back`)
      if (old && (old.open === 0) !== (lane.open === 0))
        assert.ok(lane.wake > old.wake, `${lane.name} of ${lane.parent} wakes`)
    }
  }

  #isPurging(now: Observation, entity: Entity): boolean {
    if (this.#purging.has(entity.id)) return true
    const parent = now.entities.find((other) => other.id === entity.parent)
    return parent !== undefined && this.#isPurging(now, parent)
  }
}

function figuresOf({ counts, total, open, reasons, sums }: Lane): unknown {
  return { counts, total, open, reasons, sums }
}

function recounted(children: readonly Entity[]): unknown {
  const counts: Record<string, number> = {}
  const reasons: Record<string, number> = {}
  const sums: Record<string, number> = {}
  for (const child of children) {
    counts[child.state] = (counts[child.state] ?? 0) + 1
    if (child.reason !== null) reasons[child.reason] = (reasons[child.reason] ?? 0) + 1
    for (const [name, amount] of Object.entries(child.sums ?? {})) sums[name] = (sums[name] ?? 0) + amount
  }
  const open = children.filter((child) => !child.settled).length
  return { counts, total: children.length, open, reasons, sums }
}

type Claimed = Extract<Answer, { kind: 'claimed' }>

/** The whole rule of claiming, said once more in the plainest way. */
function checkClaim(
  before: Observation,
  now: Observation,
  answer: Claimed,
  isPurging: (entity: Entity) => boolean,
): void {
  const { runs, worker, limit, result } = answer
  const runOf = (entity: Entity) =>
    runs.findIndex((run) => run.state === entity.state && run.edge === (entity.request?.edge ?? null))
  const claimable = before.entities.filter((entity) => {
    const { wait } = entity
    const run = runs[runOf(entity)]
    const lane = before.lanes.find((other) => other.parent === entity.parent && other.name === entity.lane)
    if (!run || !lane || wait.for !== 'run' || wait.at > now.time || entity.owner !== null) return false
    if (lane.status !== 'going' || (wait.gated && lane.gate === 'shut') || isPurging(entity)) return false
    const pool = before.pools.find((other) => other.name === wait.pool)
    if (pool && pool.taken >= pool.ceiling) return false
    return !before.holds.some((hold) => stops(hold, entity, run.holdable, labelNames, now.time))
  })
  const rank = ({ wait, priority }: Entity) => ('at' in wait ? (wait.at ?? 0) : 0) + priority * randomLimits.ageingMs
  const inOrder = [...claimable].sort((a, b) => rank(a) - rank(b) || a.id - b.id)
  const claimed = result.entities.map((entity) => entity.id)
  for (const entity of result.entities) {
    const old = before.entities.find((other) => other.id === entity.id)
    assert.ok(old && inOrder.includes(old), `${entity.id} was claimable`)
    assert.equal(entity.epoch, old.epoch + 1, `the claim of ${entity.id} raised its epoch by one`)
    assert.equal(entity.attempts, old.attempts + 1, `the claim of ${entity.id} counted`)
    assert.equal(entity.owner, worker)
  }
  const suspects = inOrder.filter((entity) => entity.suspect > 0)
  const holdsOne = before.entities.some((entity) => entity.owner === worker && entity.suspect > 0)
  const leader = holdsOne ? undefined : suspects[0]
  const group = leader && suspects.filter((entity) => runOf(entity) === runOf(leader))
  const expected = leader
    ? group!.slice(0, Math.min(limit, Math.max(1, Math.floor(leader.suspect / 2))))
    : inOrder.filter((entity) => entity.suspect === 0).slice(0, limit)
  // Pools of the run itself let fewer through; which ones is judged by their ceilings, above.
  if (runs.some((run) => run.pool || run.poolPer)) return
  assert.deepEqual(
    claimed,
    expected.map((entity) => entity.id),
    'the claim takes the lowest ranks',
  )
  if (leader) for (const entity of result.entities) assert.equal(entity.suspect, claimed.length)
}

type Committed = Extract<Answer, { kind: 'committed' }>

/** Who had no proof is stale, whoever was saved had it; and what was not saved left no trace. */
function checkCommit(before: Observation, now: Observation, answer: Committed): void {
  const { moves, verdicts, repeated } = answer
  assert.equal(verdicts.length, moves.length, 'one verdict per move')
  if (repeated || verdicts.every((verdict) => verdict.kind !== 'saved')) {
    assert.deepEqual(now.entities, before.entities, 'nothing was saved, nothing has changed')
    assert.deepEqual(now.lanes, before.lanes)
    assert.deepEqual(now.pools, before.pools)
    assert.deepEqual(now.moves, [])
  }
  if (repeated) return
  for (const [index, move] of moves.entries()) {
    const kind = verdicts[index]?.kind
    if (moves.slice(0, index).some((other) => other.id === move.id)) {
      assert.equal(kind, 'refused', `move ${index} is the second of its entity`)
      continue
    }
    const old = before.entities.find((entity) => entity.id === move.id)
    if (old?.epoch === move.epoch && old.seq === move.seq) continue
    assert.ok(kind === 'stale' || kind === 'refused', `move ${index} had no proof, and was ${kind}`)
  }
}
