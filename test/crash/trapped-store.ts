import type { Move, Store, Verdict } from '../../src/store.ts'
import type { Journal, Note } from './journal.ts'
import type { Trap, TrapPoint } from './trap.ts'

/**
 * The same store, with points around its verbs where the process can die, and a word in the journal about each lease that
 * was given and each move that was accepted by it. Everything else is handed through.
 */
export function trappedStore(store: Store, trap: Trap, journal: Journal): Store {
  const around = async <Result>(before: TrapPoint | null, after: TrapPoint | null, work: () => Promise<Result>) => {
    if (before) trap.pass(before)
    const result = await work()
    if (after) trap.pass(after)
    return result
  }
  const verbs: Partial<Store> = {
    create: (operation, births) => around('create:before', 'create:after', () => store.create(operation, births)),
    claim: (request) =>
      around('claim:before', null, async () => {
        const result = await store.claim(request)
        // A claim that found nothing is no claim to die over.
        if (result.entities.length === 0) return result
        journal.write(...result.entities.map(({ id, epoch, seq }) => ({ kind: 'claimed', id, epoch, seq }) as const))
        trap.pass('claim:after')
        return result
      }),
    commit: async (operation, moves) => {
      const kinds = kindsOf(moves)
      for (const kind of kinds) trap.pass(`${kind}:before`)
      const verdicts = await store.commit(operation, moves)
      journal.write(...moves.flatMap((move, index) => noteOf(move, verdicts[index]!)))
      for (const kind of kinds) trap.pass(`${kind}:after`)
      return verdicts
    },
    renew: (renewal) => around(null, renewal.id === null ? 'register:after' : null, () => store.renew(renewal)),
    release: (release) =>
      release.kind === 'dead'
        ? around('dead:before', null, async () => {
            const freed = await store.release(release)
            if (freed.length > 0) trap.pass('dead:after')
            return freed
          })
        : store.release(release),
    due: async (limit, machines) => {
      const due = await store.due(limit, machines)
      if (due.parents.length + due.timers.length + due.purges.length > 0) trap.pass('due:after')
      return due
    },
    purge: (root, limit) => around('purge:before', 'purge:after', () => store.purge(root, limit)),
  }
  return new Proxy(store, {
    get(target, name) {
      const own = verbs[name as keyof Store]
      if (own) return own
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function noteOf({ id, epoch, seq, by, hops }: Move, { kind }: Verdict): Note | readonly never[] {
  if (by !== 'lease' || hops.length === 0 || (kind !== 'saved' && kind !== 'stale')) return []
  return { kind, id, epoch, seq }
}

type CommitKind = 'commit' | 'stage' | 'publish' | 'children' | 'action'

function kindsOf(moves: readonly Move[]): readonly CommitKind[] {
  const kinds = new Set<CommitKind>(['commit'])
  for (const move of moves) {
    if (move.staging !== 'none') kinds.add(move.staging)
    if (move.cause === 'children' && move.hops.length > 0) kinds.add('children')
    if (move.cause === 'action') kinds.add('action')
  }
  return [...kinds]
}
