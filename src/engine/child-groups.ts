import type { ChildGroup, Explanation } from '../control.ts'
import type { Entity } from '../entity.ts'
import type { Hold } from '../hold.ts'
import { clauseOf, countText, dueText, durationText } from './explanation-text.ts'

/** An open child, and why it is where it is. */
export interface ExplainedChild {
  readonly child: Entity
  readonly explanation: Explanation
}

/** Children of a group that are named. */
const examplesMax = 5

/** What a person can do something about comes first, what goes on by itself last. */
const kinds: readonly Explanation['kind'][] = [
  ...(['no_worker', 'held', 'person', 'full', 'suspect', 'retrying', 'scheduled', 'timer'] as const),
  ...([
    'parent_ended',
    'gated',
    'children',
    'running',
    'ready',
    'settled',
    'final',
    'purging',
    'store_trouble',
  ] as const),
]

/** Children that wait for the same thing, together. `exact`: these are all open children. */
export function groupChildren(children: readonly ExplainedChild[], exact: boolean): readonly ChildGroup[] {
  return [...Map.groupBy(children, keyOf).values()]
    .map((members) => groupOf(members, exact))
    .toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind) || other.count - one.count)
}

/** Within a kind, what makes children wait for different things. */
function keyOf({ explanation: { kind, facts } }: ExplainedChild): string {
  const { machine, role, pool, needs, lane, name, silentMs } = facts
  // A worker of which nothing is heard is told apart from those at work.
  const silent = typeof silentMs === 'number' ? name : null
  return JSON.stringify([kind, holdOf(facts)?.id, machine, role, pool, needs, kind === 'gated' ? lane : null, silent])
}

function groupOf(members: readonly ExplainedChild[], exact: boolean): ChildGroup {
  const [first] = members as readonly [ExplainedChild, ...ExplainedChild[]]
  const { kind, facts } = first.explanation
  const hold = holdOf(facts)
  const times = members.flatMap(({ explanation }) => numberIn(explanation.facts.at) ?? [])
  const lanes = new Set(members.map(({ child }) => child.lane))
  const errors = members.flatMap(({ explanation }) => textIn(explanation.facts.error) ?? [])
  return {
    kind,
    count: members.length,
    exact,
    examples: members.slice(0, examplesMax).map(({ child }) => child.id),
    lane: lanes.size === 1 ? first.child.lane : null,
    hold: hold ? { id: hold.id, reason: hold.reason, owner: hold.owner, until: hold.until } : null,
    at: times.length === 0 ? null : Math.min(...times),
    error: kind === 'retrying' ? (errors[0] ?? null) : null,
    machine: kind === 'no_worker' ? textIn(facts.machine) : null,
    role: textIn(facts.role),
    pool: textIn(facts.pool),
    needs: (facts.needs as ChildGroup['needs'] | undefined) ?? null,
    behind: kind === 'gated' && Array.isArray(facts.lanes) ? facts.lanes.map(({ name }) => String(name)) : [],
    worker: typeof facts.silentMs === 'number' ? textIn(facts.name) : null,
    silentMs: numberIn(facts.silentMs),
  }
}

function holdOf(facts: Explanation['facts']): Hold | null {
  return Array.isArray(facts.holds) ? (facts.holds[0] as Hold) : null
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function numberIn(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** What the open children wait for, as one sentence; empty if none was looked at. */
export function childrenText(groups: readonly ChildGroup[], now: number): string {
  if (groups.length === 0) return ''
  const looked = groups.reduce((sum, { count }) => sum + count, 0)
  const said = groups.map((group) => `${groupText(group, now)}${examplesText(group)}`).join('; ')
  return groups[0]?.exact ? ` ${said}.` : ` Of ${countText(looked)} open ones looked at, ${said}.`
}

function examplesText({ examples, count }: ChildGroup): string {
  return ` (${examples.join(', ')}${count > examples.length ? ', …' : ''})`
}

function groupText(group: ChildGroup, now: number): string {
  const { kind, count, hold, at, error, machine, role, pool, needs, behind, lane, worker, silentMs } = group
  const many = countText(count)
  const [is, waits, runs] = count === 1 ? ['is', 'waits', 'runs'] : ['are', 'wait', 'run']
  const when = at === null ? '' : count === 1 ? ` ${dueText(at, now)}` : `, the first ${dueText(at, now)}`
  switch (kind) {
    case 'held':
      return `${many} ${is} held by ${hold?.owner}: ${clauseOf(hold?.reason ?? '')} (hold ${hold?.id})`
    case 'no_worker':
      if (needs) return `${many} could go on, but no live worker serves ${needs.what} ${needs.name}`
      return role === null
        ? `${many} could go on, but no live worker serves ${machine}`
        : `${many} could go on, but no live worker that serves ${machine} has the role ${role}`
    case 'full':
      return `${many} ${waits} for room in ${pool}`
    case 'retrying':
      return `${many} ${is} tried again${when}${error === null ? '' : `, after: ${clauseOf(error)}`}`
    case 'scheduled':
      return `${many} ${is} scheduled to run${when}`
    case 'gated':
      return behind.length === 0
        ? `${many} ${waits} behind the gate of ${lane}`
        : `${many} ${waits} behind the gate of ${lane}, until ${behind.join(' and ')} ${behind.length === 1 ? 'is' : 'are'} complete`
    case 'running':
      return worker === null
        ? `${many} ${runs} now`
        : `${many} ${is} held by worker ${worker}, of which nothing was heard for ${durationText(silentMs ?? 0)}`
    case 'ready':
      return `${many} ${is} ready and ${waits} in line`
    case 'suspect':
      return `${many} ${is} suspect: the worker that held ${count === 1 ? 'it' : 'them'} died`
    case 'children':
      return `${many} ${waits} for children of ${count === 1 ? 'its' : 'their'} own`
    case 'timer':
      return `${many} ${waits} for ${count === 1 ? 'its timer' : 'their timers'}${when}`
    case 'person':
      return `${many} ${waits} for a person`
    case 'parent_ended':
      return `${many} ${is} at rest`
    case 'settled':
    case 'final':
    case 'purging':
    case 'store_trouble':
      // It settled after the lanes were read.
      return `${many} ${is} settled by now`
    default:
      return kind satisfies never
  }
}
