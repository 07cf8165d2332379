import type { Criterion } from '../implementation.ts'
import { defaultLimits } from '../limits.ts'
import { type Condition, conditionOf, type Functions, functionsOf, type Setting } from './condition.ts'
import { partsOf, transitionsOf, type Workflow, type WorkflowCriterion } from './document.ts'
import { shortened } from './snake-name.ts'

/**
 * The criteria of one imported machine. What a document only names is for the user to bind by that name; whatever it spells
 * out is made into a criterion here, named after its state and transition. The same condition has one name everywhere.
 */
export class ImportedCriteria {
  readonly #setting: Setting
  readonly #taken: Set<string>
  readonly #names = new Map<string, string>()
  readonly #conditions = new Map<string, Condition>()
  readonly #nested = new Map<string, readonly string[]>()
  /** Spelt out in the document, but with something in it that cannot be judged here, and why. */
  readonly unsupported = new Map<string, string>()

  constructor(workflow: Workflow, setting: Setting) {
    const trees = Object.values(workflow.states)
      .flatMap(transitionsOf)
      .flatMap(({ criterion }) => criterion ?? [])
    this.#taken = new Set(trees.flatMap(functionsOf))
    this.#setting = setting
  }

  /** The names that together stand for a criterion: first what is judged here, then what is only named. */
  namesOf(criterion: WorkflowCriterion | null | undefined, label: string): readonly string[] {
    if (!criterion) return []
    const parts = flattened(criterion)
    const named = parts.flatMap((part) => (part.type === 'function' ? part.function.name : []))
    const spelt = parts.filter((part) => part.type !== 'function')
    const [first, ...others] = spelt
    if (!first) return named
    const whole = others.length > 0 ? ({ type: 'group', operator: 'AND', conditions: spelt } as const) : first
    return [this.#named(whole, label), ...named]
  }

  #named(criterion: WorkflowCriterion, label: string): string {
    const key = JSON.stringify(criterion)
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const base = shortened(label, defaultLimits.nameMax - 10)
    let name = base
    for (let count = 2; this.#taken.has(name); count += 1) name = `${base}.${count}`
    this.#taken.add(name)
    this.#names.set(key, name)
    const condition = conditionOf(criterion, this.#setting)
    if ('unsupported' in condition) {
      this.unsupported.set(name, condition.unsupported)
    } else {
      this.#conditions.set(name, condition)
      this.#nested.set(name, functionsOf(criterion))
    }
    return name
  }

  /** Leaves only what the finished machine names. */
  keep(names: ReadonlySet<string>): void {
    for (const name of [...this.#conditions.keys()].filter((name) => !names.has(name))) this.#conditions.delete(name)
  }

  /** Functions that conditions ask: the machine itself need not name them. */
  get nested(): readonly string[] {
    return [...new Set([...this.#conditions.keys()].flatMap((name) => this.#nested.get(name) ?? []))]
  }

  has(name: string): boolean {
    return this.#conditions.has(name)
  }

  /** Those that need no function, ready to be bound. */
  ready(): Readonly<Record<string, Criterion>> {
    const alone = [...this.#conditions].filter(([name]) => this.#nested.get(name)?.length === 0)
    return Object.fromEntries(alone.map(([name, condition]) => [name, condition({})]))
  }

  /** All that are made here, with the functions that they ask. */
  with(functions: Functions): Readonly<Record<string, Criterion>> {
    return Object.fromEntries([...this.#conditions].map(([name, condition]) => [name, condition(functions)]))
  }
}

/** What must all hold. A quick exit is one condition more. */
function flattened(criterion: WorkflowCriterion): readonly WorkflowCriterion[] {
  if (criterion.type === 'group' && criterion.operator === 'AND') return partsOf(criterion).flatMap(flattened)
  return criterion.type === 'function' ? [...partsOf(criterion).flatMap(flattened), criterion] : [criterion]
}
