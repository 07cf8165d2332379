import { type Bug, inUnit, onSqlite } from './bug.ts'

const inTuning = (test: string) => inUnit('src/engine/tuning.test.ts', `what a machine leaves open ${test}`)
const inAsking = (test: string) =>
  inUnit('src/engine/asking.test.ts', `a follow-up asked for by the move that ends ${test}`)
const inBrood = (test: string) => inUnit('src/store/sqlite/alike.test.ts', `many sources in one commit ${test}`)

/** What differs from entity to entity, what a move asks for, and children of many sources at once. */
export const followUpBugs: readonly Bug[] = [
  {
    name: 'own-policy-ignored',
    what: 'Every entity is treated by its machine’s policy, whatever its own says.',
    file: 'src/implementation.ts',
    find: 'return own ? { ...policy, ...own } : policy',
    replace: 'return policy',
    caughtBy: inTuning('attempts and pauses of each entity'),
  },
  {
    name: 'own-timeout-ignored',
    what: 'A run may take as long as the machine says, though its entity’s own time is over.',
    file: 'src/engine/executor.ts',
    find: 'if (timeoutMs !== work.running.timeoutMs) work.running.limit(timeoutMs)',
    replace: '',
    caughtBy: inTuning('the time of each entity: one that takes longer is dropped, and the attempt counts'),
  },
  {
    name: 'own-retention-ignored',
    what: 'All roots are kept as long as their machine says.',
    file: 'src/path.ts',
    find: 'return waitIn(this.machine, this.state, isRoot, this.#facts.now, own)',
    replace: 'return waitIn(this.machine, this.state, isRoot, this.#facts.now)',
    caughtBy: inTuning('how long each root is kept; what it does not say is as the machine says'),
  },
  {
    name: 'own-ceiling-ignored',
    what: 'Every value of a label has the same room.',
    file: 'src/store.ts',
    find: 'ceilings && Object.hasOwn(ceilings, value) ? ceilings[value]! : ceiling',
    replace: 'ceiling',
    caughtBy: onSqlite('Pools', 'a pool per label may have another ceiling for some values'),
  },
  {
    name: 'follow-up-forgotten',
    what: 'What a move asks for is not asked for: the end is told to nobody.',
    file: 'src/path.ts',
    find: 'if (asked !== undefined) return this.#askNext(edgeNamed(this.machine, this.state, asked), cause)',
    replace: '',
    caughtBy: inAsking('runs once it is saved, in a final state, and leaves it there'),
  },
  {
    name: 'follow-up-lost-with-its-worker',
    what: 'The end that a worker saves does not carry what it asks for.',
    file: 'src/engine/run-move.ts',
    find: 'request: decision.request ? followUp(decision.request) : undefined,',
    replace: '',
    caughtBy: inAsking('runs once it is saved, in a final state, and leaves it there'),
  },
  {
    name: 'spawned-count-lost',
    what: 'A source among many forgets how many it has spawned: its next children take the place of the first.',
    file: 'src/store/sqlite/alike.ts',
    find: "return spawned === 0 ? '' :",
    replace: "return spawned >= 0 ? '' :",
    caughtBy: inBrood('each spawns one, none or several'),
  },
  {
    name: 'sums-lost-among-many',
    what: 'What an entity adds to its lane is counted and not kept: leaving the state takes nothing back.',
    file: 'src/store/sqlite/alike.ts',
    find: "hasSums ? ', sums = ?7' : ''",
    replace: "hasSums ? ', sums = nullif(?7, ?7)' : ''",
    caughtBy: inBrood('sums of their own, with and without data and children'),
  },
  {
    name: 'brood-numbers-given-twice',
    what: 'Numbers that newborn children have are given to others.',
    file: 'src/store/sqlite/brood.ts',
    find: "if (this.#taken > 0) this.#ledger.database.take('entity', this.#taken)",
    replace: '',
    caughtBy: inBrood('whoever is created afterwards has a number of its own'),
  },
  {
    name: 'page-of-children-begins-anew',
    what: 'The next page of what a source has spawned begins at its first again.',
    file: 'src/store/sqlite/list.ts',
    find: 'begun.ordinal,',
    replace: '-1,',
    caughtBy: onSqlite(
      'Getting and listing',
      'what some entities have spawned is listed by (source, ordinal), whoever was first',
    ),
  },
]
