import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from 'sluice/clock'
import { isSluiceError, messageOf } from 'sluice/errors'
import { Clerk } from './clerk.ts'
import type { Answer, DeskSettings, Failure, Question, Verb, Verbs } from './wire.ts'

type Handlers = { readonly [V in Verb]: (given: Verbs[V]['given']) => Verbs[V]['answer'] }

/** These need the definitions of FHIR. */
const expertVerbs: ReadonlySet<Verb> = new Set<Verb>(['import', 'check', 'reindex', 'search'])

/** The program of the desk's thread: answers one question after another. */
function serve(port: NonNullable<typeof parentPort>, settings: DeskSettings): void {
  const clerk = new Clerk(settings, systemClock().now)
  const { resources } = clerk
  const handlers: Handlers = {
    import: (group) => clerk.import(group),
    check: (texts) => clerk.check(texts),
    reindex: (numbers) => resources.reindex(numbers),
    types: (within) => resources.types(within),
    ranges: (query) => resources.ranges(query),
    ids: ({ range, ...rest }) => resources.ids(range, rest),
    read: (numbers) => resources.read(numbers),
    export: (query) => clerk.export(query),
    get: ({ type, id, ...within }) => clerk.get(type, id, within),
    search: (query) => clerk.search(query),
    stop: () => {
      clerk.close()
      return null
    },
  }
  const respond = async ({ id, verb, given }: Question) => {
    try {
      if (expertVerbs.has(verb)) await clerk.prepare()
      const handler = handlers[verb] as (given: unknown) => unknown
      const answer = handler(given)
      port.postMessage({ id, answer } satisfies Answer, transfersOf(answer))
    } catch (error) {
      port.postMessage({ id, failure: failureOf(error) } satisfies Answer)
    }
    if (verb === 'stop') port.close()
  }
  // One after another, also while the definitions are being opened.
  let last = Promise.resolve()
  port.on('message', (question: Question) => {
    last = last.then(() => respond(question))
  })
}

/** What is handed over instead of copied. */
function transfersOf(answer: unknown): ArrayBuffer[] {
  if (typeof answer !== 'object' || answer === null || !('bytes' in answer)) return []
  return answer.bytes instanceof Uint8Array ? [answer.bytes.buffer as ArrayBuffer] : []
}

function failureOf(error: unknown): Failure {
  const code = isSluiceError(error) ? error.code : null
  return { code, message: messageOf(error), details: isSluiceError(error) ? error.detail : {} }
}

if (parentPort) serve(parentPort, workerData as DeskSettings)
