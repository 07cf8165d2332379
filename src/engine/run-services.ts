import { sleep } from '../clock.ts'
import { isSluiceError, SluiceError } from '../errors.ts'
import type { Store } from '../store.ts'
import type { Running } from './running.ts'
import type { Services } from './services.ts'

/** What code that acts in the name of a run needs of the engine: the whole services will do, too. */
export interface RunServices extends Omit<Services, 'store'> {
  readonly store: Pick<Store, 'time' | 'get' | 'list' | 'lanes' | 'events'>
  /**
   * Throws `lease_lost` unless the run still has its lease. Call it between reading other entities and moving them: the lease stood when
   * they were read, so their (epoch, seq) proves that no later run of the same work has moved them since. Undefined: no run asks.
   */
  readonly confirmLease?: () => Promise<void>
}

/**
 * The services for one run. A read that the store does not answer is repeated until it does, as commits are: an outage is not an error of
 * the run, and costs it neither an attempt nor its time. A run that was aborted or dropped ends with the error instead.
 */
export function runServices(services: Services, running: Running): RunServices {
  const { store } = services
  const repeat = <Answer>(read: () => Promise<Answer>) => repeatRead(services, running, read)
  return {
    ...services,
    store: {
      time: () => store.time(),
      get: (ids) => repeat(() => store.get(ids)),
      list: (filter) => repeat(() => store.list(filter)),
      lanes: (parents) => repeat(() => store.lanes(parents)),
      events: (query) => repeat(() => store.events(query)),
    },
    async confirmLease() {
      const { id, epoch } = running.entity
      const [entity] = await repeat(() => store.get([id]))
      if (running.dropped || !entity || entity.owner === null || entity.epoch !== epoch) throw leaseLost(running)
    },
  }
}

async function repeatRead<Answer>(
  { clock, readTrouble }: Services,
  running: Running,
  read: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      const answer = await read()
      readTrouble.over()
      return answer
    } catch (error) {
      if (isRefusal(error) || running.aborted || running.dropped) throw error
      running.failingReads += 1
      await sleep(clock, readTrouble.failed(error), running.signal)
      running.failingReads -= 1
    }
  }
}

/** The store has answered: the same question would be answered the same way. */
function isRefusal(error: unknown): boolean {
  return isSluiceError(error) && error.code !== 'internal'
}

export function leaseLost({ entity }: Running): SluiceError {
  return new SluiceError(
    'lease_lost',
    `The lease over ${entity.machine} ${entity.id} is over; its result is dropped.`,
    { id: entity.id },
  )
}
