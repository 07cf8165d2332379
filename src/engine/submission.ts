import { sleep } from '../clock.ts'
import type { SubmitItem, SubmitOptions, Submitted } from '../control.ts'
import { isSluiceError, messageOf, SluiceError } from '../errors.ts'
import type { Birth, CreateVerdict } from '../store.ts'
import { birthOf, checkText } from './births.ts'
import type { Services } from './services.ts'

/** How often a create whose answer was lost is sent again before the caller is told. */
const repeatsMax = 8

/** Makes roots: all are checked before the first is stored, then they are stored in groups. */
export class Submission {
  readonly #services: Services
  /** Something is submitted for this later time. */
  readonly #expect: (at: number) => void
  #operations = 0
  #queue: Waiting[] = []
  #busy = false

  constructor(services: Services, expect: (at: number) => void) {
    this.#services = services
    this.#expect = expect
  }

  async submit(
    machine: string,
    items: readonly SubmitItem[],
    options: Pick<SubmitOptions, 'actor' | 'version'>,
  ): Promise<readonly Submitted[]> {
    const births = this.#births(machine, items, options)
    const { createMax } = this.#services.limits
    const submitted: Submitted[] = []
    for (let begin = 0; begin < births.length; begin += createMax) {
      const group = births.slice(begin, begin + createMax)
      const verdicts = await this.#create(group)
      submitted.push(...verdicts.map((verdict, index) => submittedOf(verdict, begin + index)))
    }
    this.#expectLater(births)
    return submitted
  }

  #births(
    machine: string,
    items: readonly SubmitItem[],
    { actor, version }: Pick<SubmitOptions, 'actor' | 'version'>,
  ): readonly Birth[] {
    const { registry, store, limits } = this.#services
    const implementation = version === undefined ? registry.newest(machine) : registry.get(machine, version)
    const now = store.time()
    if (actor !== undefined && (typeof actor !== 'string' || actor.length > limits.nameMax)) {
      throw new SluiceError('invalid', `An actor's name is a text of at most ${limits.nameMax} characters.`, { actor })
    }
    if (actor !== undefined) checkText(actor, 'The actor', 'actor')
    return items.map((item, row) => {
      try {
        return birthOf(
          implementation.machine,
          { ...item, ...(actor === undefined ? {} : { createdBy: actor }) },
          true,
          now,
          limits,
        )
      } catch (error) {
        if (items.length === 1 || !isSluiceError(error)) throw error
        throw new SluiceError(
          error.code,
          `items[${row}]: ${error.message} Nothing was stored.`,
          { ...error.detail, row },
          error,
        )
      }
    })
  }

  /** All that is submitted in one turn of the event loop, by whomever, is one durable write. */
  #create(births: readonly Birth[]): Promise<readonly CreateVerdict[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ births, resolve, reject })
      if (this.#busy) return
      this.#busy = true
      this.#services.clock.soon(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#nextGroup()
      try {
        const verdicts = await this.#send(group.flatMap(({ births }) => births))
        let begin = 0
        for (const { births, resolve } of group) {
          resolve(verdicts.slice(begin, begin + births.length))
          begin += births.length
        }
      } catch (error) {
        if (group.length === 1 || !isAnswer(error)) for (const { reject } of group) reject(error)
        // What the store will not have is one caller's affair, not his neighbours'.
        else for (const { births, resolve, reject } of group) await this.#send(births).then(resolve, reject)
      }
    }
    this.#busy = false
  }

  #nextGroup(): readonly Waiting[] {
    const { createMax } = this.#services.limits
    let count = 0
    const end = this.#queue.findIndex(({ births }, index) => {
      count += births.length
      return index > 0 && count > createMax
    })
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end)
  }

  /** An error means unknown: the same operation is sent again until it is answered, so that nothing is made twice. */
  async #send(births: readonly Birth[]): Promise<readonly CreateVerdict[]> {
    const { store, clock, name } = this.#services
    const operation = `${name}-c-${++this.#operations}`
    for (let repeats = 0, pauseMs = 10; ; repeats++, pauseMs = Math.min(1_000, pauseMs * 2)) {
      try {
        return await store.create(operation, births)
      } catch (error) {
        if (isAnswer(error)) throw error
        if (repeats >= repeatsMax) {
          const advice = 'Whether it was stored is unknown: submit again, with the same key if it must not run twice.'
          throw new SluiceError(
            'internal',
            `The store did not answer: ${messageOf(error)} ${advice}`,
            { operation },
            error,
          )
        }
        await sleep(clock, pauseMs * (1 + clock.random()))
      }
    }
  }

  #expectLater(births: readonly Birth[]): void {
    const now = this.#services.store.time()
    let next = Number.POSITIVE_INFINITY
    for (const { wait } of births) {
      const at = wait.for === 'nothing' ? null : wait.at
      if (at !== null && at > now && at < next) next = at
    }
    if (Number.isFinite(next)) this.#expect(next)
  }
}

/** One caller's births. */
interface Waiting {
  readonly births: readonly Birth[]
  readonly resolve: (verdicts: readonly CreateVerdict[]) => void
  readonly reject: (error: unknown) => void
}

/** The store has judged the request; all but `internal` would be answered the same way again. */
function isAnswer(error: unknown): boolean {
  return isSluiceError(error) && error.code !== 'internal' && error.code !== 'lease_lost'
}

function submittedOf(verdict: CreateVerdict, row: number): Submitted {
  switch (verdict.kind) {
    case 'saved':
      return { id: verdict.id, existing: false }
    case 'existing':
      return { id: verdict.id, existing: true }
    case 'refused':
      throw new SluiceError('invalid', `items[${row}] was refused: ${verdict.message} Those before it are stored.`, {
        row,
      })
    default:
      return verdict satisfies never
  }
}
