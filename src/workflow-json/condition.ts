import type { Criterion, Facts, View } from '../implementation.ts'
import {
  type ArrayCriterion,
  type GroupCriterion,
  type LifecycleCriterion,
  operationOf,
  partsOf,
  type SimpleCriterion,
  type WorkflowCriterion,
} from './document.ts'
import { parseJsonPath, valuesAt } from './json-path.ts'
import { compareValues, testOf, type Unsupported } from './operator.ts'
import { valueText } from './plain-json.ts'

/** Criteria that a document only names. */
export type Functions = Readonly<Record<string, Criterion>>

/** Makes the criterion, once the functions that it asks are known. */
export type Condition = (functions: Functions) => Criterion

/** What a condition has to know of its machine. */
export interface Setting {
  /** The state as the document calls it. */
  readonly stateName: (state: string) => string
}

/** A criterion tree as a function that says why it does not hold; or why it cannot be judged here. */
export function conditionOf(criterion: WorkflowCriterion, setting: Setting): Condition | Unsupported {
  switch (criterion.type) {
    case 'simple':
      return simple(criterion)
    case 'array':
      return array(criterion)
    case 'lifecycle':
      return lifecycle(criterion, setting)
    case 'group':
      return group(criterion, setting)
    case 'function': {
      const { name, criterion: first } = criterion.function
      const asked: Condition = (functions) => functions[name] ?? (() => `${name} is not bound`)
      if (!first) return asked
      const quick = conditionOf(first, setting)
      return 'unsupported' in quick ? quick : all([quick, asked])
    }
    default:
      return criterion satisfies never
  }
}

/** The functions that a tree asks by name. */
export function functionsOf(criterion: WorkflowCriterion): readonly string[] {
  const own = criterion.type === 'function' ? [criterion.function.name] : []
  return [...new Set([...own, ...partsOf(criterion).flatMap(functionsOf)])]
}

function simple(criterion: SimpleCriterion): Condition | Unsupported {
  const path = parseJsonPath(criterion.jsonPath)
  if (!path) return { unsupported: `${criterion.jsonPath} is no path of the kind $.name.list[0].list[*]` }
  const test = testOf(operationOf(criterion), criterion.value)
  if ('unsupported' in test) return test
  // Over a list one element that matches is enough.
  return leaf(criterion, ({ data }) => valuesAt(data, path), test)
}

/** Position by position, and null leaves a position open: the platforms know no other operation on lists. */
function array(criterion: ArrayCriterion): Condition | Unsupported {
  const path = parseJsonPath(criterion.jsonPath.replace(/\[\*\]$/, ''))
  if (!path) return { unsupported: `${criterion.jsonPath} is no path of the kind $.name.list[0].list[*]` }
  const test = (stored: unknown): boolean =>
    Array.isArray(stored) &&
    criterion.value.every((wanted, index) => wanted === null || compareValues(stored[index], wanted) === 0)
  return leaf(criterion, ({ data }) => valuesAt(data, path), test)
}

const timeOperators: readonly string[] = [
  ...['EQUALS', 'NOT_EQUAL', 'GREATER_THAN', 'LESS_THAN', 'GREATER_OR_EQUAL', 'LESS_OR_EQUAL'],
  ...['BETWEEN', 'BETWEEN_INCLUSIVE', 'IS_NULL', 'NOT_NULL'],
]

function lifecycle(criterion: LifecycleCriterion, { stateName }: Setting): Condition | Unsupported {
  const operation = operationOf(criterion)
  const isTime = criterion.field === 'creationDate' || criterion.field === 'lastUpdateTime'
  if (isTime && !timeOperators.includes(operation)) {
    return { unsupported: `${operation} is no operator for ${criterion.field}, which is a time` }
  }
  const test = testOf(operation, isTime ? instants(criterion.value) : criterion.value)
  if ('unsupported' in test) return test
  switch (criterion.field) {
    case 'state':
      return leaf(criterion, ({ state }) => [stateName(state)], test)
    case 'id':
      return leaf(criterion, ({ id }) => [String(id)], test)
    case 'creationDate':
      return leaf(criterion, ({ createdAt }) => [new Date(createdAt).toISOString()], test)
    case 'lastUpdateTime':
      return leaf(criterion, ({ changedAt }) => [new Date(changedAt).toISOString()], test)
    default:
      return { unsupported: `the lifecycle field ${criterion.field} is not known to criteria here` }
  }
}

