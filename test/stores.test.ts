import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore } from '../src/store/memory/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import type { Open } from '../src/testing/index.ts'
import { conformance, differential } from '../src/testing/index.ts'

const memory: Open = async ({ clock, limits = {} }) => {
  const store = memoryStore({ clock, limits })
  return { store, reopen: async () => store, close: () => store.close() }
}

/** Lets other transactions in wherever a database would. */
const yieldingMemory: Open = async ({ clock, limits = {} }) => {
  const yields = () => new Promise<void>((resolve) => (clock.random() < 0.5 ? resolve() : clock.soon(resolve)))
  const store = memoryStore({ clock, limits, yields })
  return { store, reopen: async () => store, close: () => store.close() }
}

const sqlite: Open = async ({ clock, limits = {} }) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-stores-'))
  const file = join(folder, 'sluice.db')
  const store = sqliteStore({ file, clock, limits })
  const handles = [store]
  return {
    store,
    async reopen(ownClock = clock) {
      const other = sqliteStore({ file, clock: ownClock, limits })
      handles.push(other)
      return other
    },
    written: () => store.rowsWritten(),
    async damage({ parent, name, counts, total, open, reasons, sums }) {
      const database = new DatabaseSync(file)
      database
        .prepare('UPDATE lane SET counts = ?, total = ?, open = ?, reasons = ?, sums = ? WHERE parent = ? AND name = ?')
        .run(JSON.stringify(counts), total, open, JSON.stringify(reasons), JSON.stringify(sums), parent, name)
      database.close()
    },
    async close() {
      for (const handle of handles) await handle.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

conformance('memory', memory)
conformance('memory, yielding', yieldingMemory)
conformance('sqlite', sqlite)
differential('memory and sqlite', memory, sqlite)
