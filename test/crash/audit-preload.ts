import { appendFileSync } from 'node:fs'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { threadId } from 'node:worker_threads'

/**
 * Loaded into every thread of a process before anything else. Whenever a connection has written, it is asked, and nobody
 * else, how it writes: another connection to the same file would answer for itself.
 */
export interface WriteSetting {
  readonly thread: number
  readonly synchronous: number
  readonly journal: string
  readonly checkpointFullSync: number
}

const file = process.env.SLUICE_AUDIT_FILE ?? ''
const run = StatementSync.prototype.run
const exec = DatabaseSync.prototype.exec

DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  const isWrite = /^\s*(commit|end)\b/i.test(sql)
  if (isWrite) audit(this)
  exec.call(this, sql)
}

StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
  if (/^\s*commit\b/i.test(this.sourceSQL)) throw new Error('The audit sees COMMIT by exec only: teach it the new way.')
  return run.apply(this, values)
} as typeof run

function audit(connection: DatabaseSync): void {
  const ask = (name: string) => Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  const setting: WriteSetting = {
    thread: threadId,
    synchronous: Number(ask('synchronous')),
    journal: String(ask('journal_mode')),
    checkpointFullSync: Number(ask('checkpoint_fullfsync')),
  }
  appendFileSync(file, `${JSON.stringify(setting)}\n`)
}
