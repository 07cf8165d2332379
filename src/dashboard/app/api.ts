import type { Clock } from '../../clock.ts'
import type { ActResult, Detail, Explanation, ListPage, Progress } from '../../control.ts'
import type { Event } from '../../event.ts'
import type { Hold, HoldScope } from '../../hold.ts'
import type { Lane } from '../../lane.ts'
import type { Worker } from '../../lease.ts'
import type { MachineMap } from '../machine-map.ts'
import type { Contact } from './contact.ts'
import { queryText } from './route.ts'
import type { MachineShape } from './tone.ts'

const noAnswer = 'No answer'

/** What the server says instead of an answer: an RFC 9457 problem document. */
export class Problem extends Error {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly instance: string | null
  readonly faults: readonly string[]
  readonly isNoAnswer: boolean

  constructor(status: number, document: Readonly<Record<string, unknown>>) {
    super(String(document.detail ?? document.title ?? `The server answered ${status}.`))
    this.status = status
    this.type = String(document.type ?? '')
    this.title = String(document.title ?? 'Error')
    this.instance = typeof document.instance === 'string' ? document.instance : null
    this.isNoAnswer = status === 0 && document.title === noAnswer
    this.faults = Array.isArray(document.faults) ? document.faults.map(faultText) : []
  }
}

function faultText(fault: unknown): string {
  if (typeof fault !== 'object' || fault === null) return String(fault)
  const { path, field, message } = fault as Readonly<Record<string, unknown>>
  const where = Array.isArray(path) ? path.join('.') : (path ?? field)
  return where === undefined || where === '' ? String(message ?? JSON.stringify(fault)) : `${where}: ${message}`
}

export interface Session {
  readonly actor: string
  readonly role: 'submitter' | 'operator' | 'admin'
  readonly collections: readonly string[] | null
  readonly csrf: string | null
}

export interface JobOffer {
  readonly id: string
  readonly version: number
  readonly description: string
  readonly parameters: unknown
  readonly steps: readonly string[]
}

export interface ItemContent {
  readonly fileName: string
  readonly itemIndex: number
  readonly offset: number
  readonly length: number
  readonly text: string
  readonly truncated: boolean
}

/** What an act on many would do, and the token that makes it do it. */
export interface DryRun {
  readonly matching: number
  readonly exact: boolean
  readonly warnings: readonly string[]
  readonly confirmation: string
}

/** A filter as it stands in the addresses of the dashboard and of the API alike. */
export interface ListQuery {
  readonly machine?: string
  readonly version?: string
  readonly state?: string
  readonly outcome?: string
  readonly parent?: string
  readonly lane?: string
  readonly label?: string
  readonly value?: string
  readonly settled?: string
  readonly reason?: string
  readonly after?: string
  readonly limit?: number
  readonly newest?: boolean
}

export interface ActBody {
  readonly reason?: string
  readonly input?: unknown
  readonly to?: string
  readonly seq?: number
  readonly confirmed?: boolean
}

const answerMsMax = 30_000
const probeMsMax = 4_000
/** A proxy says so when the server behind it does not answer. */
const gatewayFaults = [502, 504]

/** The API as functions. Only this file knows addresses and headers. */
export class Api {
  readonly #clock: Clock
  readonly #contact: Contact
  /** Told when the session is gone: the reader has to log in. */
  onUnauthorised: () => void = () => {}
  #csrf: string | null = null

  constructor(clock: Clock, contact: Contact) {
    this.#clock = clock
    this.#contact = contact
  }

  /** Asks for a sign of life and nothing else. */
  async probe(): Promise<void> {
    await this.send('GET', '/health', undefined, probeMsMax).catch(() => {})
  }

  async session(): Promise<Session> {
    const answer = await this.get<Readonly<Record<string, unknown>>>('/api/session')
    return this.#remember(answer)
  }

  async logIn(token: string): Promise<Session> {
    return this.#remember(await this.post<Readonly<Record<string, unknown>>>('/api/session', { token }))
  }

  async logOut(): Promise<void> {
    await this.send('DELETE', '/api/session')
    this.#csrf = null
  }

