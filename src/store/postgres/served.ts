import type { ClaimRun } from '../../store.ts'
import type { Session, Value } from './database.ts'
import type { Dictionary } from './dictionary.ts'
import { type Line, lineColumns, lineOf, newLine, type Run, runKey } from './line.ts'

/** One kind of waiting that the claim serves, in the numbers of the store. */
export interface Served extends Run {
  readonly run: ClaimRun
}

export function servedOf(dictionary: Dictionary, runs: readonly ClaimRun[]): readonly Served[] {
  const served = new Map<string, Served>()
  for (const run of runs) {
    const machine = dictionary.machine(run.machine, run.version).id
    const edge = run.edge === null ? 0 : dictionary.word(run.edge)
    const one: Served = { machine, state: dictionary.word(run.state), edge, run }
    if (!served.has(runKey(one))) served.set(runKey(one), one)
  }
  return [...served.values()]
}

/** The same for claims that serve the same. */
export function keyOf(served: readonly Served[]): string {
  return served.map(runKey).join(' ')
}

/** The lines that a claim must look at: those shared by all, and of the others what is neither shut nor idle. */
export async function linesOf(session: Session, served: readonly Served[]): Promise<readonly Line[]> {
  const found = await session.all(all, valuesOfServed(served))
  return found.map(lineOf)
}

const all = linesServed(lineColumns, 1)

/** The same within a statement, which has the values from this parameter on. */
export function linesServed(columns: string, parameter: number): string {
  const [shared, machines, states, edges] = [0, 1, 2, 3].map((index) => `$${parameter + index}`)
  return `SELECT ${columns} FROM line WHERE name = ANY(${shared}::text[])
     UNION ALL SELECT own.* FROM unnest(${machines}::int4[], ${states}::int4[], ${edges}::int4[]) AS r (machine, state, edge)
     CROSS JOIN LATERAL (SELECT ${columns} FROM line
       WHERE line.machine = r.machine AND line.state = r.state AND line.edge = r.edge AND NOT shut AND NOT idle AND kind <> 'shared') own`
}

export function valuesOfServed(served: readonly Served[]): readonly Value[] {
  const shared = served.flatMap((run) =>
    [false, true].map((suspect) => newLine('shared', run, { suspect }, false).name),
  )
  return [
    shared,
    served.map(({ machine }) => machine),
    served.map(({ state }) => state),
    served.map(({ edge }) => edge),
  ]
}
