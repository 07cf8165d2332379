import type { EntityId, Wait } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { refusalOfPath } from '../../refusal.ts'
import { type ClaimRequest, type ClaimResult, type ClaimRun, ceilingOf } from '../../store.ts'
import { suspectGroup } from '../../suspicion.ts'
import { liveWorker } from './leases.ts'
import type { Memory } from './memory.ts'
import { compare, type Queue, type Standing } from './queue.ts'
import type { Row } from './rows.ts'
import { letsThrough } from './waiting.ts'

export interface Pick {
  readonly row: Row
  readonly run: ClaimRun
}

/** Rows that this claim may have; a database passes over those that another transaction has locked. */
export type Available = (id: EntityId) => boolean

export function checkClaim(request: ClaimRequest): void {
  for (const { hops, machine, state } of request.runs) {
    const from = hops[0]?.from ?? state
    const refusal = from === state ? refusalOfPath(hops, hops.at(-1)?.to ?? state) : `The path begins in ${from}.`
    if (refusal)
      throw new SluiceError('invalid', `A claim of ${machine} in ${state} is malformed: ${refusal}`, { machine, state })
  }
}

/** What the worker would get now. Changes nothing that anybody can see. */
export function select(memory: Memory, request: ClaimRequest, now: number, available: Available): readonly Pick[] {
  liveWorker(memory, request.worker, now)
  memory.waiting.ripen(now)
  const [lead] = pick(memory, request, 'suspects', now, available, 1)
  if (!lead || holdsSuspect(memory, request.worker)) return pick(memory, request, 'ready', now, available)
  // Suspects of one run and nothing else: whatever happens to the worker now, it happens to this group.
  const size = suspectGroup(lead.row.entity.suspect)
  return pick(memory, { ...request, runs: [lead.run] }, 'suspects', now, available, size)
}

/** Gives the worker its leases, in one step. */
export function claim(memory: Memory, request: ClaimRequest, now: number, available: Available): ClaimResult {
  const picks = select(memory, request, now, available)
  const actor = liveWorker(memory, request.worker, now).name
  for (const { row, run } of picks) {
    const before = row.entity
    const suspect = before.suspect > 0 ? picks.length : 0
    const hops = run.hops
    row.leasePools = takeUnits(memory, row, run)
    memory.replace(
      row,
      {
        epoch: before.epoch + 1,
        attempts: before.attempts + 1,
        owner: request.worker,
        suspect,
        ...(hops.length > 0 && { state: hops.at(-1)!.to, seq: before.seq + 1, changedAt: now }),
        ...(hops.length > 0 && { wait: behindGate(before.wait) }),
      },
      now,
    )
    if (hops.length === 0) continue
    const { entity } = row
    if (row.lane) memory.lanes.count(row.lane, before, entity, now)
    const { id, seq, epoch, generation } = entity
    const nothing = { role: null, reason: null, requestId: null, error: null }
    memory.record({ entity: id, seq, epoch, generation, at: now, cause: 'claim', hops, actor, ...nothing })
  }
  // Also those that another transaction has locked: they wait all the same.
  const [waiting] = pick(memory, request, 'suspects', now, () => true, 1)
  const suspects = waiting !== undefined && holdsSuspect(memory, request.worker)
  return { entities: picks.map(({ row }) => memory.read(row)), suspects }
}

/** The hops led through the gate: should the lease end before it moves on, it does not wait for the gate again. */
function behindGate(wait: Wait): Wait {
  if (wait.for !== 'run' || !wait.gated) return wait
  const { gated: _, ...rest } = wait
  return Object.freeze(rest)
}

function holdsSuspect(memory: Memory, worker: number): boolean {
  return memory.rows.owned(worker).some((row) => row.entity.suspect > 0)
}

