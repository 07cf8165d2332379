import { mkdtemp, rm } from 'node:fs/promises'
import { request as rawRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { defineJob, type JobDefinition, openChunked, done as stepDone } from 'sluice/chunked'
import { openUpload } from 'sluice/upload'
import { z } from 'zod'
import { jobPort } from '../../src/cli/family/job-port.ts'
import { uploadPort } from '../../src/cli/family/upload-port.ts'
import { dashboard } from '../../src/dashboard/index.ts'
import {
  type Access,
  type HttpLimits,
  type IdempotencyStore,
  type NewToken,
  openAccess,
  openIdempotencyFile,
  openServer,
  type Server,
  type ServerOptions,
} from '../../src/http/index.ts'
import { type Clock, type Control, Engine, type Implementation, type Store, systemClock } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { durableStore, postgresUrl } from '../durable-store.ts'
import { depot } from './depot.ts'

export const wordCount = defineJob({
  id: 'word-count',
  version: 1,
  description: 'Counts words',
  parameters: z.object({ text: z.string() }),
})
  .firstStep({
    id: 'split',
    output: z.string(),
    run: async ({ parameters }, sink) => {
      for (const word of parameters.text.split(' ')) await sink.accept(word)
    },
  })
  .step({ id: 'count', run: async () => stepDone(1) })

export type StoreKind = 'memory' | 'sqlite' | 'postgres'
/** What is told once for each store. On PostgreSQL, where everything else is told again, there is but one. */
export const storeKinds: readonly StoreKind[] = postgresUrl === null ? ['memory', 'sqlite'] : ['postgres']

export interface HouseOptions {
  readonly store?: StoreKind
  readonly limits?: Partial<HttpLimits>
  readonly idempotency?: (folder: string, clock: Clock) => IdempotencyStore
  readonly clock?: Clock
  readonly control?: (control: Control) => Control
  readonly listen?: ServerOptions['listen']
  readonly names?: readonly string[]
  readonly hasFamilies?: boolean
  /** Besides the depot's. */
  readonly implementations?: readonly Implementation[]
  /** What the upload family takes, if less than the server. */
  readonly uploadBytesMax?: number
  /** Besides word-count. */
  readonly jobs?: readonly JobDefinition[]
  readonly hasDashboard?: boolean
  readonly log?: Logger
}

/** A whole Sluice with its API on this machine: a real engine, a real store, real families. */
export interface House {
  readonly url: string
  readonly folder: string
  readonly control: Control
  readonly access: Access
  readonly server: Server
  /** Asks the API; a token or headers may be given. */
  ask(method: string, path: string, options?: AskOptions): Promise<Said>
  token(token: Partial<NewToken> & Pick<NewToken, 'name' | 'role'>): Promise<string>
  /** Another server over the same store and files, after this one was closed: a restart. */
  restart(): Promise<House>
  close(): Promise<void>
}

export interface AskOptions {
  readonly body?: unknown
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is. */
  readonly text?: string | Uint8Array
}

export interface Said {
  readonly status: number
  /** Whatever was parsed: tests read answers of every shape. */
  readonly body: ReturnType<typeof JSON.parse>
  readonly text: string
  readonly headers: Headers
}

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-http-'))
  const clock = options.clock ?? systemClock()
  const log = options.log ?? pino({ level: 'silent' })
  const store: Store =
    postgresUrl !== null || options.store === 'sqlite'
      ? durableStore(join(folder, 'sluice.db'))
      : memoryStore({ clock: systemClock() })
  const hasFamilies = options.hasFamilies ?? false
  const upload = hasFamilies
    ? await openUpload({
        folder: join(folder, 'upload'),
        ...(options.uploadBytesMax === undefined ? {} : { fileBytesMax: options.uploadBytesMax }),
      })
    : null
  const chunked = hasFamilies
    ? openChunked({ definitions: [wordCount, ...(options.jobs ?? [])], folder: join(folder, 'jobs') })
    : null
  const engine = new Engine({
    ...{ store, log, host: 'test', pid: process.pid, name: 'test' },
    implementations: [
      ...depot(),
      ...(options.implementations ?? []),
      ...(upload?.implementations ?? []),
      ...(chunked?.implementations ?? []),
    ],
  })
  await engine.start()
  const control = options.control?.(engine.control) ?? engine.control
  const opened = async (): Promise<House> => {
    const access = openAccess({ file: join(folder, 'tokens.json'), clock })
    const idempotency =
      options.idempotency?.(folder, clock) ?? openIdempotencyFile({ file: join(folder, 'http.db'), clock })
    const server = await openServer({
      ...{ control, access, idempotency, log, clock, limits: options.limits ?? {}, version: '0.0.0' },
      families: {
        ...(upload ? { upload: uploadPort(upload, control) } : {}),
        ...(chunked ? { jobs: jobPort(chunked, control, []) } : {}),
        samples: { offered: async () => true, create: async () => [] },
      },
      listen: options.listen ?? { host: '127.0.0.1', port: 0 },
      ...(options.names ? { names: options.names } : {}),
      ...(options.hasDashboard ? { dashboard: dashboard({ control, clock }) } : {}),
    })
    const { url } = server
    const closeServer = async () => {
      await server.close()
      await idempotency.close()
    }
    return {
      ...{ url, folder, control, access, server },
      ask: (method, path, given) => ask(`${url}${path}`, method, given),
      async token(token) {
        return (await access.create({ createdBy: 'test', ...token })).secret
      },
      async restart() {
        await closeServer()
        return opened()
      },
      async close() {
        await closeServer()
        await stop()
      },
    }
  }
  const stop = async () => {
    await engine.stop()
    await upload?.stop()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    return await opened()
  } catch (error) {
    await stop()
    throw error
  }
}

export async function ask(url: string, method: string, options: AskOptions = {}): Promise<Said> {
  const { body, token = null, headers = {}, text } = options
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(text !== undefined ? { body: text as string } : body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return saidBy(response)
}

export async function saidBy(response: Response): Promise<Said> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    body: isJson && text !== '' ? JSON.parse(text) : null,
    text,
    headers: response.headers,
  }
}

/** With headers that fetch does not let anybody set: Host, Origin, Sec-Fetch-Site. */
export function askRaw(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<{ readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, unknown>> }> {
  return new Promise((resolve, reject) => {
    const request = rawRequest(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: response.headers,
        }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}
