import { type Bug, inUnit } from './bug.ts'

const inGroups = (test: string) => inUnit('src/engine/group-executor.test.ts', `the group executor ${test}`)
const inCascade = (test: string) => inUnit('src/engine/cascade.test.ts', `a cascade ${test}`)
const inCheckpoint = (test: string) => inUnit('src/engine/checkpoint.test.ts', test)
const inAlike = (test: string) => inUnit('src/store/sqlite/alike.test.ts', test)

/** What can go wrong where several do something together: entities in a group, processors in a cascade, rows in a statement. */
export const groupBugs: readonly Bug[] = [
  {
    name: 'group-answers-shifted',
    what: 'Each member of a group is given the outcome of its neighbour.',
    file: 'src/engine/group-executor.ts',
    find: 'occurrences[position] as Occurrence',
    replace: 'occurrences[(position + 1) % some.length] as Occurrence',
    caughtBy: inGroups('each outcome decides for its own entity alone'),
  },
  {
    name: 'broken-group-begins-in-the-middle',
    what: 'A group that threw is run one by one with what it has spawned before: children are there twice.',
    file: 'src/engine/group-executor.ts',
    find: 'for (const context of contexts) context.restart()',
    replace: '',
    caughtBy: inGroups('what a group spawned before it threw does not appear beside what its members spawn one by one'),
  },
  {
    name: 'short-answer-taken',
    what: 'A group processor that answers for some is believed: who is left out is done, or another’s outcome is his.',
    file: 'src/engine/outcomes.ts',
    find: ' || outcomes.length !== contexts.length',
    replace: '',
    caughtBy: inGroups('a group that answers with too many is run one by one'),
  },
  {
    name: 'ended-before-its-group',
    what: 'What ends while the cascade of others goes on is not saved: its timeout passes, and it runs again.',
    file: 'src/engine/group-executor.ts',
    find: 'await this.#commit(ends, faults)',
    replace: 'if (works.length === 0) await this.#commit(ends, faults)',
    caughtBy: inUnit(
      'src/engine/group-neighbours.test.ts',
      'neighbours in a group one that has ended is saved while the cascade of the others goes on',
    ),
  },
  {
    name: 'failure-takes-the-children-before',
    what: 'A processor that fails takes along what those before it have spawned, though their edges are taken.',
    file: 'src/engine/context.ts',
    find: 'out.buffer.length = out.kept\n    out.spawned = out.keptSpawned',
    replace: 'out.buffer.length = 0\n    out.spawned = out.keptSpawned',
    caughtBy: inCascade('only children of accepted work appear: the second fails'),
  },
  {
    name: 'refused-work-leaves-children',
    what: 'Work that ensure refused is dropped, and its children appear all the same.',
    file: 'src/engine/executor.ts',
    find: 'else work.context?.drop()',
    replace: '',
    caughtBy: inCascade('only children of accepted work appear: the first is refused'),
  },
  {
    name: 'cursor-of-the-one-before',
    what: 'The second processor of a cascade goes on where the first one was.',
    file: 'src/engine/context.ts',
    find: 'if (this.#fanOut || this.#running.entity.checkpoint) this.#out().cursor = null',
    replace: '',
    caughtBy: inCascade('a processor begins without the cursor of the one before it'),
  },
  {
    name: 'said-before-it-is-saved',
    what: 'What an assign has to say is logged for every try, also for those that are stale.',
    file: 'src/engine/actions.ts',
    find: 'const verdict = await services.completer.commit(move)',
    replace: 'tell(services.log, entity, decision)\n  const verdict = await services.completer.commit(move)',
    caughtBy: inUnit(
      'src/engine/cascade.test.ts',
      'what an assign says is logged once although two ask for it at the same moment',
    ),
  },
  {
    name: 'every-checkpoint-is-further',
    what: 'Whoever makes a checkpoint is forgiven, also for the hundredth time at the same place.',
    file: 'src/engine/context.ts',
    find: '|| checkpoint.cursor === before?.cursor',
    replace: '',
    caughtBy: inCheckpoint('a checkpoint and attempts one that repeats the same cursor forgives nothing'),
  },
  {
    name: 'request-doubled',
    what: 'An action that is under way is asked for again, and the second asker takes the place of the first.',
    file: 'src/engine/actions.ts',
    find: 'if (!isPersons && before.name !== asked.name) return',
    replace: 'if (before.name !== "") return',
    caughtBy: inCheckpoint(
      'an action of a settled state asked for twice, the second is a conflict that names who asked first',
    ),
  },
  {
    name: 'sqlite-unstaged-before-it-is-written',
    what: 'A child that comes twice in one move is removed before it was written, and written after that.',
    file: 'src/store/sqlite/spawn.ts',
    find: 'nursery.flush()\n        unstage(',
    replace: 'unstage(',
    caughtBy: inAlike('children alike the same ordinal twice: staged, and published'),
  },
  {
    name: 'sqlite-uniform-without-a-count',
    what: 'What holds for the first of many alike is taken for all of them: who lost its lease is saved.',
    file: 'src/store/sqlite/uniform.ts',
    find: 'if (alikeRows !== ids.length) return 0',
    replace: '',
    caughtBy: inAlike('moves alike one of many whose lease is over is stale, and the others are saved'),
  },
  {
    name: 'ids-that-fall-are-new',
    what: 'Who stands twice in a commit is told apart by the highest id alone.',
    file: 'src/seen-ids.ts',
    find: 'if (this.#all.has(id)) return false',
    replace: '',
    caughtBy: inUnit('src/seen-ids.test.ts', 'an id that is lower than the one before may be new, or not'),
  },
  {
    name: 'catalogue-forgets-its-highest-id',
    what: 'The newest item of the catalogue is not found: its duplicate is added beside it.',
    file: 'workflows/upload/catalogue/shelf.ts',
    find: 'hnId <= highest',
    replace: 'hnId < highest',
    caughtBy: inUnit(
      'workflows/upload/catalogue/catalogue.test.ts',
      'the item with the highest id is known, before and after it is folded in',
    ),
  },
  {
    name: 'sqlite-moved-twice-with-data',
    what: 'Moves with data are made twice where others of the same shape have none.',
    file: 'src/store/sqlite/alike.ts',
    find: 'own.length === 0 ? ids : without(ids, own)',
    replace: 'ids',
    caughtBy: inAlike('moves alike again after moves from outside, with new data'),
  },
]