/** The first in rank order that fit into all limits together. */
function pick(
  memory: Memory,
  request: ClaimRequest,
  from: 'ready' | 'suspects',
  now: number,
  available: Available,
  max = Number.POSITIVE_INFINITY,
): readonly Pick[] {
  const { claimMax, claimBytesMax } = memory.limits
  const rowsMax = Math.min(max, request.limit, claimMax)
  const bytesMax = Math.min(request.bytes, claimBytesMax)
  const picks: Pick[] = []
  const shut: Row[] = []
  const units = new Map<string, number>()
  const taken = new Map<ClaimRun, number>()
  const heads = request.runs.map((run) => ({ run, queue: memory.waiting[from](run) }))
  let bytes = 0
  const merged = new Merge(heads.filter(({ run }) => run.limit > 0))
  for (let next = merged.next(); next && picks.length < rowsMax; next = merged.next()) {
    const { run, id } = next
    const row = memory.rows.get(id)
    if (!letsThrough(row)) {
      shut.push(row)
      continue
    }
    const { parent } = row.entity
    if (parent !== null && request.avoid?.has(parent)) continue
    if (!available(id) || isStopped(memory, row, run, now)) continue
    if (run.pool && roomIn(memory, units, run.pool.name, run.pool.ceiling, id) < 1) {
      merged.end(run)
      continue
    }
    const own = labelPool(row, run)
    if (own && roomIn(memory, units, own.name, own.ceiling, id) < 1) continue
    // The first is taken whatever its size: it must run some time.
    const size = Buffer.byteLength(row.entity.data)
    if (picks.length > 0 && bytes + size > bytesMax) break
    bytes += size
    for (const pool of [run.pool, own]) if (pool) units.set(pool.name, (units.get(pool.name) ?? 0) + 1)
    picks.push({ row, run })
    const count = (taken.get(run) ?? 0) + 1
    taken.set(run, count)
    if (count >= run.limit) merged.end(run)
  }
  // Their lane shut behind them: they stand aside, so that nobody comes across them again before it lets them through.
  for (const row of shut) memory.waiting.file(row, now)
  return picks
}

function isStopped(memory: Memory, row: Row, run: ClaimRun, now: number): boolean {
  const { entity } = row
  const { wait } = entity
  if (wait.for === 'run' && wait.pool !== undefined && !memory.pools.hasRoom(wait.pool)) return true
  if (memory.isPurging(entity)) return true
  return memory.holds.over({ ...entity, passes: run.passes }, run.holdable, memory.labelNames, now).length > 0
}

/** What is left of a pool after what this claim is about to take. */
function roomIn(
  memory: Memory,
  units: ReadonlyMap<string, number>,
  name: string,
  ceiling: number,
  id: EntityId,
): number {
  return memory.pools.room(name, ceiling, id) - (units.get(name) ?? 0)
}

/** The pool of this entity's label value, where the run is limited by one. */
function labelPool(row: Row, { poolPer }: ClaimRun): { readonly name: string; readonly ceiling: number } | null {
  const value = poolPer && row.entity.labels[poolPer.position]
  if (!poolPer || value === null || value === undefined) return null
  return { name: `${poolPer.name}/${value}`, ceiling: ceilingOf(poolPer, value) }
}

/** One unit of each, for as long as the lease lasts. A share that the entity took for itself stays as it is. */
function takeUnits(memory: Memory, row: Row, run: ClaimRun): readonly string[] {
  const { id } = row.entity
  const names: string[] = []
  for (const pool of [run.pool, labelPool(row, run)]) {
    if (!pool || memory.pools.has(pool.name, id)) continue
    memory.pools.take(pool.name, id, 1, pool.ceiling)
    names.push(pool.name)
  }
  return names
}

/** Several queues as one, in order. */
class Merge {
  #heads: { readonly run: ClaimRun; readonly rest: Iterator<Standing, undefined>; standing: Standing }[] = []
  readonly #seen = new Set<EntityId>()

  constructor(queues: readonly { readonly run: ClaimRun; readonly queue: Queue }[]) {
    for (const { run, queue } of queues) {
      const rest = queue[Symbol.iterator]()
      const { value } = rest.next()
      if (value) this.#heads.push({ run, rest, standing: value })
    }
  }

  next(): { readonly run: ClaimRun; readonly id: EntityId } | null {
    for (;;) {
      let first = this.#heads[0]
      if (!first) return null
      for (const head of this.#heads) if (compare(head.standing, first.standing) < 0) first = head
      const { run, standing } = first
      const { value } = first.rest.next()
      if (value) first.standing = value
      else this.end(run)
      // Two runs may ask for the same kind of waiting.
      if (this.#heads.length > 1 && this.#seen.has(standing.id)) continue
      this.#seen.add(standing.id)
      return { run, id: standing.id }
    }
  }

  end(run: ClaimRun): void {
    this.#heads = this.#heads.filter((head) => head.run !== run)
  }
}
