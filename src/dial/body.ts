import type { Readable } from 'node:stream'
import type { Clock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import type { Deadline } from './deadline.ts'
import { dialError } from './dial-error.ts'
import { bodyFailureOf, wrongLength } from './failure.ts'
import type { ResponseHead } from './response-head.ts'

export interface BodySource {
  readonly stream: Readable
  readonly connection: Connection
  readonly connections: Connections
  readonly deadline: Deadline
  readonly clock: Clock
  readonly head: Pick<ResponseHead, 'offset' | 'length'>
  /** For messages. */
  readonly url: string
  readonly bytesMax: number
}

/** The bytes of a response, counted as they really come. It is read once. */
export class Body implements AsyncIterable<Uint8Array> {
  readonly #source: BodySource
  #read = false

  constructor(source: BodySource) {
    this.#source = source
    // If nobody reads, the end that a deadline makes has no other listener.
    source.stream.on('error', () => {})
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    if (this.#read)
      throw new SluiceError('conflict', `The body of ${this.#source.url} was read before; ask for it again.`)
    this.#read = true
    return this.#chunks()
  }

  /** Ends a response that is not wanted any more, and its connection. */
  discard(): void {
    const { connections, connection, deadline } = this.#source
    this.#read = true
    deadline.stop()
    connections.drop(connection)
  }

  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    const { stream, connection, connections, deadline, clock, head, url, bytesMax } = this.#source
    const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
    let at = head.offset
    let complete = false
    try {
      for (;;) {
        const { done, value } = await deadline.waiting(() => chunks.next())
        if (done) break
        deadline.received(value.length)
        at += value.length
        if (at > bytesMax)
          throw dialError('too_big', url, `${url} sent more than the ${bytesMax} bytes that may be read.`)
        yield value
      }
      if (head.length !== null) {
        if (at !== head.length) throw wrongLength(url, head.length, at)
        // What comes behind the announced end shows as a broken connection, by now or in this turn.
        await new Promise<void>((resolve) => clock.soon(resolve))
        if (isSurplus(connection.socket.errored)) throw wrongLength(url, head.length, null)
      }
      complete = true
    } catch (error) {
      throw bodyFailureOf(error, url, deadline.signal, head.length, at)
    } finally {
      deadline.stop()
      if (complete) connections.give(connection)
      else connections.drop(connection)
    }
  }
}

function isSurplus(error: Error | null): boolean {
  return error !== null && (error.name === 'HTTPParserError' || error.message === 'bad response')
}
