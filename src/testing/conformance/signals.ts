import assert from 'node:assert/strict'
import { systemClock } from '../../clock.ts'
import type { Signal } from '../../store.ts'
import { aChange, aMove, aWorker, waitForNothing } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { leaseMs } from './story.ts'

/** No hint takes nearly as long: one that has not come by then does not come. */
const patienceMs = 2_000

const soon = { for: 'time', at: 1_000_500 } as const

/** What must be heard of when it happens: each prepares, and returns the act. */
const acts: Readonly<Record<string, readonly [keyof Signal, (story: Story) => Promise<() => Promise<unknown>>]>> = {
  'what is created to run': ['work', async (story) => () => story.create()],
  'what is created with a timer': ['due', async (story) => () => story.create({ state: 'parked', wait: soon })],
  'a move that leaves something to run': [
    'work',
    async (story) => {
      const entity = await story.create({ state: 'parked', wait: waitForNothing })
      return () => story.saved(aMove(entity, { state: 'ready' }))
    },
  ],
  'a move that sets a timer': [
    'due',
    async (story) => {
      const entity = await story.create()
      return () => story.saved(aMove(entity, { state: 'parked', wait: soon }))
    },
  ],
  'an orderly release': [
    'work',
    async (story) => {
      const { entity, worker } = await story.createClaimed()
      const leases = [{ id: entity.id, epoch: entity.epoch }]
      return () => story.store.release({ kind: 'give_back', worker: worker.id, leases })
    },
  ],
  'the end of a dead worker': [
    'work',
    async (story) => {
      const { worker } = await story.createClaimed()
      return () => story.dies(worker)
    },
  ],
  'a gate that opens': [
    'work',
    async (story) => {
      const { parent } = await story.createParent(1, { wait: { for: 'run', at: 0, gated: true } })
      return () => story.saved(aChange(parent, { opens: ['parcels'] }))
    },
  ],
  'lanes that go on': [
    'work',
    async (story) => {
      const { parent } = await story.createParent(1, {}, { lanes: 'rest' })
      return () => story.saved(aChange(parent, { lanes: 'go' }))
    },
  ],
  'a hold that is lifted': [
    'work',
    async (story) => {
      const entity = await story.create()
      const hold = await story.hold({ entity: entity.id })
      return () => story.store.holds({ lift: hold })
    },
  ],
  'the last child of a parent that waits': [
    'due',
    async (story) => {
      const { parent, children } = await story.createParent(1)
      const { wake } = await story.lane(parent.id)
      await story.saved(aChange(parent, { read: [{ lane: 'parcels', wake }] }))
      return () => story.saved(aMove(children[0]!))
    },
  ],
  'a lease that is ended from outside': [
    'ended',
    async (story) => {
      const { entity } = await story.createClaimed()
      return () => story.saved(aMove(entity, { by: 'outside' }))
    },
  ],
  'a lease that outran its time': [
    'ended',
    async (story) => {
      const { entity } = await story.createClaimed()
      const leases = [{ id: entity.id, epoch: entity.epoch }]
      return () => story.store.release({ kind: 'timed_out', leases, error: 'slow' })
    },
  ],
  'lanes that are stopped': [
    'ended',
    async (story) => {
      const { parent } = await story.createParent(1)
      await story.claimOne(await story.register())
      return () => story.saved(aMove(parent, { state: 'cancelled', settled: true, lanes: 'stop' }))
    },
  ],
}

/** A hint may be lost; but a store that gives none at all is polled, and every gate opens late. */
export function signals(tell: Tell): void {
  for (const [what, [hint, prepare]] of Object.entries(acts)) {
    tell(`${hint} is signalled by ${what}`, async (story) => {
      if (!story.store.signals) return
      const act = await prepare(story)
      const heard = hearing(story, hint)
      await act()
      assert.ok(await heard, `${hint} was not signalled`)
    })
  }

  tell('nothing is signalled by what changes nothing that waits', async (story) => {
    if (!story.store.signals) return
    const { entity, worker } = await story.createClaimed()
    const heard: Signal[] = []
    const end = story.store.signals((signal) => heard.push(signal))
    await story.saved(aChange(entity, { priority: 3 }))
    await story.store.renew({ id: worker.id, identity: aWorker(), leaseMs })
    await story.saved(aMove(entity))
    await new Promise<void>((resolve) => systemClock().soon(resolve))
    end()
    assert.deepEqual(heard, [])
  })
}

/** From now on: whether the hint comes. */
function hearing(story: Story, hint: keyof Signal): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (isHeard: boolean): void => {
      cancel()
      end?.()
      resolve(isHeard)
    }
    const cancel = systemClock().after(patienceMs, () => answer(false))
    const end = story.store.signals?.((signal) => signal[hint] && answer(true))
  })
}
