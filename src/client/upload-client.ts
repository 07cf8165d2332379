import { formOf } from './multipart.ts'
import { checkId } from './remote-control.ts'
import type { Query, Transport } from './transport.ts'

export interface SentFile {
  readonly fileName: string
  readonly contentType?: string
  readonly collection?: string
  /** The same content from the same token is a new batch all the same. */
  readonly force?: boolean
  /** What is known of the file: if something else arrives it is refused. */
  readonly expectedBytes?: number
  readonly sha256?: string
  readonly md5?: string
}

export interface Accepted {
  readonly id: number
  readonly existing: boolean
}

interface Page {
  readonly after?: number
  readonly limit?: number
}

/** Uploads over HTTP. What is answered is the upload family's; its types are in `sluice/upload`. */
export class UploadClient {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Sent while it is read, never held. */
  async send(source: AsyncIterable<Uint8Array>, { contentType, ...about }: SentFile): Promise<Accepted> {
    const transport = this.#transport
    const part = {
      name: 'file',
      fileName: about.fileName,
      content: source,
      ...(contentType === undefined ? {} : { contentType }),
    }
    const form = formOf([part], () => transport.clock.random())
    return transport.send<Accepted>('/api/uploads', { ...about }, form.contentType, form.body)
  }

  async batch<T>(id: number): Promise<T> {
    return this.#transport.get<T>(`/api/uploads/${checkId(id, 'id')}`)
  }

  /** One item as it stands in its file: its place, and its first bytes as text. */
  async content<T>(id: number): Promise<T> {
    return this.#transport.get<T>(`/api/uploads/items/${checkId(id, 'id')}/content`)
  }

  async errors<T>(id: number, { after, limit }: Page = {}): Promise<T> {
    return this.#transport.get<T>(`/api/uploads/${checkId(id, 'id')}/errors`, { after, limit })
  }

  async search<T>(query: Query): Promise<T> {
    return this.#transport.get<T>('/api/search', query)
  }

  async ancestors<T>(hnId: number, query: Query = {}): Promise<T> {
    return this.#transport.get<T>(`/api/search/${checkId(hnId, 'hnId')}/ancestors`, query)
  }

  async descendants<T>(hnId: number, query: Query = {}): Promise<T> {
    return this.#transport.get<T>(`/api/search/${checkId(hnId, 'hnId')}/descendants`, query)
  }
}
