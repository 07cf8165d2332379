import { messageOf, SluiceError } from '../../errors.ts'
import type { HoldScope } from '../../hold.ts'
import { type Reference, referenceOf, Words } from './words.ts'

/**
 * The scenario language, one sentence a line. Empty lines and what follows a `#` at the beginning of a word are skipped.
 *
 *     submit MACHINE [DATA] [as NAME] [in STATE] [key TEXT] [priority NUMBER] [by WHO]
 *     act ENTITY ACTION [to STATE] [with DATA] [by WHO] [because TEXT]
 *     hold [entity ENTITY] [children ENTITY] [machine NAME] [state NAME] [label NAME VALUE] as NAME [by WHO] [because TEXT] [for DURATION]
 *     release NAME                      lifts that hold
 *     prioritise ENTITY NUMBER
 *     drain [within DURATION]           until nothing moves by itself any more
 *     after DURATION                    lets virtual time pass
 *     crash [NUMBER]                    kills all engines, or one
 *     crash before|after PROCESSOR      kills the engine that is next about to run it, or has run it and not committed
 *     restart
 *
 *     ENTITY: STATE [because TEXT]      is there now; its reason or error contains the text
 *     ENTITY: STATE -> STATE -> STATE   is there now, and these were its last hops; `...` stands for any hops
 *     ENTITY can ACTION                 the action is open now
 *     ENTITY cannot ACTION
 *     explain ENTITY: KIND              the kind of Control.explain
 *     data ENTITY: DATA                 has at least these fields
 *     children ENTITY[/LANE]: STATE NUMBER, STATE NUMBER     exactly these
 *     effects NAME: NUMBER
 *
 * ENTITY is a name given by `as`, or one of its children: `b/items#2` is the second of its lane `items`. DATA is JSON on one
 * line. TEXT is a word or a JSON string. DURATION is 250ms, 30s, 5m, 2h, 1d.
 */
export type Sentence = { readonly line: number; readonly text: string } & (Deed | Claim)

export type Deed =
  | {
      readonly kind: 'submit'
      readonly machine: string
      readonly data: unknown
      readonly name: string | null
      readonly options: SubmitWords
    }
  | { readonly kind: 'act'; readonly entity: Reference; readonly action: string; readonly options: ActWords }
  | {
      readonly kind: 'hold'
      readonly scope: ScopeWords
      readonly name: string
      readonly by: string
      readonly because: string
      readonly forMs: number | null
    }
  | { readonly kind: 'release'; readonly name: string }
  | { readonly kind: 'prioritise'; readonly entity: Reference; readonly priority: number }
  | { readonly kind: 'drain'; readonly withinMs: number | null }
  | { readonly kind: 'after'; readonly forMs: number }
  | { readonly kind: 'crash'; readonly engine: number | null }
  | { readonly kind: 'trap'; readonly when: 'before' | 'after'; readonly processor: string }
  | { readonly kind: 'restart' }

export type Claim =
  | {
      readonly kind: 'state'
      readonly entity: Reference
      readonly path: readonly string[]
      readonly because: string | null
    }
  | { readonly kind: 'can'; readonly entity: Reference; readonly action: string; readonly open: boolean }
  | { readonly kind: 'explain'; readonly entity: Reference; readonly expected: string }
  | { readonly kind: 'data'; readonly entity: Reference; readonly fields: unknown }
  | {
      readonly kind: 'children'
      readonly entity: Reference
      readonly lane: string | null
      readonly counts: ReadonlyMap<string, number>
    }
  | { readonly kind: 'effects'; readonly name: string; readonly count: number }

export interface SubmitWords {
  readonly state?: string
  readonly key?: string
  readonly priority?: number
  readonly actor?: string
}

export interface ActWords {
  readonly to?: string
  readonly input?: unknown
  readonly actor?: string
  readonly reason?: string
}

export interface ScopeWords extends Pick<HoldScope, 'machine' | 'state' | 'label'> {
  readonly entity?: Reference
  readonly children?: Reference
}

export function readStory(text: string): readonly Sentence[] {
  return text.split('\n').flatMap((source, index) => {
    const line = index + 1
    try {
      const words = new Words(source)
      if (words.isOver) return []
      const sentence = readSentence(words)
      words.end()
      return [{ line, text: source.trim(), ...sentence }]
    } catch (error) {
      throw new SluiceError('invalid', `line ${line}: ${source.trim()}\n  ${messageOf(error)}`, { line }, error)
    }
  })
}

