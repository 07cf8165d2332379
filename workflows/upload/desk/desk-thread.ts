import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from 'sluice/clock'
import { isSluiceError, messageOf } from 'sluice/errors'
import { Clerk } from './clerk.ts'
import { Folding } from './folding.ts'
import { hierarchyOf, searchWith } from './library.ts'
import type { Answer, DeskSettings, Failure, Places, Question, Verb, Verbs } from './wire.ts'

type Handlers = { readonly [V in Verb]?: (given: Verbs[V]['given']) => Verbs[V]['answer'] }

/** The program of the family's thread: answers one question after another, and checks big files in slices between them. */
function serve(port: NonNullable<typeof parentPort>, settings: DeskSettings): void {
  const clock = systemClock()
  const clerk = new Clerk(settings, (sha256) => join(settings.folder, sha256), clock.now)
  const { catalogue } = clerk
  const folding = new Folding(catalogue, clock)
  const cancelled = new Set<number>()
  const handlers: Handlers = {
    follow: ({ path, bytes }) => {
      clerk.follow(path, bytes)
      return null
    },
    followed: ({ path, sha256 }) => {
      clerk.followed(path, sha256)
      return null
    },
    number: ({ sha256 }) => catalogue.fileNumber(sha256),
    evidence: ({ hnIds }) => ({ known: catalogue.known(hnIds), places: catalogue.ends() }),
    register: ({ number, sha256 }) => {
      catalogue.registerFile(number, sha256)
      return null
    },
    load: (places) => clerk.load(places),
    compare: (places) => clerk.compare(places),
    known: (places) => clerk.known(places),
    index: (places) => clerk.index(places),
    unresolved: ({ batch }) => catalogue.unresolved(batch),
    search: (query) => searchWith(clerk, query),
    hierarchy: (query) => hierarchyOf(clerk, query),
    beginRebuild: () => {
      catalogue.beginRebuild()
      return null
    },
    rebuildWith: (places: Places) => clerk.indexAgain(places),
    finishRebuild: () => {
      catalogue.finishRebuild()
      return catalogue.counts().documents
    },
    abandonRebuild: () => {
      catalogue.abandonRebuild()
      return null
    },
    stop: () => {
      folding.stop()
      clerk.close()
      return null
    },
  }
  const answer = (message: Answer) => port.postMessage(message)
  const fail = (id: number, error: unknown) => answer({ id, failure: failureOf(error) })

  const check = (id: number, sha256: string) => {
    const checking = clerk.check(sha256)
    const step = () => {
      try {
        if (cancelled.delete(id)) return checking.close()
        if (!checking.step()) return answer({ id, answer: checking.result() })
        answer({ id, progress: checking.bytes })
        clock.soon(step)
      } catch (error) {
        checking.close()
        fail(id, error)
      }
    }
    step()
  }

  const elements = (id: number, given: Verbs['elements']['given']) => {
    const { sha256, cursor, limit } = given
    const step = () => {
      try {
        if (clerk.catchUp(sha256, cursor)) clock.soon(step)
        else answer({ id, answer: clerk.elements(sha256, cursor, limit) })
      } catch (error) {
        fail(id, error)
      }
    }
    step()
  }

  port.on('message', (question: Question) => {
    if ('cancel' in question) return cancelled.add(question.cancel)
    const { id, verb, given } = question
    clerk.begin()
    try {
      if (verb === 'check') return check(id, (given as Verbs['check']['given']).sha256)
      if (verb === 'elements') return elements(id, given as Verbs['elements']['given'])
      const handler = handlers[verb] as (given: unknown) => unknown
      answer({ id, answer: handler(given) })
      if (verb === 'stop') port.close()
      else folding.answered(verb === 'index' || verb === 'rebuildWith' ? (given as Places).entities.length : 0)
    } catch (error) {
      fail(id, error)
    }
  })
}

function failureOf(error: unknown): Failure {
  const code = isSluiceError(error) ? error.code : null
  return { code, message: messageOf(error), details: isSluiceError(error) ? error.detail : {} }
}

if (parentPort) serve(parentPort, workerData as DeskSettings)
