/** What enables an edge. The first five come from a worker, the next three from the engine, the last from a person. */
export const causes = ['claim', 'done', 'retry', 'poll', 'fail', 'gate', 'children', 'time', 'action'] as const

export type Cause = (typeof causes)[number]

/** How a person writes an edge. `from` may name several states: each is an edge of its own. */
export interface TransitionDeclaration<State extends string = string> {
  readonly from: State | readonly State[]
  readonly to: State
  readonly on: Cause
  /**
   * Runs under a lease in the `from` state; the edge is taken with its result. Several run one after another, each with the
   * data that the one before left, under the policy of the first; if one asks for another attempt, all of them run again.
   * They share one cursor: only one of them should make checkpoints.
   */
  readonly processor?: string | readonly string[]
  /** Judged before: chooses the edge. */
  readonly when?: string | readonly string[]
  /** Judged after, on the processor's result: accepts the work. False is `fail`, with the criterion's reason. */
  readonly ensure?: string | readonly string[]
  /** Pure change of data, lanes and children, part of the edge's commit. */
  readonly assign?: string
  /** Taken in memory and committed together with the hop that led here. */
  readonly inline?: boolean
  /** What an operator asks for; several edges may share one action. Default: the transition's own name. */
  readonly action?: string
  /** For `time` edges: how long after the state was entered. */
  readonly afterMs?: number
  /** What becomes of the entity's own children: they rest (none is started), stop (running ones too), or go on again. */
  readonly children?: 'rest' | 'stop' | 'go'
  /** Who may ask for it; default operator. */
  readonly role?: 'submitter' | 'operator' | 'admin'
  /** Shown before an action that cannot be taken back; it must be confirmed. */
  readonly warning?: string
  readonly purpose?: string
}

/** One edge as the engine sees it: exactly one `from`. */
export interface Edge {
  readonly name: string
  readonly from: string
  readonly to: string
  readonly on: Cause
  readonly processor?: string
  /** What runs after `processor`, in the same run. */
  readonly then?: readonly string[]
  readonly when: readonly string[]
  readonly ensure: readonly string[]
  readonly assign?: string
  readonly inline: boolean
  readonly action: string
  readonly afterMs?: number
  readonly children?: 'rest' | 'stop' | 'go'
  readonly role: 'submitter' | 'operator' | 'admin'
  readonly warning?: string
  readonly purpose: string
}

/** All that one run of this edge runs, in order. */
export function processorsOf(edge: Edge): readonly string[] {
  return edge.processor === undefined ? [] : [edge.processor, ...(edge.then ?? [])]
}

/** One step of a move. A move's hops form a path: each begins where the one before ended. */
export interface Hop {
  readonly transition: string
  readonly from: string
  readonly to: string
}

/** One for each edge: a million moves share their hops. */
const hops = new WeakMap<Edge, Hop>()

export function hopOf(edge: Edge): Hop {
  let hop = hops.get(edge)
  if (!hop) {
    hop = { transition: edge.name, from: edge.from, to: edge.to }
    hops.set(edge, hop)
  }
  return hop
}

/**
 * The hops of a path so far. A million entities that go the same way share their trails: each knows the one that comes after it by the
 * edge that was taken last, so most steps make nothing.
 */
export class Trail {
  static readonly start = new Trail([])
  readonly hops: readonly Hop[]
  #lastEdge: Edge | null = null
  #lastNext: Trail | null = null

  private constructor(hops: readonly Hop[]) {
    this.hops = hops
  }

  after(edge: Edge): Trail {
    if (this.#lastEdge === edge && this.#lastNext) return this.#lastNext
    this.#lastEdge = edge
    this.#lastNext = new Trail([...this.hops, hopOf(edge)])
    return this.#lastNext
  }
}

/** The same hops, one after another. Hops are shared by edge, so this is mostly a comparison of pointers. */
export function isSamePath(one: readonly Hop[], other: readonly Hop[]): boolean {
  if (one === other) return true
  if (one.length !== other.length) return false
  return one.every((hop, index) => {
    const same = other[index] as Hop
    return hop === same || (hop.transition === same.transition && hop.from === same.from && hop.to === same.to)
  })
}
