import { Worker } from 'node:worker_threads'
import { type ErrorCode, errorCodes, SluiceError } from 'sluice'
import type { Desk } from './desk.ts'
import { type PlacedItem, placesOf } from './places.ts'
import type { Answer, DeskSettings, Failure, Question, Verb, Verbs } from './wire.ts'

/** Young objects of the thread: most of what it makes is garbage at once, and the process has a bound to keep. */
const youngMib = 6

/** The desk as a thread of this process. A thread that dies is replaced at the next question: nothing is kept in it. */
export class ThreadDesk implements Desk {
  readonly #settings: DeskSettings
  readonly #waiting = new Map<number, Pending>()
  #thread: Worker | null = null
  #asked = 0
  #isStopped = false
  #stopping: Promise<void> | null = null

  constructor(settings: DeskSettings) {
    this.#settings = settings
  }

  /** Resolves when the thread has opened the catalogue: what is wrong with it is said now, not by the first item. */
  async start(): Promise<void> {
    await this.ask('unresolved', { batch: 0 })
  }

  check(sha256: string, onProgress: (bytes: number) => void, signal: AbortSignal) {
    const answer = this.ask('check', { sha256 }, onProgress)
    const id = this.#asked
    const cancel = () => {
      this.#thread?.postMessage({ cancel: id } satisfies Question)
      this.#waiting.get(id)?.reject(signal.reason)
      this.#waiting.delete(id)
    }
    signal.addEventListener('abort', cancel, { once: true })
    return answer.finally(() => signal.removeEventListener('abort', cancel))
  }

  async elements(...[sha256, cursor, limit]: Parameters<Desk['elements']>) {
    const group = await this.ask('elements', { sha256, cursor, limit })
    return { ...group, fault: group.fault?.message ?? null }
  }

  numberOf(sha256: string) {
    return this.ask('number', { sha256 })
  }

  load(items: readonly PlacedItem[]) {
    return this.#about('load', items)
  }

  compare(items: readonly PlacedItem[]) {
    return this.#about('compare', items)
  }

  known(items: readonly PlacedItem[]) {
    return this.#about('known', items)
  }

  index(items: readonly PlacedItem[]) {
    return this.#about('index', items)
  }

  #about<V extends 'load' | 'compare' | 'known' | 'index'>(verb: V, items: readonly PlacedItem[]) {
    // Copied, not handed over: for so little, changing owners costs more than copying.
    return this.ask(verb, placesOf(items))
  }

  unresolved(batch: number) {
    return this.ask('unresolved', { batch })
  }

  /** What was asked before is answered first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const thread = this.#thread
    if (thread) {
      const gone = new Promise((resolve) => thread.once('exit', resolve))
      const asked = this.ask('stop', null)
      this.#isStopped = true
      // One that died meanwhile, or could not close its files, has nothing left to lose.
      await asked.catch(() => thread.terminate())
      await gone
    }
    this.#isStopped = true
  }

  ask<V extends Verb>(
    verb: V,
    given: Verbs[V]['given'],
    onProgress?: (value: number) => void,
  ): Promise<Verbs[V]['answer']> {
    if (this.#isStopped) return Promise.reject(new SluiceError('conflict', 'The upload family has been stopped.'))
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Pending['resolve'], reject, onProgress })
      this.#running().postMessage({ id, verb, given } satisfies Question)
    })
  }

  #running(): Worker {
    if (this.#thread) return this.#thread
    const here = import.meta.url
    const file = here.endsWith('.ts') ? new URL('./desk-thread.ts', here) : new URL('./desk-thread.js', here)
    const thread = new Worker(file, {
      workerData: this.#settings,
      resourceLimits: { maxYoungGenerationSizeMb: youngMib, maxOldGenerationSizeMb: 512 },
      name: 'upload-desk',
    })
    thread.on('message', (answer: Answer) => this.#answered(answer))
    thread.on('error', (error) => this.#lost(thread, error))
    thread.on('exit', () => this.#lost(thread, new SluiceError('internal', 'The thread of the upload family ended.')))
    // An idle desk does not keep the process alive; what it was asked does, by whoever waits for it.
    this.#thread = thread
    return thread
  }

  #answered(answer: Answer): void {
    const pending = this.#waiting.get(answer.id)
    if (!pending) return
    if ('progress' in answer) {
      pending.onProgress?.(answer.progress)
      return
    }
    this.#waiting.delete(answer.id)
    if ('failure' in answer) pending.reject(errorOf(answer.failure))
    else pending.resolve(answer.answer)
  }

  /** Whoever waits for an answer tries again: that is what attempts are for. */
  #lost(thread: Worker, error: unknown): void {
    if (this.#thread !== thread) return
    this.#thread = null
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(error)
  }
}

interface Pending {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onProgress: ((value: number) => void) | undefined
}

function errorOf({ code, message, details }: Failure): Error {
  return new SluiceError(errorCodes.find((known) => known === code) ?? ('internal' as ErrorCode), message, details)
}
