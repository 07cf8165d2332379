import type { Entity, EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Hold } from '../../hold.ts'
import type { Birth, ClaimRequest, Move, Store } from '../../store.ts'
import type { Hop } from '../../transition.ts'
import type { Known } from './model.ts'
import type { Owner } from './world.ts'

/** The verbs that go over the wire. */
export type Verb = Exclude<keyof Store, 'time' | 'signals' | 'heart' | 'close'>

/** One call under way, from the moment that it reaches the store. */
export interface Call {
  readonly verb: Verb
  readonly given: readonly unknown[]
  readonly owner: Owner
  /** The holds that stood when it arrived. */
  readonly holds: readonly Hold[]
}

/** The verbs that can change what the store shows. */
const changing: ReadonlySet<Verb> = new Set(['create', 'claim', 'commit', 'renew', 'release', 'holds', 'purge'])

/** Everything that is asked of the store and not yet answered: whatever it does, it does for one of these. */
export class Calls {
  readonly #calls = new Set<Call>()

  /** False: it only reads. */
  begin(call: Call): boolean {
    if (!changing.has(call.verb)) return false
    this.#calls.add(call)
    return true
  }

  /** False: it was not under way. */
  end(call: Call): boolean {
    return this.#calls.delete(call)
  }

  wasSubmitted(row: Entity): boolean {
    const isIts = ({ machine, data, key }: Birth) => machine === row.machine && data === row.data && key === row.key
    return this.#some('create', ({ given }) => (given[1] as readonly Birth[]).some(isIts))
  }

  /** The moves whose record this can be: two processes may have decided the same at the same moment. */
  movesOf(record: MoveRecord): ReadonlyMap<Move, Call> {
    const found = new Map<Move, Call>()
    for (const call of this.#calls) {
      if (call.verb !== 'commit') continue
      for (const move of movesOf(call)) if (isRecordOf(record, move)) found.set(move, call)
    }
    return found
  }

  isClaimed(record: MoveRecord, { machine }: Known): boolean {
    return this.#some('claim', ({ given }) =>
      (given[0] as ClaimRequest).runs.some((run) => run.machine === machine.name && isSamePath(run.hops, record.hops)),
    )
  }

  /** Moves of this entity that were sent, and may have been applied or not. */
  underWay(id: EntityId): readonly Move[] {
    const found: Move[] = []
    for (const call of this.#calls) {
      if (call.verb === 'commit') for (const move of movesOf(call)) if (move.id === id) found.push(move)
    }
    return found
  }

  isRespawned({ source, ordinal }: Known): boolean {
    return this.#some('commit', (call) =>
      movesOf(call).some(
        ({ id, children }) =>
          id === source && children.some((child) => child.ordinal === ordinal && child.respawn !== null),
      ),
    )
  }

  #some(verb: Verb, is: (call: Call) => boolean): boolean {
    for (const call of this.#calls) if (call.verb === verb && is(call)) return true
    return false
  }
}

export function movesOf({ given }: Call): readonly Move[] {
  return given[1] as readonly Move[]
}

/** A move from outside raises the epoch that it proves. */
function isRecordOf(record: MoveRecord, move: Move): boolean {
  if (move.id !== record.entity || move.seq !== record.seq - 1) return false
  const epoch = move.by === 'outside' ? move.epoch + 1 : move.epoch
  return epoch === record.epoch && move.cause === record.cause && isSamePath(move.hops, record.hops)
}

function isSamePath(one: readonly Hop[], other: readonly Hop[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ transition, from }, index) => transition === other[index]?.transition && from === other[index]?.from)
  )
}
