import type { ChildGroup } from '../../../control.ts'
import { entityHref } from '../addresses.ts'
import { countText } from '../format.ts'
import { html, type View, type VNode } from '../view.ts'
import { Card } from './card.ts'
import { Time } from './time.ts'

const titles: Readonly<Partial<Record<ChildGroup['kind'], string>>> = {
  running: 'Running',
  ready: 'Ready, waiting for a worker with room',
  held: 'On hold',
  retrying: 'Failed, tried again later',
  scheduled: 'Scheduled',
  timer: 'Waiting for a timer',
  gated: 'Waiting for an earlier step',
  full: 'Waiting for room in a pool',
  no_worker: 'No worker serves them',
  suspect: 'Suspect: their worker died',
  person: 'Waiting for a person',
  children: 'Waiting for their own children',
}

/** The tone of the group that most needs a person; undefined: there is none that does. */
export function toneOfGroups(groups: readonly ChildGroup[]): string | undefined {
  const found = groups.map(toneOfGroup)
  return ['bad', 'warn'].find((tone) => found.includes(tone))
}

function toneOfGroup({ kind, silentMs }: ChildGroup): string {
  return (silentMs ?? 0) > 0 ? 'bad' : (tones[kind] ?? 'waiting')
}

const tones: Readonly<Partial<Record<ChildGroup['kind'], string>>> = {
  held: 'warn',
  retrying: 'warn',
  full: 'warn',
  person: 'warn',
  no_worker: 'bad',
  suspect: 'bad',
  running: 'active',
  ready: 'active',
}

/** What the open children of a batch or job wait for, the most urgent as the engine orders them. */
export function ChildGroups({ groups }: { readonly groups: readonly ChildGroup[] }): VNode | null {
  if (groups.length === 0) return null
  return html`<${Card} title="What its open children wait for" flush><ul class="rows">${groups.map(
    (group, index) => html`<li key=${index}>
      <span class=${`dot ${toneOfGroup(group)}`}></span>
      <div class="text"><span class="what">${titles[group.kind] ?? group.kind.replaceAll('_', ' ')}${group.lane === null ? null : html` <span class="faint">in ${group.lane}</span>`}</span>
        <span class="why">${detailsOf(group)}</span>
        <span class="faint">${group.examples.length > 0 ? html`For example ${group.examples.slice(0, 3).map((id, position) => html`${position === 0 ? '' : ', '}<a href=${entityHref(id)}>#${id}</a>`)}` : null}</span></div>
      <span class="figure">${group.exact ? '' : html`<span class="faint">at least </span>`}${countText(group.count)}</span></li>`,
  )}</ul><//>`
}

function detailsOf(group: ChildGroup): View {
  const { hold, at, error, machine, role, pool, needs, behind, worker } = group
  const parts: View[] = [
    hold === null ? null : html`“${hold.reason}”, by ${hold.owner} (hold ${hold.id})`,
    error,
    at === null ? null : html`next <${Time} at=${at} />`,
    needs !== null
      ? html`no live worker serves ${needs.what} <b>${needs.name}</b>; see <a href="/workers">workers</a>`
      : machine === null
        ? null
        : html`no live worker serves <b>${machine}</b>${role === null ? '' : ` with role ${role}`}; see <a href="/workers">workers</a>`,
    pool === null ? null : `pool ${pool} is full`,
    behind.length === 0 ? null : `behind ${behind.join(', ')}`,
    worker === null ? null : html`<a href="/workers">worker ${worker}</a> has been silent for long`,
  ]
  return parts.filter((part) => part !== null).map((part, index) => html`${index === 0 ? '' : ' · '}${part}`)
}
