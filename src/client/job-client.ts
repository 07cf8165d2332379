import { formOf, type Part } from './multipart.ts'
import { checkId } from './remote-control.ts'
import type { Transport } from './transport.ts'
import type { Accepted } from './upload-client.ts'

export interface JobRequest {
  readonly definition: string
  readonly parameters: unknown
  readonly version?: number
  readonly key?: string
  /** If the job of this key has failed or was cancelled: another one. */
  readonly again?: boolean
  readonly priority?: number
  readonly collection?: string
}

export interface SentAttachment {
  readonly name: string
  readonly contentType?: string
  readonly source: AsyncIterable<Uint8Array>
}

export interface OfferedJob {
  readonly id: string
  readonly version: number
  readonly description: string
  /** JSON Schema. */
  readonly parameters: unknown
  readonly steps: readonly string[]
}

/** Jobs over HTTP. Lists and chunks are had by the control; what is answered here is the family's (`sluice/chunked`). */
export class JobClient {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async definitions(): Promise<readonly OfferedJob[]> {
    return (await this.#transport.get<{ definitions: readonly OfferedJob[] }>('/api/jobs/definitions')).definitions
  }

  async start(job: JobRequest, attachments: readonly SentAttachment[] = []): Promise<Accepted> {
    const transport = this.#transport
    if (attachments.length === 0) return transport.post<Accepted>('/api/jobs', job)
    const parts: readonly Part[] = [
      { name: 'job', content: JSON.stringify(job) },
      ...attachments.map(({ name, contentType, source }) => ({
        ...{ name: 'attachment', fileName: name, content: source },
        ...(contentType === undefined ? {} : { contentType }),
      })),
    ]
    const form = formOf(parts, () => transport.clock.random())
    return transport.send<Accepted>('/api/jobs', {}, form.contentType, form.body)
  }

  async job<T>(id: number): Promise<T> {
    return this.#transport.get<T>(`/api/jobs/${checkId(id, 'id')}`)
  }
}
