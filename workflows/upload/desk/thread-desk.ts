import { Worker } from 'node:worker_threads'
import { type ErrorCode, errorCodes, SluiceError } from 'sluice'
import { itemTypes } from '../hn-item.ts'
import type { ItemData } from '../item-data.ts'
import type { Desk, Indexed, Loaded } from './desk.ts'
import { Grouping } from './grouping.ts'
import type { Answer, DeskSettings, Failure, LoadedGroup, Places, Question, Verb, Verbs, VerdictGroup } from './wire.ts'

/** Young objects of the thread: most of what it makes is garbage at once, and the process has a bound to keep. */
const youngMib = 16

/** The desk as a thread of this process. A thread that dies is replaced at the next question: nothing is kept in it. */
export class ThreadDesk implements Desk {
  readonly #settings: DeskSettings
  readonly #waiting = new Map<number, Pending>()
  readonly #loads: Grouping<Loaded, LoadedGroup>
  readonly #comparisons: Grouping<number | null, VerdictGroup>
  readonly #parents: Grouping<boolean, Uint8Array>
  readonly #indexings: Grouping<Indexed, VerdictGroup>
  #thread: Worker | null = null
  #asked = 0
  #isStopped = false

  constructor(settings: DeskSettings, groupMax: number) {
    this.#settings = settings
    const asking =
      <V extends 'load' | 'compare' | 'known' | 'index'>(verb: V) =>
      (places: Places) =>
        this.ask(verb, places, transferOf(places))
    this.#loads = new Grouping(asking('load'), loadedAt, groupMax)
    this.#comparisons = new Grouping(asking('compare'), duplicateAt, groupMax)
    this.#parents = new Grouping(asking('known'), (known, position) => known[position] === 1, groupMax)
    this.#indexings = new Grouping(asking('index'), indexedAt, groupMax)
  }

  /** Resolves when the thread has opened the catalogue: what is wrong with it is said now, not by the first item. */
  async start(): Promise<void> {
    await this.ask('unresolved', { batch: 0 })
  }

  check(sha256: string, onProgress: (bytes: number) => void, signal: AbortSignal) {
    const answer = this.ask('check', { sha256 }, [], onProgress)
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

  load(entity: number, item: ItemData) {
    return this.#loads.add(entity, item)
  }

  compare(entity: number, item: ItemData) {
    return this.#comparisons.add(entity, item)
  }

  isKnown(entity: number, item: ItemData) {
    return this.#parents.add(entity, item)
  }

  index(entity: number, item: ItemData) {
    return this.#indexings.add(entity, item)
  }

  unresolved(batch: number) {
    return this.ask('unresolved', { batch })
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return
    const thread = this.#thread
    if (thread) {
      const gone = new Promise((resolve) => thread.once('exit', resolve))
      await this.ask('stop', null)
      this.#isStopped = true
      await gone
    }
    this.#isStopped = true
  }

  ask<V extends Verb>(
    verb: V,
    given: Verbs[V]['given'],
    transfer: readonly ArrayBuffer[] = [],
    onProgress?: (value: number) => void,
  ): Promise<Verbs[V]['answer']> {
    if (this.#isStopped) return Promise.reject(new SluiceError('conflict', 'The upload family has been stopped.'))
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Pending['resolve'], reject, onProgress })
      this.#running().postMessage({ id, verb, given } satisfies Question, transfer)
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

function transferOf(places: Places): ArrayBuffer[] {
  return [places.entities, places.batches, places.files, places.offsets, places.lengths].map(
    (array) => array.buffer as ArrayBuffer,
  )
}

function loadedAt(group: LoadedGroup, position: number): Loaded {
  const { types, hnIds, parents, remarks } = group
  const remark = remarks.length === 0 ? undefined : remarks.find((remark) => remark.position === position)
  const hnId = hnIds[position]!
  const parent = parents[position]!
  return {
    fault: remark?.fault ?? null,
    hnId: Number.isNaN(hnId) ? null : hnId,
    type: itemTypes[types[position]!]!,
    parent: Number.isNaN(parent) ? null : parent,
    warnings: remark?.warnings ?? null,
    duplicateOf: Number.isNaN(group.duplicatesOf[position]!) ? null : group.duplicatesOf[position]!,
    isParentKnown: group.knownParents[position] === 1,
  }
}

function duplicateAt({ codes, of }: VerdictGroup, position: number): number | null {
  return codes[position] === 2 ? of[position]! : null
}

const added: Indexed = { kind: 'added' }
const merged: Indexed = { kind: 'merged' }

function indexedAt({ codes, of }: VerdictGroup, position: number): Indexed {
  switch (codes[position]) {
    case 1:
      return merged
    case 2:
      return { kind: 'duplicate', of: of[position]! }
    default:
      return added
  }
}