const coarse = /^\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?)?)?$/

/** `2026`, `2026-09` and times without an offset stand for their first moment in UTC. */
function instants(operand: unknown): unknown {
  if (Array.isArray(operand)) return operand.map(instants)
  if (typeof operand !== 'string' || !coarse.test(operand)) return operand
  const at = Date.parse(operand.includes('T') ? `${operand}Z` : operand)
  return Number.isNaN(at) ? operand : new Date(at).toISOString()
}

function group({ operator, conditions }: GroupCriterion, setting: Setting): Condition | Unsupported {
  const parts: Condition[] = []
  for (const condition of conditions) {
    const part = conditionOf(condition, setting)
    if ('unsupported' in part) return part
    parts.push(part)
  }
  switch (operator) {
    case 'AND':
      return all(parts)
    case 'OR':
      return some(parts)
    case 'NOT': {
      const [part, ...others] = parts
      // "Not both" and "neither" differ: nothing says which was meant.
      if (!part || others.length > 0) return { unsupported: `NOT needs exactly one condition; it has ${parts.length}` }
      return not(part, cut(criterionText(conditions[0]!), 200))
    }
    default:
      return operator satisfies never
  }
}

function leaf(
  criterion: SimpleCriterion | ArrayCriterion | LifecycleCriterion,
  values: (entity: View) => readonly unknown[],
  test: (stored: unknown) => boolean,
): Condition {
  const [what, expected] = leafText(criterion)
  return () => (entity) => {
    const found = values(entity)
    if (found.some(test)) return true
    return `${what} is ${found.length === 1 ? valueText(found[0]) : valueText(found)}, expected ${expected}`
  }
}

function all(parts: readonly Condition[]): Condition {
  return (functions) => {
    const criteria = parts.map((part) => part(functions))
    return (entity, facts) => {
      for (const criterion of criteria) {
        const refusal = refusalOf(criterion, entity, facts)
        if (refusal !== null) return refusal
      }
      return true
    }
  }
}

function some(parts: readonly Condition[]): Condition {
  return (functions) => {
    const criteria = parts.map((part) => part(functions))
    return (entity, facts) => {
      const refusals: string[] = []
      for (const criterion of criteria) {
        const refusal = refusalOf(criterion, entity, facts)
        if (refusal === null) return true
        refusals.push(refusal)
      }
      return cut(refusals.join('; and '), 1_000)
    }
  }
}

function not(part: Condition, said: string): Condition {
  return (functions) => {
    const criterion = part(functions)
    return (entity, facts) => refusalOf(criterion, entity, facts) !== null || `it holds that ${said}, expected that not`
  }
}

function refusalOf(criterion: Criterion, entity: View, facts: Facts): string | null {
  const verdict = criterion(entity, facts)
  if (verdict === true) return null
  return verdict === false ? 'a criterion does not hold' : verdict
}

/** Trees may be big; a reason is for people. */
function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).toWellFormed()}…`
}

function leafText(criterion: SimpleCriterion | ArrayCriterion | LifecycleCriterion): readonly [string, string] {
  const what = criterion.type === 'lifecycle' ? criterion.field : criterion.jsonPath
  const operation = criterion.type === 'array' ? 'EQUALS' : operationOf(criterion)
  return [what, criterion.value === undefined ? operation : `${operation} ${valueText(criterion.value)}`]
}

/** One line for people. */
export function criterionText(criterion: WorkflowCriterion): string {
  switch (criterion.type) {
    case 'simple':
    case 'array':
    case 'lifecycle':
      return leafText(criterion).join(' ')
    case 'function':
      return criterion.function.name
    case 'group': {
      const parts = criterion.conditions.map(criterionText)
      return criterion.operator === 'NOT' ? `NOT (${parts.join(', ')})` : `(${parts.join(` ${criterion.operator} `)})`
    }
    default:
      return criterion satisfies never
  }
}
