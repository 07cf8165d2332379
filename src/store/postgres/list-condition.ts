import type { Filter, MachineStates } from '../../store.ts'
import type { Dictionary } from './dictionary.ts'
import type { Reach } from './reach.ts'
import { isSeen } from './reading.ts'
import type { Condition } from './term.ts'

/** What a filter says, in parts: an index answers some of them, the rest is asked of each row. */
export class Conditions {
  readonly #dictionary: Dictionary
  readonly #filter: Filter

  constructor(dictionary: Dictionary, filter: Filter) {
    this.#dictionary = dictionary
    this.#filter = filter
  }

  /** What no index answers. */
  own(): readonly Condition[] {
    const { settled, machine, version, anyOf } = this.#filter
    const conditions: Condition[] = [() => isSeen]
    if (settled !== undefined) conditions.push((terms) => `settled = ${terms.add(settled)}`)
    if (machine !== undefined || version !== undefined) {
      conditions.push((terms) => {
        const parts: string[] = []
        if (machine !== undefined) parts.push(`name = ${terms.add(machine)}`)
        if (version !== undefined) parts.push(`version = ${terms.add(version)}`)
        return `machine = ANY(ARRAY(SELECT id FROM machine WHERE ${parts.join(' AND ')}))`
      })
    }
    if (anyOf !== undefined) conditions.push(ofAny(anyOf))
    return conditions
  }

  label(): readonly Condition[] {
    const { label } = this.#filter
    if (label === undefined) return []
    const positions = positionsOf(this.#dictionary, label.name)
    if (positions.size === 0) return [() => 'false']
    return [
      (terms) => {
        const value = terms.add(label.value)
        const parts = [...positions].map(
          ([position, machines]) => `(label${position} = ${value} AND ${ofMachines(machines)(terms)})`,
        )
        return `(${parts.join(' OR ')})`
      },
    ]
  }

  reason(): readonly Condition[] {
    const { reason } = this.#filter
    return reason === undefined ? [] : [(terms) => `reason = ${terms.add(reason)}`]
  }

  states(): readonly Condition[] {
    const states = this.#filter.states?.filter((state) => !state.includes('\u0000'))
    if (states === undefined) return []
    return [(terms) => `state = ANY(ARRAY(SELECT id FROM word WHERE text = ANY(${terms.add(states)}::text[])))`]
  }

  /** The lane and the states, where rows are not read by them. Subqueries that are no joins keep the order in which rows are read. */
  place(): readonly Condition[] {
    const { parent, lane } = this.#filter
    const conditions = [...this.states()]
    if (parent === null) conditions.push(() => '(SELECT parent IS NULL FROM lane WHERE lane.id = entity.lane)')
    else if (parent !== undefined)
      conditions.push((terms) => `(SELECT parent FROM lane WHERE lane.id = entity.lane) = ${terms.add(parent)}`)
    if (lane !== undefined)
      conditions.push((terms) => `(SELECT name FROM lane WHERE lane.id = entity.lane) = ${terms.add(lane)}`)
    return conditions
  }

  upTo(): readonly Condition[] {
    const { upTo } = this.#filter
    if (upTo === undefined) return []
    return [(terms) => `id <= ${terms.add(Math.floor(Math.min(upTo, Number.MAX_SAFE_INTEGER)))}`]
  }
}

/** Pairs of a machine version and a state, each as the numbers that rows keep. */
function ofAny(anyOf: readonly MachineStates[]): Condition {
  const pairs = anyOf
    .flatMap(({ machine, version, states }) => states.map((state) => ({ machine, version, state })))
    .filter(({ machine, state }) => !machine.includes('\u0000') && !state.includes('\u0000'))
  return (terms) => {
    const machines = terms.add(pairs.map(({ machine }) => machine))
    const versions = terms.add(pairs.map(({ version }) => version))
    const states = terms.add(pairs.map(({ state }) => state))
    return `(machine, state) IN (
      SELECT machine.id, word.id FROM unnest(${machines}::text[], ${versions}::int4[], ${states}::text[]) AS given (name, version, state)
      JOIN machine ON machine.name = given.name AND machine.version = given.version JOIN word ON word.text = given.state)`
  }
}

/** One for each position that the label has: each has an index of its own. */
export function labelReaches(
  dictionary: Dictionary,
  { name, value }: { readonly name: string; readonly value: string },
  where: readonly Condition[],
): readonly Reach[] {
  return [...positionsOf(dictionary, name)].map(([position, machines]) => ({
    columns: [[`label${position}`, 'text']],
    ranges: [[value]],
    where: [...where, ofMachines(machines), () => `label${position} IS NOT NULL`],
  }))
}

/** A label has its own position in each machine that declares it. */
function positionsOf(dictionary: Dictionary, label: string): ReadonlyMap<number, readonly string[]> {
  const names = [...new Set([...dictionary.machines()].map(({ name }) => name))]
  const positions = Map.groupBy(names, (name) => dictionary.labelNames(name).indexOf(label))
  positions.delete(-1)
  return positions
}

function ofMachines(names: readonly string[]): Condition {
  return (terms) => `machine = ANY(ARRAY(SELECT id FROM machine WHERE name = ANY(${terms.add(names)}::text[])))`
}
