import type { MoveRecord } from '../../event.ts'
import type { ClaimResult, CreateVerdict, Move, Verdict } from '../../store.ts'
import type { Call } from './calls.ts'

/** A call and its answer in a line. */
export function gistOf({ verb, given }: Call, answer: unknown): string {
  switch (verb) {
    case 'claim':
      return (answer as ClaimResult).entities
        .map(
          ({ machine, id, state, epoch, attempts, suspect }) =>
            `${machine} ${id} ${state} epoch ${epoch} attempt ${attempts} suspect ${suspect}`,
        )
        .join(', ')
    case 'commit':
      return `${given[0]}: ${(given[1] as readonly Move[]).map((move, index) => `${moveText(move)}: ${(answer as readonly Verdict[])[index]?.kind}`).join(', ')}`
    case 'create':
      return `${given[0]}: ${(answer as readonly CreateVerdict[]).map((verdict) => JSON.stringify(verdict)).join(', ')}`
    default:
      return `${cut(JSON.stringify(given))}: ${cut(JSON.stringify(answer))}`
  }
}

function moveText({ id, by, cause, hops, state, epoch, seq, keep, wait, staging, children }: Move): string {
  const path = hops.length === 0 ? `in ${state}` : hops.map(({ from, to }) => `${from} → ${to}`).join(', ')
  const spawns = children.length === 0 ? '' : ` ${staging} ${children.map(({ ordinal }) => ordinal).join(' ')}`
  return `${id} by ${by} (epoch ${epoch}, seq ${seq}) ${cause} ${path}${keep ? ' keeping' : ''}${spawns}, then ${JSON.stringify(wait)}`
}

export function recordText({ seq, epoch, generation, hops, error, requestId }: MoveRecord): string {
  const path = hops.map(({ transition, to }) => `${transition} → ${to}`).join(', ')
  return `seq ${seq}, epoch ${epoch}, generation ${generation}: ${path}${requestId ? ` (${requestId})` : ''}${error ? `: ${error}` : ''}`
}

function cut(text: string | undefined): string {
  return text === undefined ? '' : text.length > 200 ? `${text.slice(0, 200)}…` : text
}
