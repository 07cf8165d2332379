import type { EntityId } from '../../entity.ts'
import { type Hold, type Holdable, isActive, type LabelNames, stops } from '../../hold.ts'
import { nobody } from '../../store.ts'
import type { Session, Value } from './database.ts'
import { type Dictionary, Unlearned } from './dictionary.ts'

/** What every transaction asks first, in one statement: the time, and the few orders that stand over everything. */
export interface Facts {
  readonly now: number
  readonly holds: Holds
  /** Roots that are being purged: nothing of their trees is claimed or committed any more. */
  readonly purging: ReadonlySet<EntityId>
  /** Stagings that are not published: their rows are unseen. */
  readonly stagings: ReadonlySet<number>
}

const query = `SELECT (SELECT at FROM operation ORDER BY position DESC LIMIT 1),
  (SELECT value FROM counter WHERE name = 'time'),
  (SELECT value FROM counter WHERE name = 'machines'),
  (SELECT json_agg(json_build_array(id, scope, reason, owner, until, since, set_by) ORDER BY id) FROM hold),
  (SELECT json_agg(id) FROM tombstone WHERE purged_at IS NULL),
  (SELECT json_agg(id) FROM staging)`

type Found = [
  latest: number | null,
  noted: number | null,
  machines: number | null,
  holds: readonly HoldColumns[] | null,
  purging: readonly number[] | null,
  stagings: readonly number[] | null,
  answer: unknown,
]

/** One more thing that is asked together with the facts: an expression, and its parameters. */
export interface Question {
  readonly sql: string
  readonly values: readonly Value[]
}

/** `time` gives this process's time, and is told if another has written a later one. With the answer to the question, if there is one. */
export async function factsOf(
  session: Session,
  dictionary: Dictionary,
  time: (latest: number) => number,
  question: Question | null = null,
): Promise<{ readonly facts: Facts; readonly answer: unknown }> {
  const found = question ? session.one(`${query}, ${question.sql}`, question.values) : session.one(query)
  const [latest, noted, machines, holds, purging, stagings, answer] = (await found) as Found
  if (!dictionary.isCurrent(machines ?? -1)) throw new Unlearned({})
  const facts = {
    now: time(Math.max(latest ?? 0, noted ?? 0)),
    holds: new Holds((holds ?? []).map(holdOf)),
    purging: new Set(purging ?? []),
    stagings: new Set(stagings ?? []),
  }
  return { facts, answer }
}

/** The standing orders. There are few. */
export class Holds {
  readonly #holds: readonly Hold[]

  constructor(holds: readonly Hold[]) {
    this.#holds = holds
  }

  standing(now: number): readonly Hold[] {
    return this.#holds.every((hold) => isActive(hold, now))
      ? this.#holds
      : this.#holds.filter((hold) => isActive(hold, now))
  }

  /** Those whose time is over stand in the table until the next change. */
  expired(now: number): readonly Hold[] {
    return this.#holds.filter((hold) => !isActive(hold, now))
  }

  stands(id: number, now: number): boolean {
    return this.#holds.some((hold) => hold.id === id && isActive(hold, now))
  }

  over(entity: Holdable, holdable: boolean, labelNames: LabelNames, now: number): readonly Hold[] {
    return this.#holds.filter((hold) => stops(hold, entity, holdable, labelNames, now))
  }

  /** When the next one ends by itself: what it held may be claimed from then on. */
  nextEnd(now: number): number | null {
    const ends = this.standing(now).flatMap(({ until }) => until ?? [])
    return ends.length > 0 ? Math.min(...ends) : null
  }
}

export type HoldColumns = readonly [
  id: number,
  scope: string,
  reason: string,
  owner: string,
  until: number | null,
  since: number,
  by: string | null,
]

export function holdOf([id, scope, reason, owner, until, since, by]: HoldColumns): Hold {
  return {
    ...{ id, reason, owner, until, since },
    scope: JSON.parse(scope),
    by: by === null ? nobody : actorOf(by),
    ended: null,
  }
}

export function actorOf(text: string): Hold['by'] {
  const [actor, role, reason, requestId] = JSON.parse(text)
  return { actor, role, reason, requestId }
}
