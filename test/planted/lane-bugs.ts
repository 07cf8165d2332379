import { type Bug, onMemory } from './bug.ts'

/** Counting, waking, gates and spawning. */
export const laneBugs: readonly Bug[] = [
  {
    name: 'children-move-on-an-old-count',
    what: 'A parent moves on counts that have changed since it read them: a report without its last children.',
    file: 'src/store/memory/judge.ts',
    find: '?.lane.wake ?? 0) > wake',
    replace: '?.lane.wake ?? 0) < 0',
    caughtBy: onMemory(
      'Lanes and wake-ups',
      'a move that read an older wake number is stale; a saved one has seen what it read',
    ),
  },
  {
    name: 'no-wake-at-zero',
    what: 'The last child to end does not wake its parent.',
    file: 'src/lane.ts',
    find: '(openBefore === 0) !== (open === 0)',
    replace: '(openBefore === 0 && open > 0)',
    caughtBy: onMemory(
      'Lanes and wake-ups',
      'the wake number grows when the open count leaves zero and when it reaches it',
    ),
  },
  {
    name: 'duplicate-counted',
    what: 'A completion that comes twice is counted twice, though the second is stale.',
    file: 'src/store/memory/commit.ts',
    find: 'const verdict = judge(memory, move, now)',
    replace: `const verdict = judge(memory, move, now)
        const again = memory.rows.find(move.id)
        if (verdict.kind === 'stale' && again?.lane) {
          memory.lanes.count(again.lane, again.entity, { ...again.entity, settled: move.settled, state: move.state }, now)
        }`,
    caughtBy: onMemory('Proof', 'by lease: another epoch or seq, lower or higher, is stale and changes nothing'),
  },
  {
    name: 'gate-opened-without-the-move',
    what: 'The gate opens although the move that opens it is not saved.',
    file: 'src/store/memory/commit.ts',
    find: 'const verdict = judge(memory, move, now)',
    replace: `if (memory.rows.find(move.id)) for (const name of move.opens) setGate(memory, move.id, name, 'open', now)
        const verdict = judge(memory, move, now)`,
    caughtBy: onMemory('Commit', 'whatever is not saved changes nothing at all'),
  },
  {
    name: 'gate-not-checked',
    what: 'A claim takes children from behind a shut gate.',
    file: 'src/store/memory/waiting.ts',
    find: "(gate === 'open' || wait.for !== 'run' || wait.gated !== true)",
    replace: "(gate === 'open' || gate === 'shut')",
    caughtBy: onMemory('Lanes and wake-ups', 'gated children run only while their gate is open'),
  },
  {
    name: 'gate-opens-in-silence',
    what: 'Nobody is told that a gate has opened: what stood behind it waits for the next poll.',
    file: 'src/store/memory/lanes.ts',
    find: "this.#hint('work')",
    replace: '',
    caughtBy: onMemory('Signals', 'work is signalled by a gate that opens'),
  },
  {
    name: 'cancel-ignores-running-children',
    what: 'What runs in a stopped lane may still commit.',
    file: 'src/store/memory/judge.ts',
    find: " || lane.lane.status === 'stopped'",
    replace: '',
    caughtBy: onMemory('Proof', 'a commit by lease in a stopped lane is stale, from outside it is saved'),
  },
  {
    name: 'staged-children-seen',
    what: 'Children are seen and counted before their source is done: a parent believes that the first few are all.',
    file: 'src/store/memory/spawn.ts',
    find: "if (move.staging !== 'stage') memory.publish(row, now)\n    else noteWatches(memory, row)",
    replace: 'memory.publish(row, now)',
    caughtBy: onMemory('Spawning', 'staged children are not to be seen anywhere'),
  },
  {
    name: 'surplus-of-a-crash-published',
    what: 'Children that only a crashed attempt spawned appear with those of the attempt that ended.',
    file: 'src/store/memory/spawn.ts',
    find: '>= move.spawned) memory.remove(row)',
    replace: '< 0) memory.remove(row)',
    caughtBy: onMemory(
      'Spawning',
      'publishing drops staged ordinals beyond what was spawned: an earlier, longer run left them',
    ),
  },
  {
    name: 'children-doubled',
    what: 'Children have no identity of their own: a source that runs again spawns all of them a second time.',
    file: 'src/store/memory/spawn.ts',
    find: 'const existing = memory.rows.spawnedAt(move.id, birth.ordinal)',
    replace: 'const existing = undefined as Row | undefined',
    caughtBy: onMemory('Spawning', 'spawning onto an ordinal that is there leaves it alone'),
  },
  {
    name: 'respawn-reopens-what-is-done',
    what: 'A source that runs again reopens also the children that had ended well.',
    file: 'src/store/memory/spawn.ts',
    find: 'birth.respawn?.from.includes(existing.entity.state)',
    replace: 'birth.respawn',
    caughtBy: onMemory('Spawning', 'a failed child is reopened by the respawn hop, a finished one left alone'),
  },
  {
    name: 'published-uncounted',
    what: 'Staged children appear without being counted: the parent closes while they are open.',
    file: 'src/store/memory/spawn.ts',
    find: 'else memory.publish(row, now, watches?.get(laneKey(row)))',
    replace: 'else row.lane = memory.lanes.makeFor(row.entity, row.watches, now)',
    caughtBy: onMemory('Spawning', 'publishing shows and counts all that was staged, with what the move brings itself'),
  },
  {
    name: 'recount-without-the-settled',
    what: 'A recount passes over settled children, and mends right figures into wrong ones.',
    file: 'src/store/memory/recount.ts',
    find: '.filter((row) => row.lane?.lane === lane)',
    replace: '.filter((row) => row.lane?.lane === lane && !row.entity.settled)',
    caughtBy: onMemory('Lanes and wake-ups', 'a child is counted in its lane, wherever it goes'),
  },
]
