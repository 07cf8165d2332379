import { type Clock, systemClock } from '../clock.ts'
import type { Control } from '../control.ts'
import { type ClientLimits, defaultClientLimits } from './client-limits.ts'
import { JobClient } from './job-client.ts'
import { RemoteControl } from './remote-control.ts'
import { TokenClient } from './token-client.ts'
import { type Fetch, Transport } from './transport.ts'
import { UploadClient } from './upload-client.ts'

export interface ClientOptions {
  /** Where the server is: http://127.0.0.1:7878, or below a path of a proxy. */
  readonly url: string
  /** Without one only a server of this machine that has no tokens answers. */
  readonly token?: string
  readonly fetch?: Fetch
  readonly clock?: Clock
  readonly limits?: Partial<ClientLimits>
}

/** Who the server takes us for. */
export interface Session {
  readonly actor: string
  readonly role: 'submitter' | 'operator' | 'admin'
  readonly collections: readonly string[] | null
  readonly kind: 'local' | 'token' | 'session'
  readonly expiresAt: number | null
}

/** The control over a server, and what its families offer besides. */
export interface Client extends Control {
  readonly url: string
  readonly uploads: UploadClient
  readonly jobs: JobClient
  readonly tokens: TokenClient
  session(): Promise<Session>
}

class HttpClient extends RemoteControl implements Client {
  readonly uploads: UploadClient
  readonly jobs: JobClient
  readonly tokens: TokenClient

  constructor(transport: Transport) {
    super(transport)
    this.uploads = new UploadClient(transport)
    this.jobs = new JobClient(transport)
    this.tokens = new TokenClient(transport)
  }

  get url(): string {
    return this.transport.url
  }

  async session(): Promise<Session> {
    return this.transport.get<Session>('/api/session')
  }
}

/** Nothing is asked before the first call. */
export function openClient(options: ClientOptions): Client {
  const { url, token = null, fetch: given = fetch, clock = systemClock(), limits = {} } = options
  const call: Fetch = (target, init) => given(target, init)
  return new HttpClient(
    new Transport({ url, token, fetch: call, clock, limits: { ...defaultClientLimits, ...limits } }),
  )
}
