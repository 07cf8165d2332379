import type { Records, Section } from '../transfer.ts'

/** All fields of a record, in the order in which a line has them. Written so that none can be forgotten. */
type Fields<Name extends Section> = Readonly<Record<keyof Records[Name], true>>

const fields: { readonly [Name in Section]: Fields<Name> } = {
  machines: { name: true, version: true, digest: true, labels: true, declaration: true },
  lanes: {
    ...{ parent: true, name: true, machine: true, version: true, counts: true, total: true, open: true },
    ...{ reasons: true, sums: true, wake: true, seen: true, watches: true, entered: true, gate: true },
    ...{ status: true, awaited: true, hidden: true },
  },
  stagings: { source: true, births: true, lanes: true },
  entities: {
    ...{ id: true, machine: true, version: true, state: true, born: true, seq: true, epoch: true },
    ...{ generation: true, settled: true, attempts: true, suspect: true, parent: true, lane: true, source: true },
    ...{ ordinal: true, staged: true, labels: true, priority: true, wait: true, request: true, spawned: true },
    ...{ checkpoint: true, progress: true, reason: true, sums: true, error: true, key: true, standing: true },
    ...{ shares: true, createdAt: true, createdBy: true, changedAt: true, data: true },
  },
  history: {
    ...{ entity: true, seq: true, epoch: true, generation: true, at: true, cause: true, hops: true },
    ...{ actor: true, role: true, reason: true, requestId: true, error: true },
  },
  holds: { id: true, scope: true, reason: true, owner: true, until: true, since: true, by: true, ended: true },
  past_holds: { id: true, scope: true, reason: true, owner: true, until: true, since: true, by: true, ended: true },
  pools: { name: true, ceiling: true, taken: true, turns: true },
  shares: { pool: true, entity: true, amount: true, turn: true },
  tombstones: {
    ...{ id: true, machine: true, version: true, state: true, key: true, data: true, lanes: true },
    ...{ createdAt: true, purgedAt: true },
  },
  operations: { name: true, at: true, verdicts: true, changes: true },
}

type Names = { readonly [Name in Section]: readonly (keyof Records[Name] & string)[] }

const names = Object.fromEntries(
  Object.entries(fields).map(([section, own]) => [section, Object.keys(own)]),
) as unknown as Names

/** The same text for the same record, whichever store has told it. */
export function lineOf<Name extends Section>(section: Name, record: Records[Name]): string {
  return JSON.stringify(names[section].map((name) => record[name]))
}

/** How a person finds the record: its key. */
export function nameOf<Name extends Section>(section: Name, record: Records[Name]): string {
  return namers[section](record)
}

/** The first field in which two records differ; null: they are the same. */
export function differenceOf<Name extends Section>(
  section: Name,
  one: Records[Name],
  other: Records[Name],
): { readonly field: string; readonly one: string; readonly other: string } | null {
  for (const field of names[section]) {
    const [first, second] = [JSON.stringify(one[field]), JSON.stringify(other[field])]
    if (first !== second) return { field, one: first, other: second }
  }
  return null
}

const namers: { readonly [Name in Section]: (record: Records[Name]) => string } = {
  machines: ({ name, version }) => `machine ${name} version ${version}`,
  lanes: ({ parent, name }) => (parent === null ? `the lane ${name} of the roots` : `the lane ${name} of ${parent}`),
  stagings: ({ source }) => `what ${source} has staged`,
  entities: ({ id }) => `entity ${id}`,
  history: ({ entity, seq }) => `move ${seq} of entity ${entity}`,
  holds: ({ id }) => `hold ${id}`,
  past_holds: ({ id }) => `hold ${id}`,
  pools: ({ name }) => `pool ${name}`,
  shares: ({ pool, entity }) => `the share of entity ${entity} in pool ${pool}`,
  tombstones: ({ id }) => `the tombstone of ${id}`,
  operations: ({ name, at }) => (name === null ? `an operation of the time ${at}` : `operation ${name}`),
}
