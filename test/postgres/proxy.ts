import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Where the next connection ends. Bytes are counted from the moment it was ordered, over all that passes. */
export type Cut =
  /** So many bytes of what the client asks have reached the server. */
  | { readonly of: 'requests'; readonly bytes: number }
  /** So many bytes of what the server answers have reached the client. */
  | { readonly of: 'answers'; readonly bytes: number }
  /** The transaction is there, and so many bytes of the words that say so have reached the client. */
  | { readonly of: 'commit'; readonly bytes: number }

/** Orderly: both sides are told that the other has gone. `reset`: what is under way may be lost as well. */
export type Manner = 'end' | 'reset'

/** What passed since the last order. */
export interface Passed {
  readonly requests: number
  readonly answers: number
  readonly isCut: boolean
}

/**
 * Stands between a store and its server, on this machine, and loses connections where a test wants them lost. Connections over which
 * notifications are sent are left alone by cuts: they carry hints, no promises.
 */
export class CuttingProxy implements AsyncDisposable {
  readonly port: number
  readonly #server: Server
  readonly #target: number
  readonly #links = new Set<Link>()
  /** Those that are never answered. */
  readonly #strangers = new Set<Socket>()
  #order: { readonly cut: Cut; readonly manner: Manner } | null = null
  #counts = { requests: 0, answers: 0 }
  #isCut = false
  #isSilent = false
  #pause: Pause | null = null
  /** Connections that clients have made so far. */
  made = 0

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (client) => this.#link(client))
  }

  static async start(target: number): Promise<CuttingProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new CuttingProxy(server, target)
  }

  /** The same database, by way of this proxy. */
  through(url: string): string {
    const address = new URL(url)
    address.port = String(this.port)
    return address.href
  }

  /** The next connection that gets so far is lost there. */
  cut(cut: Cut, manner: Manner = 'end'): void {
    this.#order = { cut, manner }
    this.#counts = { requests: 0, answers: 0 }
    this.#isCut = false
  }

  /** Nothing is lost any more. */
  spare(): Passed {
    this.#order = null
    return { ...this.#counts, isCut: this.#isCut }
  }

  /** Ends the connections that can be cut, and returns when the clients have noticed. */
  async hangUp(): Promise<void> {
    await Promise.all(
      [...this.#links]
        .filter(({ isNotifying }) => !isNotifying)
        .map((link) => {
          link.lose('end')
          return link.ended
        }),
    )
  }

  /** Nothing passes any more, in either direction, over any connection of now; whoever connects anew is served. */
  silence(): void {
    for (const link of this.#links) link.isSilent = true
  }

  /** As if the server were gone from the network: also who connects anew is not answered. False: all is as before. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent
    this.silence()
  }

  /**
   * The first connection on which the client says this is held up behind it: the server does that, and hears nothing more until `resume`.
   * Resolves when it is held up and the server has answered all before.
   */
  holdBehind(text: string): { readonly held: Promise<void>; resume(): void } {
    const held = Promise.withResolvers<void>()
    const pause: Pause = { text, link: null, isHeld: held.resolve }
    this.#pause = pause
    return {
      held: held.promise,
      resume: () => {
        this.#pause = null
        pause.link?.resume()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const link of this.#links) link.lose('reset')
    for (const socket of this.#strangers) socket.destroy()
    await closed
  }

  #link(client: Socket): void {
    this.made += 1
    if (this.#isSilent) {
      client.on('error', () => {})
      this.#strangers.add(client)
      return
    }
    const link = new Link(client, connect(this.#target, '127.0.0.1'), {
      requests: (link, frame) => this.#ask(link, frame),
      answers: (link, frame) => this.#answer(link, frame),
      ended: (link) => this.#links.delete(link),
    })
    this.#links.add(link)
  }

  #ask(link: Link, frame: Buffer): void {
    if (frame.includes('pg_notify')) link.isNotifying = true
    const pause = this.#pause
    if (pause && !pause.link && frame.includes(pause.text)) {
      pause.link = link
      link.holdUp(pause.isHeld)
    }
    this.#pass(link, 'requests', frame)
  }

  #answer(link: Link, frame: Buffer): void {
    const order = this.#order
    if (order?.cut.of === 'commit' && !link.isNotifying && isCommit(frame)) {
      this.#order = { cut: { of: 'answers', bytes: this.#counts.answers + order.cut.bytes }, manner: order.manner }
    }
    this.#pass(link, 'answers', frame)
  }

  #pass(link: Link, way: 'requests' | 'answers', frame: Buffer): void {
    if (link.isNotifying) {
      link.pass(way, frame)
      return
    }
    const before = this.#counts[way]
    this.#counts[way] += frame.length
    const order = this.#order
    if (order?.cut.of !== way || this.#counts[way] < order.cut.bytes) {
      link.pass(way, frame)
      return
    }
    this.#order = null
    this.#isCut = true
    this.#counts[way] = order.cut.bytes
    link.pass(way, frame.subarray(0, order.cut.bytes - before))
    link.lose(order.manner)
  }
}

interface Pause {
  readonly text: string
  readonly isHeld: () => void
  link: Link | null
}

interface Ways {
  requests(link: Link, frame: Buffer): void
  answers(link: Link, frame: Buffer): void
  ended(link: Link): void
}

/** One connection through the proxy: two sockets, and what goes between them, message by message. */
class Link {
  readonly ended: Promise<void>
  isNotifying = false
  isSilent = false
  readonly #client: Socket
  readonly #server: Socket
  readonly #held: Buffer[] = []
  /** What was sent and not yet answered, by the letters of the messages: executed statements, plain queries, and the ends of flights. */
  readonly #open: string[] = []
  #whenHeld: (() => void) | null = null
  #isHeldUp = false
  /** The statement behind which it is held up has been sent. */
  #isSent = false
  #isLost = false

  constructor(client: Socket, server: Socket, ways: Ways) {
    this.#client = client
    this.#server = server
    const requests = new Frames(true)
    const answers = new Frames(false)
    client.setNoDelay(true)
    server.setNoDelay(true)
    client.on('data', (chunk) => {
      if (this.isSilent || this.#isLost) return
      for (const frame of requests.of(chunk)) {
        if (this.#isSent) {
          this.#held.push(frame)
          continue
        }
        ways.requests(this, frame)
        const letter = String.fromCharCode(frame[0]!)
        if (!'EQS'.includes(letter)) continue
        this.#open.push(letter)
        if (!this.#isHeldUp || letter === 'S') continue
        this.#isSent = true
        // Without it the server would keep its answers until the end of the flight, which it does not get to hear of.
        this.#server.write(flush)
      }
    })
    server.on('data', (chunk) => {
      if (this.isSilent || this.#isLost) return
      for (const frame of answers.of(chunk)) {
        ways.answers(this, frame)
        this.#answered(String.fromCharCode(frame[0]!))
        if (this.#isSent && this.#open.length === 0) this.#whenHeld?.()
      }
    })
    const ends = [client, server].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())))
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      // A way that has gone silent tells nobody of the other's end.
      socket.once('close', () => this.isSilent || this.#other(socket).destroy())
    }
    this.ended = ends[0]!
    void Promise.all(ends).then(() => ways.ended(this))
  }

  /** C: a statement is done. Z: the server is ready for more, whatever became of those before. */
  #answered(letter: string): void {
    if (letter === 'C' && this.#open[0] === 'E') this.#open.shift()
    if (letter !== 'Z') return
    while (this.#open[0] === 'E') this.#open.shift()
    this.#open.shift()
  }

  #other(socket: Socket): Socket {
    return socket === this.#client ? this.#server : this.#client
  }

  pass(way: 'requests' | 'answers', bytes: Buffer): void {
    if (this.#isLost || bytes.length === 0) return
    const socket = way === 'requests' ? this.#server : this.#client
    socket.write(bytes)
  }

  lose(manner: Manner): void {
    this.#isLost = true
    for (const socket of [this.#client, this.#server]) {
      // What was passed before arrives, as far as the manner allows.
      if (manner === 'end') socket.end()
      else if (socket.writableLength > 0) socket.write('', () => socket.resetAndDestroy())
      else socket.resetAndDestroy()
    }
  }

  holdUp(isHeld: () => void): void {
    this.#isHeldUp = true
    this.#whenHeld = isHeld
  }

  resume(): void {
    this.#isHeldUp = false
    this.#isSent = false
    this.#whenHeld = null
    for (const frame of this.#held.splice(0)) this.pass('requests', frame)
  }
}

const flush = Buffer.from([...Buffer.from('H'), 0, 0, 0, 4])

function isCommit(frame: Buffer): boolean {
  return frame[0] === 'C'.charCodeAt(0) && frame.toString('latin1', 5) === 'COMMIT\0'
}

/** Cuts a stream into the messages of PostgreSQL's protocol: a letter, a length, the rest. A client's first has no letter. */
class Frames {
  #rest: Buffer = Buffer.alloc(0)
  #isGreeting: boolean

  constructor(isClient: boolean) {
    this.#isGreeting = isClient
  }

  of(chunk: Buffer): readonly Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Buffer[] = []
    for (;;) {
      const head = this.#isGreeting ? 0 : 1
      if (this.#rest.length < head + 4) return frames
      const length = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < length) return frames
      frames.push(this.#rest.subarray(0, length))
      this.#rest = this.#rest.subarray(length)
      this.#isGreeting = false
    }
  }
}
