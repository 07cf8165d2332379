import type { Database } from './database.ts'
import { type Line, lineColumns, lineOf, newLine, type Run } from './line.ts'

/** Thrown where a line is needed that this process has not seen: it is made, and the work begins anew. */
export class UnknownLine extends Error {
  readonly run: Run
  readonly suspect: boolean

  constructor(run: Run, suspect: boolean) {
    super('A line is not known yet.')
    this.run = run
    this.suspect = suspect
  }
}

/** Lines that all of one machine, state and edge share. They are made once, in a transaction of their own, and never change. */
export class SharedLines {
  readonly #database: Database
  readonly #lines = new Map<string, Line>()

  constructor(database: Database) {
    this.#database = database
  }

  of(run: Run, suspect: boolean): Line {
    const known = this.#lines.get(keyOf(run, suspect))
    if (!known) throw new UnknownLine(run, suspect)
    return known
  }

  async learn({ run, suspect }: UnknownLine): Promise<void> {
    const line = newLine('shared', run, { suspect }, false)
    await this.#database.single(async (session) => {
      session.send(
        `INSERT INTO line (name, kind, suspect, machine, state, edge, gated, holdable, shut, idle)
         VALUES ($1, 'shared', $2, $3, $4, $5, false, false, false, false) ON CONFLICT (name) DO NOTHING`,
        [line.name, suspect, run.machine, run.state, run.edge],
      )
      const row = await session.one(`SELECT ${lineColumns} FROM line WHERE name = $1`, [line.name])
      this.#lines.set(keyOf(run, suspect), lineOf(row!))
    })
  }
}

function keyOf({ machine, state, edge }: Run, suspect: boolean): string {
  return `${machine}/${state}/${edge}/${suspect ? 1 : 0}`
}
