import type { ChildGroup, Explanation } from '../control.ts'
import type { ActionChoice } from '../decide.ts'
import type { Entity, EntityId, Wait } from '../entity.ts'
import { type Hold, stops } from '../hold.ts'
import type { Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import { isFinal, type Machine } from '../machine.ts'
import type { Pool } from '../pool.ts'
import { ceilingOf } from '../store.ts'
import { childrenText } from './child-groups.ts'
import { clauseOf, countText, dueText, durationText, timeText } from './explanation-text.ts'
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
  /** Some of those who have a share of these pools. */
  readonly holders: readonly Entity[]
  readonly workers: readonly Worker[]
  /** Some of those who must settle first: own children, or the children of the steps before a gate. */
  readonly blocking: readonly EntityId[]
  /** What its open children wait for. */
  readonly children: readonly ChildGroup[]
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
  const { state, reason, error, changedAt, request, attempts } = entity
  // After an attempt at what was asked of it, the error is that attempt's.
  const because = becauseText(reason, request !== null && attempts > 0 ? null : error)
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
  const reopen = !machine
    ? unknownText(entity)
    : open.length === 0
      ? refusedText(actions)
      : `A person may ask for: ${open.join(', ')}.`
  return { kind: 'settled', sentence: `${since}. ${reopen}`, facts }
}

/** Nothing that this process does can be written: a full disk, a server that does not answer. */
function cutOff({ entity, trouble }: Situation): Answer | null {
  if (!trouble) return null
  const sentence = `${nameIt(entity)} cannot go on: this process could not write to its store since ${timeText(trouble.since)}. ${clauseOf(trouble.sentence)}.`
  return { kind: 'store_trouble', sentence, facts: { ...trouble } }
}

/** The phrase by which it is counted, and the message that tells the rest. */
function becauseText(reason: string | null, error: string | null): string {
  const said = [...new Set([reason, error].flatMap((text) => (text === null ? [] : clauseOf(text))))]
  return said.length === 0 ? '' : `, because: ${said.join(': ')}`
}

/** What may be asked of it stands in its machine. */
function unknownText({ machine, version }: Entity): string {
  return `This process does not know machine ${nameOf(machine, version)}, so it cannot tell what may be asked of it.`
}

/** Why none of the actions that lead out of this state is open now. */
function refusedText(actions: readonly ActionChoice[]): string {
  const refused = actions.filter(({ refusal }) => refusal !== null)
  if (refused.length === 0) return 'No action reopens it now.'
  // Edges of one action, such as two ways back, often refuse for one reason.
  const said = refused.map(({ action, refusal }) => `It cannot ${action}: ${clauseOf(String(refusal))}.`)
  return [...new Set(said)].join(' ')
}

