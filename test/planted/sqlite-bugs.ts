import { type Bug, inUnit, onSqlite } from './bug.ts'
import { inCrash } from './crash-deaths.ts'

/** The same mistakes where they would be made in SQL, and those that only a file and several processes make possible. */
export const sqliteBugs: readonly Bug[] = [
  {
    name: 'sqlite-epoch-not-in-the-fence',
    what: 'A commit proves its seq alone: whoever lost the lease still writes.',
    file: 'src/store/sqlite/judge.ts',
    find: 'row.epoch !== move.epoch || ',
    replace: '',
    caughtBy: onSqlite('Proof', 'by lease: another epoch or seq, lower or higher, is stale and changes nothing'),
  },
  {
    name: 'sqlite-release-by-worker-name',
    what: 'A lease is given back for its worker, whatever the epoch.',
    file: 'src/store/sqlite/leases.ts',
    find: 'id = ? AND epoch = ? AND line < 0',
    replace: 'id = ? AND (epoch = ? OR TRUE) AND line < 0',
    caughtBy: onSqlite('Lease', 'give_back frees only where owner and epoch still fit'),
  },
  {
    name: 'sqlite-release-keeps-the-epoch',
    what: 'A lease ends without a new epoch: whoever had it still writes.',
    file: 'src/store/sqlite/leases.ts',
    find: 'row.epoch += 1',
    replace: '',
    caughtBy: onSqlite('Proof', 'release dead raises the epoch: a commit that comes late is stale'),
  },
  {
    name: 'sqlite-lease-revived',
    what: 'A worker renews its lease after it has expired.',
    file: 'src/store/sqlite/leases.ts',
    find: 'WHERE id = ? AND expires_at > ?',
    replace: 'WHERE id = ? AND (expires_at > ? OR TRUE)',
    caughtBy: onSqlite('Lease', 'a lost lease is lost for ever: no renewal, no sweep and no clock brings it back'),
  },
  {
    name: 'sqlite-expiry-by-the-worker-s-clock',
    what: 'Each process judges time by its own clock, whatever the file knows: one that is behind revives the past.',
    file: 'src/store/sqlite/ledger.ts',
    find: 'Math.max(this.#latestTime, noted, this.feed.latestTime())',
    replace: 'this.#latestTime',
    caughtBy: onSqlite('Time', 'a restart under a clock that was set back does not step back'),
  },
  {
    name: 'sqlite-operation-forgotten',
    what: 'An operation that is repeated after a lost answer is judged anew.',
    file: 'src/store/sqlite/commit.ts',
    find: 'if (known !== null) return verdictsOf(known)',
    replace: '',
    caughtBy: onSqlite(
      'Commit',
      'a repeat of the operation returns the first verdicts and changes nothing, whatever moves are given',
    ),
  },
  {
    name: 'sqlite-other-processes-not-noticed',
    what: 'What a process has read before is trusted, although another process has changed it since.',
    file: 'src/store/sqlite/database.ts',
    find: 'if (version === this.#version) return',
    replace: 'if (this.#version !== -1) return',
    caughtBy: onSqlite('Several processes', 'a gate that one opens lets the other claim'),
  },
  {
    name: 'sqlite-leading-line-stays-in-front',
    what: 'A claim over many lines goes on with the one that led, past what stands before it in others.',
    file: 'src/store/sqlite/line-reader.ts',
    find: 'if (head && (!next || isBefore(head, next))) return',
    replace: 'if (head) return',
    caughtBy: onSqlite('Lines', 'many large lanes share each claim by rank, whichever of them leads'),
  },
  {
    name: 'sqlite-cancel-ignores-running-children',
    what: 'What runs in a stopped lane may still commit.',
    file: 'src/store/sqlite/judge.ts',
    find: "if (ledger.lanes.byId(row.lane).lane.status === 'stopped') return true",
    replace: '',
    caughtBy: onSqlite('Proof', 'a commit by lease in a stopped lane is stale, from outside it is saved'),
  },
  {
    name: 'sqlite-children-move-on-an-old-count',
    what: 'A parent moves on counts that have changed since it read them.',
    file: 'src/store/sqlite/judge.ts',
    find: 'ledger.lanes.current(lane).wake > wake',
    replace: 'ledger.lanes.current(lane).wake < 0',
    caughtBy: onSqlite(
      'Lanes and wake-ups',
      'a move that read an older wake number is stale; a saved one has seen what it read',
    ),
  },
  {
    name: 'sqlite-parent-woken-in-silence',
    what: 'Nobody is told that the last child has ended: its parent waits for the next poll.',
    file: 'src/store/sqlite/lanes.ts',
    find: "if (lane.wake > row.lane.wake && row.awaited) this.#hint('due')",
    replace: '',
    caughtBy: onSqlite('Signals', 'due is signalled by the last child of a parent that waits'),
  },
  {
    name: 'sqlite-children-doubled',
    what: 'What a source spawned before is not found: the whole move is refused or its children are doubled.',
    file: 'src/store/sqlite/spawn.ts',
    find: 'const old = existing.get(birth.ordinal)',
    replace: 'const old = undefined as EntityRow | undefined',
    caughtBy: onSqlite('Spawning', 'spawning onto an ordinal that is there leaves it alone'),
  },
  {
    name: 'sqlite-pool-unit-leaked',
    what: 'The unit that a claim took stays taken when its lease ends.',
    file: 'src/store/sqlite/leases.ts',
    find: 'endUnits(ledger, row)\n',
    replace: '\n',
    caughtBy: onSqlite('Pools', 'the unit of a claim lasts as long as the lease: giving back gives it back'),
  },
  {
    name: 'sqlite-claim-without-history',
    what: 'The hops that a claim takes are not in the history.',
    file: 'src/store/sqlite/claim.ts',
    find: '?1, ?2, ?3 FROM entity WHERE',
    replace: '?1, ?2, ?3 FROM entity WHERE FALSE AND',
    caughtBy: onSqlite('Proof', 'a claim raises the epoch by one; its hops are one move of cause claim'),
  },
  {
    name: 'sqlite-feed-skips',
    what: 'A reader that has come to the end of the feed is led past the next operation.',
    file: 'src/store/sqlite/feed.ts',
    find: '? (found + 1) * span',
    replace: '? (found + 2) * span',
    caughtBy: onSqlite('History and feed', 'a feed read in small pages is the feed read at once'),
  },
  {
    name: 'sqlite-answered-before-the-commit',
    what: 'The answer goes out before the transaction is committed: a crash in between loses what was acknowledged.',
    file: 'src/store/sqlite/database.ts',
    find: 'this.#connection.exec(sql)',
    // Only the first of a process, which makes the tables, is spared.
    replace: `const isFirst = sql === 'COMMIT' && !globalThis.hasCommitted
    if (isFirst) globalThis.hasCommitted = true
    if (sql === 'COMMIT' && !isFirst) {
      setTimeout(() => this.#connection.isOpen && this.#connection.isTransaction && this.#connection.exec(sql), 2_000)
      return
    }
    if (sql.startsWith('BEGIN') && this.#connection.isTransaction) return
    this.#connection.exec(sql)`,
    caughtBy: inCrash,
  },
  {
    name: 'sqlite-synchronous-normal',
    what: 'The log is not synced before the answer: a power failure loses what was acknowledged.',
    file: 'src/store/sqlite/database.ts',
    find: 'PRAGMA synchronous = FULL',
    replace: 'PRAGMA synchronous = NORMAL',
    caughtBy: inUnit(
      'src/store/sqlite/durability.test.ts',
      'every connection writes ahead and syncs the log at each commit',
    ),
  },
]
