import type { Session } from './database.ts'

/** The transaction's own number, counted from where this store began. */
const position = "pg_current_xact_id()::text::int8 - (SELECT value FROM counter WHERE name = 'base')"

/**
 * The operation's row is the first that its transaction writes: whoever repeats the operation after a lost answer waits here until the
 * first attempt has ended, and finds its verdicts if it was saved. Null: it is new.
 */
export async function begin(session: Session, name: string, now: number, keptMs: number): Promise<string | null> {
  for (;;) {
    const inserted = await session.one(
      `INSERT INTO operation (position, name, at, changes) VALUES (${position}, $1, $2, '[]') ON CONFLICT (name) DO NOTHING RETURNING 1`,
      [name, now],
    )
    if (inserted) return null
    const known = await session.one('SELECT verdicts, at FROM operation WHERE name = $1', [name])
    if (known && (known[1] as number) > now - keptMs) return known[0] as string
    // Older than answers are kept: as if it had never been.
    await session.all('DELETE FROM operation WHERE name = $1', [name])
  }
}

export function end(session: Session, name: string, verdicts: string, changes: string): void {
  session.send('UPDATE operation SET verdicts = $2, changes = $3 WHERE name = $1', [name, verdicts, changes])
}

/** One that nobody repeats, for the feed only. */
export function note(session: Session, changes: string, now: number): void {
  session.send(`INSERT INTO operation (position, at, changes) VALUES (${position}, $1, $2)`, [now, changes])
}
