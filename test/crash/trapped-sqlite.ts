import { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Trap } from './trap.ts'

/**
 * Puts points into the transactions of every SQLite connection of this thread, by replacing methods of Node's own classes:
 * the product has no hook for it. Also keeps the settings that the store asks of SQLite, so that a test can read them.
 */
export function trapSqlite(trap: Trap): { readonly settings: readonly string[] } {
  const settings: string[] = []
  let writing = false
  let migrating = false

  const passStatement = (sql: string) => {
    if (!writing) return
    if (/\bcreate\s+table\b/i.test(sql)) migrating = true
    trap.pass(migrating ? 'migration:statement' : 'statement:after')
  }

  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    const isBegin = /^\s*begin\s+(immediate|exclusive)/i.test(sql)
    const isEnd = /^\s*(commit|end)\b/i.test(sql)
    if (/^\s*pragma\s/i.test(sql)) settings.push(sql.trim())
    if (isEnd && writing) trap.pass(migrating ? 'migration:statement' : 'transaction:before')
    exec.call(this, sql)
    if (isBegin) {
      writing = true
      migrating = false
      trap.pass('begin:after')
    } else if (isEnd && writing) {
      writing = false
      if (!migrating) trap.pass('transaction:after')
    } else if (/^\s*rollback/i.test(sql)) writing = false
    else passStatement(sql)
  }

  // `iterate` is left alone: it hands out rows one by one and changes nothing.
  for (const name of ['run', 'get', 'all'] as const) {
    const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown
    const replacement = function (this: StatementSync, ...values: unknown[]) {
      const result = original.apply(this, values)
      passStatement(this.sourceSQL)
      return result
    }
    Object.defineProperty(StatementSync.prototype, name, { value: replacement, configurable: true, writable: true })
  }
  return { settings }
}
