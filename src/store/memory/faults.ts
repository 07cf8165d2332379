import { SluiceError } from '../../errors.ts'
import type { Signal, Store } from '../../store.ts'

/** The verbs that ask a database, and so can fail. */
export type FaultyVerb = Exclude<keyof Store, 'time' | 'signals' | 'heart' | 'close'>

/** before: nothing was done. after: it was done, and the answer is lost, so that the caller cannot know. */
export type Fault = 'ok' | 'before' | 'after'

export type SignalFault = 'ok' | 'drop' | 'double'

/** A store whose verbs fail and whose signals go astray as the plans say, asked anew at every call. */
export function faultyStore(
  store: Store,
  plan: (verb: FaultyVerb) => Fault,
  signalPlan: (signal: Signal) => SignalFault = () => 'ok',
): Store {
  function faulty<Given extends readonly unknown[], Answer>(
    verb: FaultyVerb,
    act: (...given: Given) => Promise<Answer>,
  ) {
    return async (...given: Given): Promise<Answer> => {
      const fault = plan(verb)
      if (fault === 'before') throw injected(verb, fault)
      const answer = await act(...given)
      if (fault === 'after') throw injected(verb, fault)
      return answer
    }
  }
  const { signals, heart } = store
  return {
    migrate: faulty('migrate', () => store.migrate()),
    define: faulty('define', (machines) => store.define(machines)),
    create: faulty('create', (operation, births) => store.create(operation, births)),
    get: faulty('get', (ids) => store.get(ids)),
    list: faulty('list', (filter) => store.list(filter)),
    claim: faulty('claim', (request) => store.claim(request)),
    commit: faulty('commit', (operation, moves) => store.commit(operation, moves)),
    renew: faulty('renew', (renewal) => store.renew(renewal)),
    release: faulty('release', (release) => store.release(release)),
    due: faulty('due', (limit) => store.due(limit)),
    lanes: faulty('lanes', (parents) => store.lanes(parents)),
    recount: faulty('recount', (parents, mend) => store.recount(parents, mend)),
    events: faulty('events', (query) => store.events(query)),
    holds: faulty('holds', (change) => store.holds(change)),
    pools: faulty('pools', (names) => store.pools(names)),
    workers: faulty('workers', () => store.workers()),
    purge: faulty('purge', (root, limit) => store.purge(root, limit)),
    tombstones: faulty('tombstones', (ids) => store.tombstones(ids)),
    time: () => store.time(),
    close: () => store.close(),
    ...(heart && { heart: (request) => heart.call(store, request) }),
    ...(signals && {
      signals: (listener) =>
        signals.call(store, (signal) => {
          const fault = signalPlan(signal)
          if (fault !== 'drop') listener(signal)
          if (fault === 'double') listener(signal)
        }),
    }),
  }
}

function injected(verb: FaultyVerb, fault: Exclude<Fault, 'ok'>): SluiceError {
  return new SluiceError('internal', `injected: ${fault}`, { verb, fault })
}
