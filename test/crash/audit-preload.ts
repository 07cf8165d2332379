import { appendFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { threadId } from 'node:worker_threads'

/**
 * Loaded into every thread of a process before anything else. Whenever a connection is about to commit, it is asked, and
 * nobody else, how it writes: another connection to the same file would answer for itself.
 */
export interface WriteSetting {
  readonly thread: number
  readonly synchronous: number
  readonly journal: string
}

/** The report's path is part of the address by which this module was imported: every thread has it. */
const report = new URL(import.meta.url).searchParams.get('report') ?? ''
const exec = DatabaseSync.prototype.exec
const writing = new WeakSet<DatabaseSync>()

DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  const isEnd = /^\s*(commit|end)\b/i.test(sql)
  if (isEnd && writing.has(this)) audit(this)
  exec.call(this, sql)
  if (/^\s*begin\s+(immediate|exclusive)/i.test(sql)) writing.add(this)
  else if (isEnd || /^\s*rollback\b/i.test(sql)) writing.delete(this)
}

function audit(connection: DatabaseSync): void {
  const ask = (name: string) => Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  const setting: WriteSetting = {
    thread: threadId,
    synchronous: Number(ask('synchronous')),
    journal: String(ask('journal_mode')),
  }
  appendFileSync(report, `${JSON.stringify(setting)}\n`)
}
