import type { Explanation } from '../control.ts'
import type { ActionChoice } from '../decide.ts'
import type { Entity, EntityId, Wait } from '../entity.ts'
import { type Hold, stops } from '../hold.ts'
import type { Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import { isFinal, type Machine } from '../machine.ts'
import type { Pool } from '../pool.ts'
import { ceilingOf } from '../store.ts'
import { nameOf, type Run, servedName } from './registry.ts'
import type { StoreTrouble } from './trouble.ts'

/** All that is known of an entity that does not move, read at one moment. */
export interface Situation {
  readonly entity: Entity
  readonly now: number
  /** Null: this process does not know the machine. */
  readonly machine: Machine | null
  /** What a worker must be able to do besides: a job definition that it knows. Null: the machine says it all. */
  readonly needs: { readonly what: string; readonly name: string } | null
  /** What a worker would take up; null: the entity waits for something else than a worker. */
  readonly run: Run | null
  readonly lanes: readonly Lane[]
  readonly parent: Entity | null
  /** The lanes of the parent: its own, and those of the steps before it. */
  readonly parentLanes: readonly Lane[]
  readonly holds: readonly Hold[]
  readonly pools: readonly Pool[]
  readonly workers: readonly Worker[]
  /** Some of those who must settle first: own children, or the children of the steps before a gate. */
  readonly blocking: readonly EntityId[]
  readonly actions: readonly ActionChoice[]
  /** What keeps this process from writing to its store. */
  readonly trouble: StoreTrouble | null
}

type Answer = Omit<Explanation, 'id' | 'state'>

/** Why an entity is where it is. The most specific reason comes first: what it would still wait for after that is left out. */
export function explain(situation: Situation): Explanation {
  const { entity } = situation
  const answer =
    ended(situation) ??
    cutOff(situation) ??
    running(situation) ??
    (entity.wait.for === 'run' ? toRun(situation, entity.wait) : null) ??
    unserved(situation) ??
    waiting(situation)
  return { id: entity.id, state: entity.state, ...afterEnd(entity, answer) }
}

/** A settled entity of which something is asked says first that it has ended. */
function afterEnd(entity: Entity, answer: Answer): Answer {
  const { state, settled, request, reason, changedAt } = entity
  if (!settled || request === null) return answer
  const facts = { ...answer.facts, ended: { state, since: changedAt, reason }, asked: request.edge }
  return { ...answer, sentence: `${endText(entity)}. ${request.edge} was asked for: ${answer.sentence}`, facts }
}

function endText(entity: Entity): string {
  const { state, reason, changedAt } = entity
  const because = reason === null ? '' : `, because: ${reason.replace(/\.$/, '')}`
  return `${nameIt(entity)} is ${state} since ${timeText(changedAt)}${because}`
}

function toRun(situation: Situation, wait: RunWait): Answer {
  return (
    parentEnded(situation) ??
    held(situation) ??
    gated(situation, wait) ??
    full(situation) ??
    later(situation, wait) ??
    unserved(situation) ??
    suspected(situation) ??
    inLine(situation, wait)
  )
}

type RunWait = Extract<Wait, { for: 'run' }>

function ended({ entity, machine, now, actions }: Situation): Answer | null {
  // Something was asked of it, and is under way: that is what it waits for.
  if (!entity.settled || entity.request !== null) return null
  const { wait, reason, error, changedAt } = entity
  const purgeAt = wait.for === 'purge' ? wait.at : null
  if (purgeAt !== null && purgeAt <= now) {
    const sentence = `${nameIt(entity)} was kept as ${entity.state} until ${timeText(purgeAt)}; it is being removed with all below it.`
    return { kind: 'purging', sentence, facts: { purgeAt } }
  }
  const open = openActions(actions)
  const facts = { since: changedAt, reason, error, purgeAt, actions: open }
  const since = endText(entity)
  if (machine && isFinal(machine, entity.state)) {
    return { kind: 'final', sentence: `${since}. That is final: nothing more happens.`, facts }
  }
  const reopen = open.length === 0 ? refusedText(actions) : `A person may ask for: ${open.join(', ')}.`
  return { kind: 'settled', sentence: `${since}. ${reopen}`, facts }
}

/** Nothing that this process does can be written: a full disk, a server that does not answer. */
function cutOff({ entity, trouble }: Situation): Answer | null {
  if (!trouble) return null
  const sentence = `${nameIt(entity)} cannot go on: this process could not write to its store since ${timeText(trouble.since)}. ${trouble.sentence.replace(/\.?$/, '.')}`
  return { kind: 'store_trouble', sentence, facts: { ...trouble } }
}

/** Why none of the actions that lead out of this state is open now. */
function refusedText(actions: readonly ActionChoice[]): string {
  const refused = actions.filter(({ refusal }) => refusal !== null)
  if (refused.length === 0) return 'No action reopens it now.'
  return refused.map(({ action, refusal }) => `It cannot ${action}: ${String(refusal).replace(/\.$/, '')}.`).join(' ')
}

function running({ entity, workers, run, now }: Situation): Answer | null {
  if (entity.owner === null) return null
  const worker = workers.find(({ id }) => id === entity.owner)
  const attemptsMax = run?.policy.attemptsMax ?? null
  const facts = {
    worker: entity.owner,
    name: worker?.name ?? null,
    host: worker?.host ?? null,
    pid: worker?.pid ?? null,
    renewedAt: worker?.renewedAt ?? null,
    expiresAt: worker?.expiresAt ?? null,
    since: entity.changedAt,
    attempt: entity.attempts,
    attemptsMax,
    edge: entity.request?.edge ?? null,
    stopped: entity.stopped,
  }
  if (!worker) {
    const sentence = `${nameIt(entity)} was taken by worker ${entity.owner}, whose lease has run out; it is given to another at the next sweep.`
    return { kind: 'running', sentence, facts }
  }
  const what = run?.processor ? `${nameIt(entity)} runs ${run.processor}` : `${nameIt(entity)} runs`
  const where = `on ${worker.host} (worker ${worker.id}, ${worker.name}, pid ${worker.pid})`
  const lease = `the lease was renewed ${durationText(now - worker.renewedAt)} ago`
  const end = entity.stopped ? ' Its parent was cancelled: it is being stopped.' : ''
  return {
    kind: 'running',
    sentence: `${what} ${where}: ${attemptText(entity.attempts, attemptsMax)}; ${lease}.${end}`,
    facts,
  }
}

function parentEnded({ entity, parent, parentLanes }: Situation): Answer | null {
  const lane = parentLanes.find(({ name }) => name === entity.lane)
  if (!lane || lane.status === 'going' || entity.parent === null) return null
  const facts = { parent: entity.parent, parentState: parent?.state ?? null, lane: lane.name, status: lane.status }
  const above = parent ? `${nameIt(parent)} is ${parent.state}` : `its parent ${entity.parent} is gone`
  const order = lane.status === 'stopped' ? 'was stopped' : 'rests'
  const sentence = `${nameIt(entity)} is at rest: ${above}, and its lane ${lane.name} ${order}; none of it is started.`
  return { kind: 'parent_ended', sentence, facts }
}

function held({ entity, machine, holds, now }: Situation): Answer | null {
  const holdable = machine?.states[entity.state]?.holdable ?? true
  const over = holds.filter((hold) => stops(hold, entity, holdable, () => machine?.labels ?? [], now))
  const [first, ...others] = over
  if (!first) return null
  const until = first.until === null ? 'until it is released' : `until ${timeText(first.until)}`
  const more =
    others.length === 0 ? '' : ` ${others.length} more ${others.length === 1 ? 'hold stops' : 'holds stop'} it as well.`
  const sentence = `${nameIt(entity)} is held by ${first.owner} since ${timeText(first.since)}, ${until}: ${first.reason} (hold ${first.id}).${more}`
  return { kind: 'held', sentence, facts: { holds: over } }
}

function gated({ entity, parentLanes, blocking }: Situation, wait: RunWait): Answer | null {
  if (!wait.gated) return null
  const steps = [...parentLanes].sort((one, other) => compareNames(one.name, other.name))
  const position = steps.findIndex(({ name }) => name === entity.lane)
  const lane = steps[position]
  if (!lane || lane.gate === 'open') return null
  const before = openBefore(parentLanes, entity.lane)
  const open = before.reduce((sum, step) => sum + step.open, 0)
  const facts = {
    gate: position + 1,
    gates: steps.length,
    lane: lane.name,
    parent: entity.parent,
    open,
    lanes: before.map(({ name, open, total }) => ({ name, open, total })),
    blocking,
  }
  const which = `gate ${position + 1} of ${steps.length} (${lane.name}) is shut`
  const why =
    open === 0
      ? `nothing before it is open; its parent ${entity.parent} has yet to open it`
      : `${open} of the ${before.length === 1 ? 'step' : 'steps'} before (${before.map(({ name }) => name).join(', ')}) ${open === 1 ? 'is' : 'are'} open${idsText(blocking)}`
  return { kind: 'gated', sentence: `${nameIt(entity)} waits behind a gate: ${which}; ${why}.`, facts }
}

/** The lanes that come before this one, by name, and still have open children. Numbers in names count as numbers. */
export function openBefore(lanes: readonly Lane[], name: string): readonly Lane[] {
  return lanes
    .filter((lane) => lane.open > 0 && compareNames(lane.name, name) < 0)
    .sort((one, other) => compareNames(one.name, other.name))
}

/** The pools that an entity needs room in before it can run. */
export function poolsFor(
  entity: Entity,
  run: Run | null,
): readonly { readonly name: string; readonly ceiling: number | null }[] {
  const pools: { name: string; ceiling: number | null }[] = []
  if (entity.wait.for === 'run' && entity.wait.pool !== undefined) pools.push({ name: entity.wait.pool, ceiling: null })
  if (run?.claim.pool) pools.push(run.claim.pool)
  const per = run?.claim.poolPer
  const value = per ? entity.labels[per.position] : null
  if (per && value !== null && value !== undefined)
    pools.push({ name: `${per.name}/${value}`, ceiling: ceilingOf(per, value) })
  return pools
}

function full({ entity, run, pools }: Situation): Answer | null {
  for (const { name, ceiling } of poolsFor(entity, run)) {
    const pool = pools.find((pool) => pool.name === name)
    if (!pool || pool.taken < (ceiling ?? pool.ceiling)) continue
    const holders = pool.holders.map((share) => share.entity)
    const sentence = `${nameIt(entity)} waits for room in ${name}: ${pool.taken} of ${ceiling ?? pool.ceiling} are taken${idsText(holders)}.`
    return {
      kind: 'full',
      sentence,
      facts: { pool: name, ceiling: ceiling ?? pool.ceiling, taken: pool.taken, holders: pool.holders },
    }
  }
  return null
}

function later({ entity, run, now }: Situation, wait: RunWait): Answer | null {
  if (wait.at <= now) return null
  const attemptsMax = run?.policy.attemptsMax ?? null
  const facts = { at: wait.at, attempts: entity.attempts, attemptsMax, error: entity.error }
  const when = `at ${timeText(wait.at)} (in ${durationText(wait.at - now)})`
  if (entity.attempts === 0)
    return { kind: 'scheduled', sentence: `${nameIt(entity)} is scheduled to run ${when}.`, facts }
  const because = entity.error === null ? '' : ` The last one ended with: ${entity.error.replace(/\.$/, '')}.`
  const sentence = `${nameIt(entity)} is tried again ${when}: ${attemptText(entity.attempts + 1, attemptsMax)}.${because}`
  return { kind: 'retrying', sentence, facts }
}

/** Whatever is to be done with it now, nobody who is alive can do it. What is not due yet is explained by its time. */
function unserved(situation: Situation): Answer | null {
  const { entity, run, workers, lanes, needs, now } = situation
  const { wait } = entity
  if (wait.for === 'nothing' || !isDue(wait, lanes, now)) return null
  const machine = nameOf(entity.machine, entity.version)
  const knowing = workers.filter((worker) => worker.machines.includes(machine))
  const role = wait.for === 'run' ? (run?.policy.role ?? null) : null
  const facts = { machine, role, workers: workers.length, knowing: knowing.map(({ id }) => id) }
  if (knowing.length === 0) {
    const others =
      workers.length === 0 ? 'no worker is alive' : `none of the ${workers.length} live workers serves ${machine}`
    return {
      kind: 'no_worker',
      sentence: `${nameIt(entity)} could go on now, but ${others}. Start one that does.`,
      facts,
    }
  }
  const able = ableOf(situation, knowing)
  if (able.length === 0 && needs && wait.for === 'run') {
    const who = knowing.length === 1 ? 'the live worker does' : `none of the ${knowing.length} live workers does`
    const sentence = `${nameIt(entity)} is ready, but no worker serves ${needs.what} ${needs.name}: ${who}${knowing.length === 1 ? ' not' : ''}. Start one that does.`
    return { kind: 'no_worker', sentence, facts: { ...facts, [needs.what]: needs.name } }
  }
  if (role === null || knowing.some(({ roles }) => roles.length === 0 || roles.includes(role))) return null
  const sentence = `${nameIt(entity)} is ready, but none of the ${knowing.length} live workers that serve ${machine} has the role ${role}. Start one that has.`
  return { kind: 'no_worker', sentence, facts }
}

/** Those of the workers that serve its machine which can also do what it needs. */
function ableOf({ entity, needs }: Situation, knowing: readonly Worker[]): readonly Worker[] {
  if (needs === null) return knowing
  const machine = nameOf(entity.machine, entity.version)
  return knowing.filter(({ machines }) => machines.includes(servedName(machine, needs.name)))
}

function isDue(wait: Exclude<Wait, { for: 'nothing' }>, lanes: readonly Lane[], now: number): boolean {
  if (wait.at !== null && wait.at <= now) return true
  return wait.for === 'children' && lanes.some((lane) => lane.wake > lane.seen)
}

function suspected({ entity, run }: Situation): Answer | null {
  if (entity.suspect === 0) return null
  const attemptsMax = run?.policy.attemptsMax ?? null
  const facts = { suspect: entity.suspect, attempts: entity.attempts, attemptsMax }
  const group =
    entity.suspect === 1 ? 'It was held alone, so that death counted against it' : `It was one of ${entity.suspect}`
  const sentence = `${nameIt(entity)} was held by a worker that died, and is suspect. ${group}; suspects run in ever smaller groups, as soon as a worker holds no other.`
  return { kind: 'suspect', sentence, facts }
}

function inLine(situation: Situation, wait: RunWait): Answer {
  const { entity, workers, needs, now } = situation
  const machine = nameOf(entity.machine, entity.version)
  const knowing = workers.filter((worker) => worker.machines.includes(machine))
  const serving = ableOf(situation, knowing)
  const what = needs ? `${needs.what} ${needs.name}` : machine
  const sentence = `${nameIt(entity)} is ready and waits in line since ${durationText(now - wait.at)} with priority ${entity.priority}; ${serving.length} live ${serving.length === 1 ? 'worker serves' : 'workers serve'} ${what}.`
  return {
    kind: 'ready',
    sentence,
    facts: { since: wait.at, priority: entity.priority, workers: serving.map(({ id }) => id) },
  }
}

function waiting(situation: Situation): Answer {
  const { entity, lanes, blocking, actions, now } = situation
  const { wait } = entity
  if (wait.for === 'children') return children(entity, lanes, blocking, wait.at, now)
  if (wait.for === 'time') {
    const sentence = `${nameIt(entity)} waits for its timer, at ${timeText(wait.at)}${wait.at > now ? ` (in ${durationText(wait.at - now)})` : ', which is due'}.${entity.error === null ? '' : notJudged(entity.error)}`
    return { kind: 'timer', sentence, facts: { at: wait.at, error: entity.error } }
  }
  const open = openActions(actions)
  const refused = actions
    .filter((choice) => choice.refusal !== null)
    .map(({ action, refusal }) => ({ action, refusal }))
  const ask = open.length === 0 ? 'no action is open now' : `open now: ${open.join(', ')}`
  const why =
    refused.length === 0
      ? ''
      : ` Not open: ${refused.map(({ action, refusal }) => `${action} (${refusal})`).join(', ')}.`
  return {
    kind: 'person',
    sentence: `${nameIt(entity)} waits for a person; ${ask}.${why}`,
    facts: { actions: open, refused },
  }
}

/** A rule of its machine broke, or its move was refused: the engine tries again after a pause. */
function notJudged(error: string): string {
  return ` It could not be judged, and is judged again after a pause: ${error}`
}

function children(
  entity: Entity,
  lanes: readonly Lane[],
  blocking: readonly EntityId[],
  at: number | null,
  now: number,
): Answer {
  const total = lanes.reduce((sum, lane) => sum + lane.total, 0)
  const open = lanes.reduce((sum, lane) => sum + lane.open, 0)
  const due = lanes.some((lane) => lane.wake > lane.seen) || (at !== null && at <= now)
  const facts = {
    total,
    open,
    settled: total - open,
    at,
    due,
    error: entity.error,
    blocking,
    lanes: lanes.map(({ name, total, open }) => ({ name, total, open })),
  }
  const look = entity.error === null ? (due ? ' It is due to be judged.' : '') : notJudged(entity.error)
  const sentence = `${nameIt(entity)} waits for its children: ${total - open} of ${total} are settled, ${open} ${open === 1 ? 'is' : 'are'} open${idsText(blocking)}.${look}`
  return { kind: 'children', sentence, facts }
}

function openActions(actions: readonly ActionChoice[]): readonly string[] {
  return [...new Set(actions.filter((choice) => choice.refusal === null).map((choice) => choice.action))]
}

// ---- Words ----

function nameIt(entity: Entity): string {
  return `${entity.machine} ${entity.id}`
}

function timeText(at: number): string {
  // A time that no calendar has must not turn an explanation into a fault.
  return Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : `time ${at}`
}

function durationText(durationMs: number): string {
  const seconds = Math.max(0, durationMs) / 1_000
  if (seconds < 1) return `${Math.max(0, Math.round(durationMs))} ms`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}

function attemptText(attempt: number, attemptsMax: number | null): string {
  return attemptsMax === null ? `attempt ${attempt}` : `attempt ${attempt} of ${attemptsMax}`
}

function idsText(ids: readonly EntityId[]): string {
  return ids.length === 0 ? '' : ` (${ids.join(', ')})`
}

/** `step 10` comes after `step 9`: digits are compared as numbers, all else by code units, the same in every locale. */
function compareNames(one: string, other: string): number {
  const ones = one.match(/\d+|\D+/g) ?? []
  const others = other.match(/\d+|\D+/g) ?? []
  for (const [index, part] of ones.entries()) {
    const counterpart = others[index]
    if (counterpart === undefined) return 1
    const difference = Number(part) - Number(counterpart)
    if (difference !== 0 && !Number.isNaN(difference)) return difference
    if (part !== counterpart) return part < counterpart ? -1 : 1
  }
  return ones.length - others.length
}
