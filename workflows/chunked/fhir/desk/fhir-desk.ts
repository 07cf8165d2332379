import { Worker } from 'node:worker_threads'
import { type ErrorCode, errorCodes, SluiceError } from 'sluice/errors'
import type { Within } from '../resources/resources.ts'
import { defaultValidation, type ValidationSettings } from '../validation.ts'
import type { Answer, DeskSettings, Failure, ImportGroup, Question, ResourceQuery, Verb, Verbs } from './wire.ts'

export interface FhirDeskOptions {
  /** The file of the resources; it is made if there is none. */
  readonly file: string
  readonly validation?: Partial<ValidationSettings>
  /** Questions under way. Whoever comes when there are so many is sent away, and tries again. */
  readonly questionsMax?: number
}

const questionsMaxDefault = 256
/** Young objects of the thread: most of what it makes is garbage at once. */
const youngMib = 16
const oldMib = 384

/**
 * Where resources are checked, stored, searched and handed out: a thread of this process, so that the engine's thread only
 * moves entities. A thread that dies is replaced at the next question: nothing is kept in it.
 */
export class FhirDesk {
  readonly #settings: DeskSettings
  readonly #questionsMax: number
  readonly #waiting = new Map<number, Pending>()
  #thread: Worker | null = null
  #asked = 0
  #isStopped = false
  #stopping: Promise<void> | null = null

  constructor({ file, validation, questionsMax = questionsMaxDefault }: FhirDeskOptions) {
    this.#settings = { file, validation: { ...defaultValidation, ...validation } }
    this.#questionsMax = questionsMax
  }

  get validation(): ValidationSettings {
    return this.#settings.validation
  }

  /** Resolves when the file is open: what is wrong with it is said now, not by the first resource. */
  async start(): Promise<void> {
    await this.ask('types', {})
  }

  /** Checks lines and stores the good ones, durably and all together. */
  import(group: ImportGroup) {
    return this.ask('import', group)
  }

  /** What is wrong with each of these texts; nothing is stored. */
  check(texts: readonly string[]) {
    return this.ask('check', texts)
  }

  /** Makes the terms for searching anew. */
  reindex(numbers: readonly number[]) {
    return this.ask('reindex', numbers)
  }

  types(within: Within = {}) {
    return this.ask('types', within)
  }

  ranges(query: Verbs['ranges']['given']) {
    return this.ask('ranges', query)
  }

  ids(query: Verbs['ids']['given']) {
    return this.ask('ids', query)
  }

  read(numbers: readonly number[]) {
    return this.ask('read', numbers)
  }

  /** A page of resources of one type as lines of JSON. */
  export(query: Verbs['export']['given']) {
    return this.ask('export', query)
  }

  get(type: string, id: string, within: Within = {}) {
    return this.ask('get', { type, id, ...within })
  }

  search(query: ResourceQuery) {
    return this.ask('search', query)
  }

  /** What was asked before is answered first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const thread = this.#thread
    this.#isStopped = true
    if (!thread) return
    const gone = new Promise((resolve) => thread.once('exit', resolve))
    // One that died meanwhile, or could not close its file, has nothing left to lose.
    await this.#post('stop', null).catch(() => thread.terminate())
    await gone
  }

  ask<V extends Verb>(verb: V, given: Verbs[V]['given']): Promise<Verbs[V]['answer']> {
    if (this.#isStopped)
      return Promise.reject(new SluiceError('conflict', 'The desk for FHIR resources has been stopped.'))
    if (this.#waiting.size >= this.#questionsMax) {
      return Promise.reject(
        new SluiceError(
          'conflict',
          `The desk for FHIR resources has ${this.#waiting.size} questions to answer and takes no more now. Try again later.`,
          { limit: this.#questionsMax },
        ),
      )
    }
    return this.#post(verb, given)
  }

  #post<V extends Verb>(verb: V, given: Verbs[V]['given']): Promise<Verbs[V]['answer']> {
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Pending['resolve'], reject })
      this.#running().postMessage({ id, verb, given } satisfies Question)
    })
  }

  #running(): Worker {
    if (this.#thread) return this.#thread
    const here = import.meta.url
    const file = here.endsWith('.ts') ? new URL('./desk-thread.ts', here) : new URL('./desk-thread.js', here)
    const thread = new Worker(file, {
      workerData: this.#settings,
      resourceLimits: { maxYoungGenerationSizeMb: youngMib, maxOldGenerationSizeMb: oldMib },
      name: 'fhir-desk',
    })
    thread.on('message', (answer: Answer) => this.#answered(answer))
    thread.on('error', (error) => this.#lost(thread, error))
    thread.on('exit', () => this.#lost(thread, new SluiceError('internal', 'The thread of the FHIR resources ended.')))
    this.#thread = thread
    return thread
  }

  #answered(answer: Answer): void {
    const pending = this.#waiting.get(answer.id)
    if (!pending) return
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
}

function errorOf({ code, message, details }: Failure): Error {
  return new SluiceError(errorCodes.find((known) => known === code) ?? ('internal' as ErrorCode), message, details)
}