  #remember(answer: Readonly<Record<string, unknown>>): Session {
    this.#csrf = typeof answer.csrf === 'string' ? answer.csrf : null
    return {
      actor: String(answer.actor ?? 'local'),
      role: (answer.role as Session['role'] | undefined) ?? 'submitter',
      collections: Array.isArray(answer.collections) ? answer.collections.map(String) : null,
      csrf: this.#csrf,
    }
  }

  async machines(): Promise<readonly MachineShape[]> {
    return listOf(await this.get<unknown>('/api/machines'), 'machines')
  }
  map(name: string, version: number): Promise<MachineMap> {
    return this.get(`/api/machines/${encodeURIComponent(name)}/${version}/map`)
  }
  async totals(): Promise<readonly Lane[]> {
    return listOf(await this.get<unknown>('/api/totals'), 'lanes')
  }
  list(query: ListQuery): Promise<ListPage> {
    return this.get(`/api/entities${queryText({ ...query })}`)
  }
  entity(id: number): Promise<Detail> {
    return this.get(`/api/entities/${id}`)
  }
  /** What somebody means who types a number or a key: none, one or two entities. */
  async find(text: string): Promise<readonly Detail[]> {
    return listOf(await this.get<unknown>(`/api/find${queryText({ text })}`), 'found')
  }
  async history(id: number): Promise<readonly Event[]> {
    return listOf(await this.get<unknown>(`/api/entities/${id}/history?limit=1000`), 'events')
  }
  progress(id: number): Promise<Progress> {
    return this.get(`/api/entities/${id}/progress`)
  }
  explain(id: number): Promise<Explanation> {
    return this.get(`/api/entities/${id}/explain`)
  }
  /** The text that an item of an upload was made of. */
  itemContent(id: number): Promise<ItemContent> {
    return this.get(`/api/uploads/items/${id}/content`)
  }
  report(id: number): Promise<{ readonly result: unknown }> {
    return this.get(`/api/entities/${id}/report`)
  }
  act(id: number, action: string, body: ActBody): Promise<ActResult> {
    return this.post(`/api/entities/${id}/actions/${encodeURIComponent(action)}`, body)
  }
  dryRun(filter: unknown, action: string, body: ActBody): Promise<DryRun> {
    return this.post('/api/actions', { filter, action, ...body })
  }
  /** What it does was kept with the count; so was the reason. */
  confirm(confirmation: string): Promise<{ readonly walk: number }> {
    return this.post('/api/actions', { confirmation })
  }
  async prioritise(id: number, priority: number): Promise<void> {
    await this.send('PUT', `/api/entities/${id}/priority`, { priority })
  }
  async holds(): Promise<readonly Hold[]> {
    return listOf(await this.get<unknown>('/api/holds'), 'holds')
  }
  async pastHolds(): Promise<readonly Hold[]> {
    return listOf(await this.get<unknown>('/api/holds/past?limit=20'), 'holds')
  }
  hold(scope: HoldScope, reason: string, until: number | null): Promise<Hold> {
    return this.post('/api/holds', { scope, reason, ...(until === null ? {} : { until }) })
  }
  async release(id: number, reason: string): Promise<void> {
    await this.send('DELETE', `/api/holds/${id}`, { reason })
  }
  async workers(): Promise<readonly Worker[]> {
    return listOf(await this.get<unknown>('/api/workers'), 'workers')
  }
  submit(
    machine: string,
    data: unknown,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly id: number; readonly existing: boolean }> {
    return this.post('/api/entities', { machine, data, ...options })
  }
  async definitions(): Promise<readonly JobOffer[]> {
    return listOf(await this.get<unknown>('/api/jobs/definitions'), 'definitions')
  }
  startJob(body: unknown): Promise<{ readonly id: number; readonly existing: boolean }> {
    return this.post('/api/jobs', body)
  }

  get<T>(path: string): Promise<T> {
    return this.send('GET', path)
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.send('POST', path, body)
  }

  async send<T>(method: string, path: string, body?: unknown, msMax = answerMsMax): Promise<T> {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (method !== 'GET') this.guard(headers)
    const abort = new AbortController()
    const cancel = this.#clock.after(msMax, () => abort.abort())
    try {
      const response = await fetch(path, {
        method,
        headers,
        signal: abort.signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return await this.#answerOf<T>(response)
    } catch (error) {
      if (error instanceof Problem) throw error
      this.#contact.missed()
      throw new Problem(0, { title: noAnswer, detail: 'The server does not answer. Is it running?' })
    } finally {
      cancel()
    }
  }

  /** What every request that changes something carries. A repeated click or a lost answer does nothing twice. */
  guard(headers: Record<string, string>): void {
    headers['idempotency-key'] = this.#key()
    if (this.#csrf !== null) headers['x-csrf-token'] = this.#csrf
  }

  #key(): string {
    const part = () => this.#clock.random().toString(36).slice(2, 12)
    return `page-${this.#clock.now().toString(36)}-${part()}${part()}`
  }

  async #answerOf<T>(response: Response): Promise<T> {
    const text = await response.text()
    if (gatewayFaults.includes(response.status)) this.#contact.missed()
    else this.#contact.heard()
    const answer = parsed(text)
    if (response.ok) return answer as T
    if (response.status === 401) this.onUnauthorised()
    throw new Problem(response.status, typeof answer === 'object' && answer !== null ? { ...answer } : {})
  }
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Lists come bare or in a page. */
function listOf<T>(answer: unknown, field: string): readonly T[] {
  if (Array.isArray(answer)) return answer as readonly T[]
  const inside = (answer as Readonly<Record<string, unknown>> | undefined)?.[field]
  return Array.isArray(inside) ? (inside as readonly T[]) : []
}
