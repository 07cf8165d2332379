import { type ClientRequest, type IncomingMessage, request as rawRequest } from 'node:http'

/** One message of an event stream. */
export interface Message {
  readonly event: string
  readonly id: string | null
  /** Whatever was parsed: tests read answers of every shape. */
  readonly data: ReturnType<typeof JSON.parse>
}

/** A client of /api/events that reads the stream as the standard says. */
export class Ear {
  readonly messages: Message[] = []
  readonly #request: ClientRequest
  readonly #waiting = new Set<() => void>()
  #response: IncomingMessage | null = null
  #text = ''
  comments = 0
  isClosed = false
  status = 0

  constructor(url: string, headers: Readonly<Record<string, string>> = {}, isReading = true) {
    this.#request = rawRequest(url, { headers, agent: false }, (response) => {
      this.#response = response
      this.status = response.statusCode ?? 0
      response.setEncoding('utf8')
      response.on('close', () => this.#close())
      if (isReading) this.read()
      else this.#wake()
    })
    this.#request.on('error', () => this.#close())
    this.#request.end()
  }

  read(): void {
    this.#response?.on('data', (text: string) => {
      this.#text += text
      for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
        this.#hear(this.#text.slice(0, end))
        this.#text = this.#text.slice(end + 2)
      }
      this.#wake()
    })
  }

  /** Resolves when this holds. */
  async until(holds: (ear: Ear) => boolean): Promise<void> {
    while (!holds(this)) {
      if (this.isClosed) throw new Error(`the stream has ended after ${JSON.stringify(this.messages.at(-1))}`)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  async message(event: string): Promise<Message> {
    await this.until(({ messages }) => messages.some((message) => message.event === event))
    return this.messages.find((message) => message.event === event) as Message
  }

  get events(): readonly { readonly entity: number; readonly seq: number; readonly hop: number }[] {
    return this.messages.filter(({ event }) => event === 'change').flatMap(({ data }) => data.events)
  }

  get births(): readonly number[] {
    return this.messages.filter(({ event }) => event === 'change').flatMap(({ data }) => data.births)
  }

  get lastId(): string | null {
    return this.messages.findLast(({ id }) => id !== null)?.id ?? null
  }

  close(): void {
    this.#request.destroy()
  }

  #hear(block: string): void {
    const lines = block.split('\n')
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null
    const data = field('data')
    if (data === null) {
      this.comments += 1
      return
    }
    this.messages.push({ event: field('event') ?? 'message', id: field('id'), data: JSON.parse(data) })
  }

  #close(): void {
    this.isClosed = true
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
