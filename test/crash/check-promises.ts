import type { Case } from './case.ts'
import type { Note } from './journal.ts'

type Submit = Extract<Note, { kind: 'submit' }>
type Act = Extract<Note, { kind: 'act' }>

/** What was acknowledged is there, once, as planned; what is there was asked for. */
export function* checkSubmits(the: Case): Iterable<string> {
  const submits = the.notes.filter((note): note is Submit => note.kind === 'submit')
  const invoked = new Set(submits.map(({ key }) => key))
  const idsByKey = Map.groupBy(
    submits.filter((note) => note.phase === 'ok'),
    ({ key }) => key,
  )
  const keysById = new Map<number, string>()
  for (const [key, notes] of idsByKey) {
    const ids = [...new Set(notes.map(({ id }) => id))]
    // Submitted again, it would get the same id: that it was made anew shows that it had been lost.
    if (notes.filter(({ existing }) => !existing).length > 1)
      yield `${key} was made twice: acknowledged, lost, and made again.`
    if (ids.length > 1) yield `${key} was acknowledged as ${ids.join(' and as ')}.`
    for (const id of ids) {
      const other = keysById.get(id)
      if (other !== undefined && other !== key) yield `${id} was acknowledged for ${other} and for ${key}.`
      keysById.set(id, key)
      yield* checkPresent(the, key, id)
    }
  }
  for (const [key, entities] of the.byKey) {
    if (entities.length > 1) yield `${key} exists ${entities.length} times: ${entities.map(({ id }) => id).join(', ')}.`
  }
  for (const entity of the.entities) {
    if (entity.parent !== null) continue
    if (entity.key === null || !invoked.has(entity.key)) yield `${entity.machine} ${entity.id} was submitted by nobody.`
  }
}

function* checkPresent(the: Case, key: string, id: number): Iterable<string> {
  const plan = the.expected.plan(key)
  const entity = the.byId.get(id)
  const tombstone = the.tombstones.find((stone) => stone.id === id)
  if (!plan) yield `${key} is in no plan.`
  else if (plan.purged) {
    if (entity) yield `${key} (${id}) should have been removed by retention.`
    if (!tombstone) yield `${key} (${id}) was acknowledged and is lost: no tombstone.`
    else if (tombstone.key !== key || !plan.ends.includes(tombstone.state)) {
      yield `${key} (${id}) left the tombstone of ${tombstone.key} in ${tombstone.state}.`
    }
  } else if (!entity) yield `${key} (${id}) was acknowledged and is lost.`
  else if (entity.key !== key) yield `${id} was acknowledged for ${key} and belongs to ${entity.key}.`
  else if (entity.machine !== plan.machine) yield `${key} (${id}) is a ${entity.machine}, not a ${plan.machine}.`
  else {
    if (!plan.ends.includes(entity.state)) yield `${key} (${id}) ended ${entity.state}, not ${plan.ends.join(' or ')}.`
    if (entity.state === plan.ends[0] && entity.generation !== plan.generations) {
      yield `${key} (${id}) was reopened ${entity.generation} times, not ${plan.generations}.`
    }
    const { number } = JSON.parse(entity.data) as { number?: number }
    if (number !== plan.data.number) yield `${key} (${id}) has the data of number ${number}.`
  }
}

/** An acknowledged action is in the history once; a refused one never; one without answer at most once. */
export function* checkActs(the: Case): Iterable<string> {
  const acts = Map.groupBy(
    the.notes.filter((note): note is Act => note.kind === 'act'),
    ({ request }) => request,
  )
  const moves = Map.groupBy(
    Object.values(the.histories).flatMap((history) => history.filter((move) => move.cause === 'action')),
    ({ requestId }) => requestId ?? 'nobody',
  )
  for (const [request, notes] of acts) {
    const { id, action } = notes[0]!
    const found = moves.get(request) ?? []
    const phases = new Set(notes.map(({ phase }) => phase))
    if (phases.has('ok') && found.length === 0) yield `${action} of ${id} (${request}) was acknowledged and is lost.`
    if (phases.has('fail') && found.length > 0) yield `${action} of ${id} (${request}) was refused and took place.`
    if (found.length > 1) yield `${action} of ${id} (${request}) took place ${found.length} times.`
    for (const move of found) {
      if (move.entity !== id) yield `${action} of ${id} (${request}) moved ${move.entity}.`
      if (!move.actor || !move.role || !move.reason)
        yield `${action} of ${id} (${request}) does not say who, as what and why.`
    }
  }
  for (const [request, found] of moves) {
    if (!acts.has(request)) yield `${found[0]!.entity} was acted on by nobody (${request}).`
  }
}