function running({ entity, workers, run, now }: Situation): Answer | null {
  if (entity.owner === null) return null
  const worker = workers.find(({ id }) => id === entity.owner)
  const attemptsMax = run?.policy.attemptsMax ?? null
  const silentMs = worker ? silenceOf(worker, now) : null
  const facts = {
    silentMs,
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
  const lease =
    silentMs === null
      ? `the lease was renewed ${durationText(now - worker.renewedAt)} ago`
      : `nothing was heard of it for ${durationText(silentMs)}; its lease ends in ${durationText(worker.expiresAt - now)}`
  const end = entity.stopped ? ' Its parent was cancelled: it is being stopped.' : ''
  return {
    kind: 'running',
    sentence: `${what} ${where}: ${attemptText(entity.attempts, attemptsMax)}; ${lease}.${end}`,
    facts,
  }
}

/** A worker that lives renews its lease several times before it ends. Null: it has. */
export function silenceOf({ renewedAt, expiresAt }: Worker, now: number): number | null {
  return now - renewedAt > (expiresAt - renewedAt) / 2 ? now - renewedAt : null
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

function held({ entity, machine, run, holds, now }: Situation): Answer | null {
  const holdable = machine?.states[entity.state]?.holdable ?? true
  const waiting = { ...entity, passes: run?.claim.passes }
  const over = holds.filter((hold) => stops(hold, waiting, holdable, () => machine?.labels ?? [], now))
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
  const position = parentLanes.findIndex(({ name }) => name === entity.lane)
  const lane = parentLanes[position]
  if (!lane || lane.gate === 'open') return null
  const before = openBefore(parentLanes, entity.lane)
  const open = before.reduce((sum, step) => sum + step.open, 0)
  const facts = {
    gate: position + 1,
    gates: parentLanes.length,
    lane: lane.name,
    parent: entity.parent,
    open,
    lanes: before.map(({ name, open, total }) => ({ name, open, total })),
    blocking,
  }
  const which = `gate ${position + 1} of ${parentLanes.length} (${lane.name}) is shut`
  const why =
    open === 0
      ? `nothing before it is open; its parent ${entity.parent} has yet to open it`
      : `${open} of the ${before.length === 1 ? 'step' : 'steps'} before (${before.map(({ name }) => name).join(', ')}) ${open === 1 ? 'is' : 'are'} open${idsText(blocking)}`
  return { kind: 'gated', sentence: `${nameIt(entity)} waits behind a gate: ${which}; ${why}.`, facts }
}

/** The lanes that come before this one, in the order of steps, and still have open children. */
export function openBefore(lanes: readonly Lane[], name: string): readonly Lane[] {
  const position = lanes.findIndex((lane) => lane.name === name)
  return lanes.slice(0, Math.max(0, position)).filter((lane) => lane.open > 0)
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

function full({ entity, run, pools, holders: sharers, workers, now }: Situation): Answer | null {
  for (const { name, ceiling } of poolsFor(entity, run)) {
    const pool = pools.find((pool) => pool.name === name)
    if (!pool || pool.taken < (ceiling ?? pool.ceiling)) continue
    const holders = pool.holders.map((share) => share.entity)
    const silent = workers.filter((worker) => silenceOf(worker, now) !== null)
    const kept = silent.map((worker) => ({
      worker: worker.name,
      silentMs: silenceOf(worker, now),
      expiresAt: worker.expiresAt,
      entities: sharers.filter(({ id, owner }) => owner === worker.id && holders.includes(id)).map(({ id }) => id),
    }))
    const lost = kept.filter(({ entities }) => entities.length > 0)
    const losses = lost.map(
      ({ worker, silentMs, expiresAt, entities }) =>
        ` Nothing was heard of worker ${worker}, which holds ${countText(entities.length)} of them, for ${durationText(silentMs ?? 0)}; they are given back in ${durationText(expiresAt - now)}.`,
    )
    const sentence = `${nameIt(entity)} waits for room in ${name}: ${pool.taken} of ${ceiling ?? pool.ceiling} are taken${idsText(holders)}.${losses.join('')}`
    return {
      kind: 'full',
      sentence,
      facts: { pool: name, ceiling: ceiling ?? pool.ceiling, taken: pool.taken, holders: pool.holders, silent: lost },
    }
  }
  return null
}

function later({ entity, run, now }: Situation, wait: RunWait): Answer | null {
  if (wait.at <= now) return null
  const attemptsMax = run?.policy.attemptsMax ?? null
  const facts = { at: wait.at, attempts: entity.attempts, attemptsMax, error: entity.error }
  const when = dueText(wait.at, now)
  if (entity.attempts === 0)
    return { kind: 'scheduled', sentence: `${nameIt(entity)} is scheduled to run ${when}.`, facts }
  const because = entity.error === null ? '' : ` The last one ended with: ${clauseOf(entity.error)}.`
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
    return { kind: 'no_worker', sentence, facts: { ...facts, needs } }
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
  const { entity, machine, actions, now } = situation
  const { wait } = entity
  if (wait.for === 'children') return children(situation, wait.at)
  if (wait.for === 'time') {
    const sentence = `${nameIt(entity)} waits for its timer, ${dueText(wait.at, now)}.${entity.error === null ? '' : notJudged(entity.error)}`
    return { kind: 'timer', sentence, facts: { at: wait.at, error: entity.error } }
  }
  if (!machine) {
    const sentence = `${nameIt(entity)} waits for a person. ${unknownText(entity)}`
    return { kind: 'person', sentence, facts: { actions: [], refused: [] } }
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
  return ` It could not be judged, and is judged again after a pause: ${clauseOf(error)}.`
}

function children({ entity, lanes, blocking, children, now }: Situation, at: number | null): Answer {
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
    children,
  }
  const look = entity.error === null ? (due ? ' It is due to be judged.' : '') : notJudged(entity.error)
  const figures = `${countText(total - open)} of ${countText(total)} are settled, ${countText(open)} ${open === 1 ? 'is' : 'are'} open`
  const sentence = `${nameIt(entity)} waits for its children: ${figures}.${childrenText(children, now)}${look}`
  return { kind: 'children', sentence, facts }
}

function openActions(actions: readonly ActionChoice[]): readonly string[] {
  return [...new Set(actions.filter((choice) => choice.refusal === null).map((choice) => choice.action))]
}

// ---- Words ----

function nameIt(entity: Entity): string {
  return `${entity.machine} ${entity.id}`
}

function attemptText(attempt: number, attemptsMax: number | null): string {
  return attemptsMax === null ? `attempt ${attempt}` : `attempt ${attempt} of ${attemptsMax}`
}

function idsText(ids: readonly EntityId[]): string {
  return ids.length === 0 ? '' : ` (${ids.join(', ')})`
}
