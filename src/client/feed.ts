import { sleep } from '../clock.ts'
import type { Change, WatchOptions } from '../control.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import { messagesIn, type StreamMessage } from './event-stream.ts'
import type { Transport } from './transport.ts'

const path = '/api/events'
/** More are sorted out here. */
const idsMax = 100

/** What is heard on the feed: where it begins, and each change. */
export type Heard =
  | { readonly kind: 'ready'; readonly position: number }
  | { readonly kind: 'change'; readonly change: Change }

/** Every change from the moment of the call on, over as many connections as it takes. */
export function watching(transport: Transport, options: WatchOptions): AsyncIterable<Change> {
  const begin = options.after === undefined ? positionNow(transport, options.signal) : Promise.resolve(options.after)
  // Whoever reads gets the error; whoever never does has lost nothing by it.
  begin.catch(() => {})
  return { [Symbol.asyncIterator]: () => changesFrom(transport, options, begin) }
}

async function* changesFrom(
  transport: Transport,
  { ids, signal, begun }: WatchOptions,
  begin: Promise<number | null>,
): AsyncGenerator<Change, void, undefined> {
  const after = await begin
  if (after === null) return
  begun?.(after)
  const wanted = ids && ids.length > idsMax ? new Set(ids) : null
  for await (const heard of hearing(transport, { ids, after, signal })) {
    if (heard.kind === 'ready') continue
    const { position, events, births } = heard.change
    if (!wanted) yield heard.change
    else {
      const own = {
        events: events.filter(({ entity }) => wanted.has(entity)),
        births: births.filter((id) => wanted.has(id)),
      }
      if (own.events.length + own.births.length > 0) yield { position, ...own }
    }
  }
}

/** Null: it was aborted before. */
async function positionNow(transport: Transport, signal: AbortSignal | undefined): Promise<number | null> {
  for await (const heard of hearing(transport, { ids: undefined, after: null, signal })) {
    if (heard.kind === 'ready') return heard.position
  }
  return null
}

interface Hearing {
  readonly ids: readonly number[] | undefined
  readonly after: number | null
  readonly signal: AbortSignal | undefined
}

/** Comes back after a break, behind what was heard last: nothing is missed and nothing is heard twice. Ends with its signal. */
export async function* hearing(
  transport: Transport,
  { ids, after, signal }: Hearing,
): AsyncGenerator<Heard, void, undefined> {
  let position = after
  for (let failures = 0; !isAborted(signal); failures += 1) {
    const connection = new Connection(transport, ids, position, signal)
    try {
      for await (const message of connection.messages()) {
        switch (message.event) {
          case 'ready': {
            const { position: begin } = JSON.parse(message.data) as { position: number }
            position ??= begin
            yield { kind: 'ready', position: begin }
            break
          }
          case 'change': {
            const change = JSON.parse(message.data) as Change
            position = change.position
            failures = 0
            yield { kind: 'change', change }
            break
          }
          case 'resync': {
            const { passed, reason } = JSON.parse(message.data) as {
              readonly passed?: unknown
              readonly reason?: unknown
            }
            // Nothing on the way there was for us.
            if (typeof passed === 'number' && passed > (position ?? -1)) [position, failures] = [passed, 0]
            else refuseLost(reason, position, failures)
            break
          }
          default:
          // A newer server may say more.
        }
      }
    } catch (error) {
      if (isAborted(signal)) return
      if (!isPassing(error) || failures >= transport.limits.retriesMax) throw error
    } finally {
      connection.close()
    }
    if (!isAborted(signal)) await sleep(transport.clock, transport.delayOf(failures), signal)
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

/**
 * The server drops whoever is too slow, and who then comes back behind what it heard last misses nothing. If it is dropped again and again
 * without hearing anything, what it wants is not kept any more.
 */
function refuseLost(reason: unknown, position: number | null, failures: number): void {
  if (failures < 3) return
  throw new SluiceError(
    'not_found',
    `The feed cannot be read on from position ${position}: ${messageOf(reason, 300)}. Look at the histories instead.`,
    { after: position },
  )
}

/** Breaks and restarts pass; what the server refuses by itself does not. */
function isPassing(error: unknown): boolean {
  if (!isSluiceError(error)) return true
  return error.detail.connection !== undefined || error.detail.problem === 'rate-limited' || error.detail.status === 503
}

/** One connection to the feed; it is given up if the server falls silent. */
class Connection {
  readonly #transport: Transport
  readonly #ids: readonly number[] | undefined
  readonly #after: number | null
  readonly #end = new AbortController()
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = () => this.#end.abort()
  #cancelSilence = () => {}

  constructor(
    transport: Transport,
    ids: readonly number[] | undefined,
    after: number | null,
    signal: AbortSignal | undefined,
  ) {
    this.#transport = transport
    this.#ids = ids && ids.length <= idsMax ? ids : undefined
    this.#after = after
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  async *messages(): AsyncGenerator<StreamMessage, void, undefined> {
    const { limits } = this.#transport
    this.#listen()
    const query = {
      ...(this.#ids === undefined ? {} : { ids: this.#ids }),
      ...(this.#after === null ? {} : { after: this.#after }),
    }
    const bytes = await this.#transport.stream(path, query, this.#end.signal)
    for await (const message of messagesIn(this.#heard(bytes), limits.messageCharactersMax)) if (message) yield message
  }

  close(): void {
    this.#cancelSilence()
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#end.abort()
  }

  async *#heard(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const block of bytes) {
        this.#listen()
        yield block
        // A reader that takes its time is not the server's silence.
        this.#listen()
      }
    } catch (error) {
      throw new SluiceError('internal', `The feed broke off: ${messageOf(error, 300)}`, { connection: 'broken' }, error)
    }
  }

  #listen(): void {
    this.#cancelSilence()
    this.#cancelSilence = this.#transport.clock.after(this.#transport.limits.silenceMs, () => this.#end.abort())
  }
}
