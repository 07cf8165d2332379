import { SluiceError } from 'sluice/errors'
import { type ItemType, itemTypes } from '../hn-item.ts'

export const sortKeys = ['time', 'score', 'relevance'] as const
export type SortKey = (typeof sortKeys)[number]
export const sortOrders = ['desc', 'asc'] as const
export type SortOrder = (typeof sortOrders)[number]

export interface SearchQuery {
  readonly types?: readonly ItemType[]
  readonly author?: string
  readonly minScore?: number
  readonly maxScore?: number
  /** Unix time in seconds; both ends count in. */
  readonly fromTime?: number
  readonly toTime?: number
  /** Words and "quoted phrases" of title and text that must all occur; a word with * at its end stands for what begins so. */
  readonly text?: string
  /** Only what answers this item. */
  readonly parentId?: number
  /** With parentId: also the answers to the answers, down to maxDepth. */
  readonly includeDescendants?: boolean
  readonly maxDepth?: number
  /** Only what answers nothing. */
  readonly rootItemsOnly?: boolean
  /** Default: relevance with text, otherwise time. What has no time or no score counts as lowest. */
  readonly sortBy?: SortKey
  /** Default: desc. */
  readonly sortOrder?: SortOrder
  /** Default: 20. */
  readonly limit?: number
  /** `next` of the page before, with all other fields as they were. */
  readonly after?: string
}

export const limitDefault = 20
export const limitMax = 1_000
export const depthDefault = 100
export const depthMaximum = 1_000
const authorCharactersMax = 1_000

/** A query whose values make sense, with its defaults filled in. */
export type CheckedQuery = SearchQuery & Required<Pick<SearchQuery, 'sortBy' | 'sortOrder' | 'limit' | 'maxDepth'>>

type Rule = (value: unknown) => boolean

const isWhole: Rule = (value) => Number.isSafeInteger(value)
const isFlag: Rule = (value) => typeof value === 'boolean'
const isText: Rule = (value) => typeof value === 'string'
const isOneOf =
  (values: readonly string[]): Rule =>
  (value) =>
    values.includes(value as string)
const isWholeFrom =
  (low: number, high: number): Rule =>
  (value) =>
    isWhole(value) && (value as number) >= low && (value as number) <= high
const isTypes: Rule = (value) => Array.isArray(value) && value.length > 0 && value.every(isOneOf(itemTypes))
const isAuthor: Rule = (value) => isText(value) && value !== '' && (value as string).length <= authorCharactersMax

const wholeNumber = [isWhole, 'a whole number'] as const
const flag = [isFlag, 'true or false'] as const

const rules: Readonly<Record<keyof SearchQuery, readonly [Rule, string]>> = {
  types: [isTypes, `a list of at least one of ${itemTypes.join(', ')}`],
  author: [isAuthor, `a name of 1 to ${authorCharactersMax} characters`],
  minScore: wholeNumber,
  maxScore: wholeNumber,
  fromTime: [isWhole, 'a time in whole seconds since 1970'],
  toTime: [isWhole, 'a time in whole seconds since 1970'],
  text: [isText, 'a text'],
  parentId: [isWholeFrom(0, Number.MAX_SAFE_INTEGER), 'the id of an item'],
  includeDescendants: flag,
  maxDepth: [isWholeFrom(1, depthMaximum), `a whole number from 1 to ${depthMaximum}`],
  rootItemsOnly: flag,
  sortBy: [isOneOf(sortKeys), `one of ${sortKeys.join(', ')}`],
  sortOrder: [isOneOf(sortOrders), `one of ${sortOrders.join(', ')}`],
  limit: [isWholeFrom(1, limitMax), `a whole number from 1 to ${limitMax}`],
  after: [isText, 'the `next` of a page'],
}

/** Queries come from outside: each value is checked, whatever the types say. */
export function checkQuery(query: SearchQuery): CheckedQuery {
  for (const [field, value] of Object.entries(query)) {
    if (value === undefined) continue
    if (!Object.hasOwn(rules, field))
      throw refused(field, `there is no field ${field}; there are ${Object.keys(rules).join(', ')}`)
    const [holds, expected] = rules[field as keyof SearchQuery]
    if (!holds(value)) throw refused(field, `${field} must be ${expected}; it was ${shown(value)}`)
  }
  const { text, parentId, includeDescendants, maxDepth, rootItemsOnly } = query
  const sortBy = query.sortBy ?? (text === undefined ? 'time' : 'relevance')
  if (sortBy === 'relevance' && text === undefined)
    throw refused('sortBy', 'sortBy can be relevance only with text; without it nothing is more relevant')
  if (includeDescendants && parentId === undefined)
    throw refused('includeDescendants', 'includeDescendants needs parentId: the descendants of what?')
  if (maxDepth !== undefined && !includeDescendants)
    throw refused('maxDepth', 'maxDepth needs includeDescendants; without it only direct answers are found')
  if (rootItemsOnly && parentId !== undefined)
    throw refused('rootItemsOnly', 'rootItemsOnly excludes parentId: what answers something is no root')
  const { sortOrder = 'desc', limit = limitDefault } = query
  return { ...query, sortBy, sortOrder, limit, maxDepth: maxDepth ?? depthDefault }
}

export function refused(field: string, why: string): SluiceError {
  return new SluiceError('invalid', `The search cannot be made: ${why}.`, { field })
}

function shown(value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}