function readSentence(words: Words): Deed | Claim {
  if (words.peek(1) === ':') return readState(words)
  const first = words.next('a sentence')
  if (first in deeds) return deeds[first as keyof typeof deeds](words)
  if (words.take('can')) return { kind: 'can', entity: referenceOf(first), action: words.next('an action'), open: true }
  if (words.take('cannot'))
    return { kind: 'can', entity: referenceOf(first), action: words.next('an action'), open: false }
  throw new Error(
    `"${first}" begins no sentence; expected ${Object.keys(deeds).join(', ')}, "NAME: STATE" or "NAME can ACTION".`,
  )
}

const deeds = {
  submit: readSubmit,
  act: readAct,
  hold: readHold,
  release: (words: Words): Deed => ({ kind: 'release', name: words.next('the name of a hold') }),
  prioritise: (words: Words): Deed => ({ kind: 'prioritise', entity: words.reference(), priority: words.number() }),
  drain: (words: Words): Deed => ({ kind: 'drain', withinMs: words.take('within') ? words.duration() : null }),
  after: (words: Words): Deed => ({ kind: 'after', forMs: words.duration() }),
  crash: readCrash,
  restart: (): Deed => ({ kind: 'restart' }),
  explain: (words: Words): Claim => ({
    kind: 'explain',
    entity: words.reference(),
    expected: words.past(':').next('a kind'),
  }),
  data: (words: Words): Claim => ({ kind: 'data', entity: words.reference(), fields: words.past(':').json() }),
  children: readChildren,
  effects: (words: Words): Claim => ({
    kind: 'effects',
    name: words.next('the name of an effect'),
    count: words.past(':').number(),
  }),
}

function readSubmit(words: Words): Deed {
  const machine = words.next('a machine')
  const data = words.isJson ? words.json() : {}
  const options: { -readonly [word in keyof SubmitWords]: SubmitWords[word] } = {}
  let name: string | null = null
  while (!words.isOver) {
    const word = words.oneOf('as', 'in', 'key', 'priority', 'by')
    if (word === 'as') name = words.next('a name')
    else if (word === 'in') options.state = words.next('a state')
    else if (word === 'key') options.key = words.next('a key')
    else if (word === 'priority') options.priority = words.number()
    else options.actor = words.next('who')
  }
  return { kind: 'submit', machine, data, name, options }
}

function readAct(words: Words): Deed {
  const entity = words.reference()
  const action = words.next('an action')
  const options: { -readonly [word in keyof ActWords]: ActWords[word] } = {}
  while (!words.isOver) {
    const word = words.oneOf('to', 'with', 'by', 'because')
    if (word === 'to') options.to = words.next('a state')
    else if (word === 'with') options.input = words.json()
    else if (word === 'by') options.actor = words.next('who')
    else options.reason = words.next('why')
  }
  return { kind: 'act', entity, action, options }
}

function readHold(words: Words): Deed {
  const scope: { -readonly [word in keyof ScopeWords]: ScopeWords[word] } = {}
  let [name, by, because] = ['', 'scenario', 'scenario']
  let forMs: number | null = null
  while (!words.isOver) {
    const word = words.oneOf('entity', 'children', 'machine', 'state', 'label', 'as', 'by', 'because', 'for')
    if (word === 'entity') scope.entity = words.reference()
    else if (word === 'children') scope.children = words.reference()
    else if (word === 'machine') scope.machine = words.next('a machine')
    else if (word === 'state') scope.state = words.next('a state')
    else if (word === 'label') scope.label = { name: words.next('a label'), value: words.next('its value') }
    else if (word === 'as') name = words.next('a name')
    else if (word === 'by') by = words.next('who')
    else if (word === 'because') because = words.next('why')
    else forMs = words.duration()
  }
  if (name === '') throw new Error('A hold needs a name to be released by: write "as NAME".')
  return { kind: 'hold', scope, name, by, because, forMs }
}

function readCrash(words: Words): Deed {
  if (words.isOver) return { kind: 'crash', engine: null }
  for (const when of ['before', 'after'] as const) {
    if (words.take(when)) return { kind: 'trap', when, processor: words.next('a processor') }
  }
  return { kind: 'crash', engine: words.number() }
}

function readState(words: Words): Claim {
  const entity = words.reference()
  const path = [words.past(':').next('a state')]
  while (words.take('->')) path.push(words.next('a state'))
  return { kind: 'state', entity, path, because: words.take('because') ? words.next('why') : null }
}

function readChildren(words: Words): Claim {
  const whole = words.next('an entity')
  const slash = whole.lastIndexOf('/')
  const isLane = slash > 0 && !whole.slice(slash).includes('#')
  const counts = new Map<string, number>()
  words.past(':')
  do counts.set(words.next('a state'), words.number())
  while (words.take(','))
  return {
    kind: 'children',
    entity: referenceOf(isLane ? whole.slice(0, slash) : whole),
    lane: isLane ? whole.slice(slash + 1) : null,
    counts,
  }
}
