import { z } from 'zod'
import type { ActResult, Detail, Explanation, ListPage, Progress, Submitted } from '../control.ts'
import { errorCodes } from '../errors.ts'
import type { Event } from '../event.ts'
import type { Hold, HoldScope } from '../hold.ts'
import type { Lane } from '../lane.ts'
import type { Worker } from '../lease.ts'
import type { Machine } from '../machine.ts'
import { stateOutcomes } from '../state-outcome.ts'
import type { Drift } from '../store.ts'
import { type Role, roles, type Token } from './access.ts'
import { nameSchemas } from './json-schema.ts'
import { problemTypes } from './problem.ts'

/** Answers, for the document and the compiler. They are not checked when they are sent: the types already hold them to it. */
const id = z.int().describe('Id of an entity.')
const time = z.int().describe('Milliseconds since 1970.')
const text = z.string()
const amounts = z.record(z.string(), z.number())

export const submittedAnswer: z.ZodType<Submitted> = z.object({ id, existing: z.boolean() })

const waitAnswer = z.union([
  z.object({
    for: z.literal('run'),
    at: time,
    gated: z.boolean().optional(),
    pool: text.optional(),
    timedOut: z.boolean().optional(),
  }),
  z.object({ for: z.literal('children'), at: time.nullable() }),
  z.object({ for: z.enum(['time', 'purge']), at: time }),
  z.object({ for: z.literal('nothing') }),
])

const requestAnswer = z.object({
  edge: text,
  actor: text.nullable(),
  role: text.nullable(),
  reason: text.nullable(),
  requestId: text.nullable(),
  input: text.nullable(),
  read: z.array(z.object({ lane: text, wake: z.int() })).nullable(),
})

const listedFields = {
  id,
  machine: text,
  version: z.int(),
  state: text,
  shown: text.describe('The state as drawn.'),
  title: text,
  name: text.nullable().describe('What people call it, as its machine declares it.'),
  born: text,
  seq: z.int(),
  epoch: z.int(),
  generation: z.int(),
  settled: z.boolean(),
  purged: z.boolean(),
  attempts: z.int(),
  suspect: z.int(),
  parent: id.nullable(),
  lane: text,
  source: id.nullable(),
  ordinal: z.int().nullable(),
  labels: z.array(text.nullable()),
  priority: z.number(),
  data: z.unknown(),
  progress: z.unknown(),
  wait: waitAnswer,
  request: requestAnswer.nullable(),
  owner: z.int().nullable(),
  stopped: z.boolean(),
  spawned: z.int(),
  reason: text.nullable(),
  sums: amounts.nullable(),
  error: text.nullable(),
  key: text.nullable(),
  createdAt: time,
  createdBy: text.nullable(),
  changedAt: time,
}

const listedAnswer = z.object(listedFields)

export const detailAnswer = z.object({
  ...listedFields,
  actions: z.array(
    z.object({ action: text, to: text, warning: text.nullable(), refusal: text.nullable().describe('Why not now.') }),
  ),
}) as unknown as z.ZodType<Detail>

export const pageAnswer = z.object({
  entities: z.array(listedAnswer),
  next: id.nullable().describe('To be given as `after` for the next page; null: this was the last.'),
}) as unknown as z.ZodType<ListPage>

export const eventAnswer: z.ZodType<Event> = z.object({
  entity: id,
  seq: z.int(),
  hop: z.int(),
  at: time,
  transition: text,
  from: text.nullable(),
  to: text.nullable(),
  cause: text,
  generation: z.int(),
  epoch: z.int(),
  actor: text.nullable(),
  role: text.nullable(),
  reason: text.nullable(),
  requestId: text.nullable(),
  error: text.nullable(),
})

export const laneAnswer: z.ZodType<Lane> = z.object({
  parent: id.nullable(),
  name: text,
  machine: text,
  version: z.int(),
  counts: amounts,
  total: z.int(),
  open: z.int(),
  reasons: amounts,
  sums: amounts,
  wake: z.int(),
  seen: z.int(),
  watches: z.array(text),
  entered: z.array(text),
  gate: z.enum(['open', 'shut']),
  status: z.enum(['going', 'resting', 'stopped']),
})

export const progressAnswer: z.ZodType<Progress> = z.object({
  id,
  state: text,
  total: z.int(),
  settled: z.int(),
  open: z.int(),
  counts: amounts,
  outcomes: z
    .object({ success: z.int(), failure: z.int(), attention: z.int(), neutral: z.int() })
    .describe('Settled children by the outcome of their state; success is what is done.'),
  reasons: amounts,
  sums: amounts,
  percent: z.number(),
  ratePerSecond: z.number().nullable(),
  etaMs: z.number().nullable(),
  etaLowMs: z.number().nullable().describe('Where the rate varies: the time left at the fastest of the last minute.'),
  etaHighMs: z.number().nullable().describe('The same at the slowest; null: there is no telling.'),
  trouble: z.object({ since: time, sentence: text }).nullable(),
  lanes: z.array(laneAnswer),
})

export const explanationAnswer = z.object({
  id,
  state: text,
  kind: text,
  sentence: text,
  facts: z.record(z.string(), z.unknown()),
}) as unknown as z.ZodType<Explanation>

export const actAnswer: z.ZodType<ActResult> = z.object({ id, kind: z.enum(['done', 'requested']), state: text })

export interface ManyAnswer {
  readonly matching: number
  readonly exact: boolean
  readonly warnings: readonly string[]
  /** Of a dry run: to be sent back within its time, by the same caller. */
  readonly confirmation: string | null
  readonly expiresAt: number | null
  readonly walk: number | null
}

