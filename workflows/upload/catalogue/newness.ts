import type { HNItem } from '../hn-item.ts'

/**
 * What decides which of two documents of the same item is the newer one. The API gives items no version and no time of
 * change, so only facts that grow with an item's age can tell: it was taken down, it was answered, it was voted for.
 * They are kept in columns: nobody reads a document in order to decide.
 */
export interface Facts {
  /** 1 if it was deleted or is dead. */
  readonly gone: number
  /** Direct answers. */
  readonly kids: number
  /** Comments below it; null where a document does not say. */
  readonly descendants: number | null
  /** Null where a document does not say. */
  readonly score: number | null
}

export function factsOf(item: HNItem): Facts {
  return {
    gone: item.deleted || item.dead ? 1 : 0,
    kids: item.kids?.length ?? 0,
    descendants: item.descendants ?? null,
    score: item.score ?? null,
  }
}

/**
 * The first fact in which they differ decides, in the order: gone, kids, descendants, score. Scores stand last since they
 * also fall. A fact that is not said counts as lower than any that is. Documents that agree in all four are the same age:
 * neither is newer.
 */
export function isNewer(candidate: Facts, stored: Facts): boolean {
  if (candidate.gone !== stored.gone) return candidate.gone > stored.gone
  if (candidate.kids !== stored.kids) return candidate.kids > stored.kids
  if (candidate.descendants !== stored.descendants) return isGreater(candidate.descendants, stored.descendants)
  return isGreater(candidate.score, stored.score)
}

/** The facts of one version of an item, and where it stands in the order of batches and files. */
export interface Version extends Facts {
  readonly batch: number
  readonly offset: number
}

/** Without whatever else the value holds. */
export function versionOf({ gone, kids, descendants, score, batch, offset }: Version): Version {
  return { gone, kids, descendants, score, batch, offset }
}

/**
 * Whether one version takes precedence over another. The newer one does. Of two of the same age, the one of the earlier batch does,
 * and within a batch the one that lies first in the file. A version does not take precedence over itself.
 */
export function isStronger(candidate: Version, other: Version): boolean {
  if (isNewer(candidate, other)) return true
  if (isNewer(other, candidate)) return false
  if (candidate.batch !== other.batch) return candidate.batch < other.batch
  return candidate.offset < other.offset
}

function isGreater(left: number | null, right: number | null): boolean {
  if (left === null) return false
  return right === null || left > right
}