export const manyAnswer: z.ZodType<ManyAnswer> = z.object({
  matching: z.int(),
  exact: z.boolean(),
  warnings: z.array(text),
  confirmation: text.nullable(),
  expiresAt: time.nullable(),
  walk: id.nullable(),
})

export const holdScope: z.ZodType<HoldScope> = z
  .strictObject({
    machine: text.max(200).optional(),
    state: text.max(200).optional(),
    parent: z.int().min(1).optional(),
    entity: z.int().min(1).optional(),
    label: z.strictObject({ name: text.max(200), value: text.max(200) }).optional(),
  })
  .meta({ minProperties: 1 })

const actorAnswer = z.object({
  actor: text.nullable(),
  role: text.nullable(),
  reason: text.nullable(),
  requestId: text.nullable(),
})

export const holdAnswer: z.ZodType<Hold> = z.object({
  id: z.int(),
  scope: holdScope,
  reason: text,
  owner: text,
  until: time.nullable(),
  since: time,
  by: actorAnswer.describe('Who set it.'),
  ended: z.object({ at: time, by: actorAnswer.nullable() }).nullable().describe('Null while it stands.'),
})

export const workerAnswer: z.ZodType<Worker> = z.object({
  id: z.int(),
  name: text,
  host: text,
  pid: z.int(),
  program: text,
  roles: z.array(text),
  machines: z.array(text),
  startedAt: time,
  renewedAt: time,
  expiresAt: time,
  leases: z.int(),
})

export const driftAnswer: z.ZodType<Drift> = z.object({
  parent: id.nullable(),
  lane: text,
  said: amounts,
  counted: amounts,
})

/** A machine as it is declared; `data` is the JSON Schema of its entities' data. */
export type MachineAnswer = Omit<Machine, 'schema' | 'names'> & {
  readonly data: unknown
  readonly submitPath: string | null
}

export const machineAnswer = z.object({
  name: text,
  version: z.int(),
  initial: z.array(text),
  settled: z.array(text),
  final: z.array(text),
  states: z.record(
    z.string(),
    z.object({
      title: text,
      purpose: text,
      retentionMs: z.number().nullable(),
      holdable: z.boolean(),
      outcome: z.enum(stateOutcomes).describe('What the state says about its entity; neutral if none is declared.'),
      outcomeDeclared: z.boolean(),
    }),
  ),
  edges: z.array(
    z.looseObject({
      name: text,
      from: text,
      to: text,
      on: text,
      action: text,
      role: z.enum(roles),
      warning: text.optional(),
      purpose: text,
      processor: text.optional(),
      when: z.array(text),
      ensure: z.array(text),
      inline: z.boolean(),
    }),
  ),
  title: z.array(text).describe('What its entities are called: fields of data, or texts with fields in braces.'),
  labels: z.array(text),
  policies: z.record(z.string(), z.looseObject({})),
  purposes: z.record(z.string(), text),
  parent: text.nullable(),
  watches: z.array(text),
  respawn: text.nullable(),
  digest: text,
  submitPath: text.nullable().describe('Where a new one is made; null: its parent makes it.'),
  data: z.unknown().describe('JSON Schema of the data of its entities; null: anything.'),
}) as unknown as z.ZodType<MachineAnswer>

export interface SessionAnswer {
  readonly actor: string
  readonly role: Role
  readonly collections: readonly string[] | null
  readonly kind: 'local' | 'token' | 'session'
  readonly csrf: string | null
  readonly expiresAt: number | null
}

export const sessionAnswer: z.ZodType<SessionAnswer> = z.object({
  actor: text,
  role: z.enum(roles),
  collections: z.array(text).nullable().describe('Null: all of them.'),
  kind: z.enum(['local', 'token', 'session']),
  csrf: text.nullable().describe('Of a session: to be sent as x-csrf-token with every unsafe request.'),
  expiresAt: time.nullable(),
})

const tokenFields = {
  name: text,
  role: z.enum(roles),
  collections: z.array(text).nullable(),
  createdAt: time,
  createdBy: text,
  expiresAt: time.nullable(),
}
export const tokenAnswer: z.ZodType<Token> = z.object(tokenFields)
export const newTokenAnswer: z.ZodType<Token & { readonly token: string }> = z.object({
  ...tokenFields,
  token: text.describe('The secret, shown this once.'),
})

export const familyAnswer = z.looseObject({ id, state: text }) as z.ZodType<{
  readonly id: number
  readonly state: string
}>

export const problemAnswer = z.object({
  type: z.enum(problemTypes.map((type) => `urn:sluice:problem:${type}`) as [string, ...string[]]),
  title: text,
  status: z.int(),
  detail: text,
  instance: text.describe('The id of the request: the log says more under it.'),
  code: z.enum(errorCodes).describe('What a program without HTTP would be told: each type has one.'),
  faults: z.array(z.object({ in: z.enum(['path', 'query', 'body', 'header']), path: text, message: text })).optional(),
  warning: text.optional(),
  context: z.record(z.string(), z.unknown()).optional(),
})

/** By these names the document refers to them, and generated clients import them. */
export const namedAnswers: Readonly<Record<string, z.ZodType>> = {
  Entity: detailAnswer,
  ListedEntity: listedAnswer,
  EntityPage: pageAnswer,
  Submitted: submittedAnswer,
  Event: eventAnswer,
  Lane: laneAnswer,
  Progress: progressAnswer,
  Explanation: explanationAnswer,
  ActResult: actAnswer,
  ManyResult: manyAnswer,
  HoldScope: holdScope,
  Hold: holdAnswer,
  Worker: workerAnswer,
  Drift: driftAnswer,
  Machine: machineAnswer,
  Session: sessionAnswer,
  Token: tokenAnswer,
  NewToken: newTokenAnswer,
  FamilyView: familyAnswer,
  Problem: problemAnswer,
}
nameSchemas(namedAnswers)
