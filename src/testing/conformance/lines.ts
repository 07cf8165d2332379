import assert from 'node:assert/strict'
import type { Entity } from '../../entity.ts'
import { aChange, aCheckpoint, aMove, aRun, someChildren, waitForNothing } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf } from './story.ts'

/** Small limits, so that a lane of 300 children is a large one. */
const large = { laneSharedMax: 20, spawnMax: 300 }
/** A handful: the entity, its lanes and lines, the history, the operation. */
const rowsMax = 20

async function rowsWritten(story: Story, act: () => Promise<unknown>): Promise<number> {
  const before = story.harness.written?.() ?? 0
  await act()
  return (story.harness.written?.() ?? 0) - before
}

/** Orders over many entities are one row each. A store that cannot count its writes shows here that the orders work at all. */
export function lines(tell: Tell): void {
  tell(
    'opening a gate before 300 children writes a handful of rows',
    async (story) => {
      const { parent } = await story.createParent(300, { wait: { for: 'run', at: 0, gated: true } })
      const rows = await rowsWritten(story, () => story.saved(aChange(parent, { opens: ['parcels'] })))
      assert.ok(rows <= rowsMax, `${rows} rows`)
      assert.equal((await story.claim(await story.register())).length, 300)
    },
    large,
  )

  tell(
    'publishing 300 staged children writes a handful of rows',
    async (story) => {
      const { entity } = await story.createClaimed()
      const staged = await story.saved(aCheckpoint(entity, { children: someChildren(entity, 300), staging: 'stage' }))
      const rows = await rowsWritten(story, () => story.saved(aMove(staged, { staging: 'publish', spawned: 300 })))
      assert.ok(rows <= rowsMax, `${rows} rows`)
      assert.equal((await story.lane(entity.id)).total, 300)
      assert.equal((await story.children(entity.id)).length, 300)
      assert.equal((await story.claim(await story.register('next'))).length, 300)
    },
    large,
  )

  for (const order of ['rest', 'stop', 'go'] as const) {
    tell(
      `telling 300 children to ${order} writes a handful of rows`,
      async (story) => {
        const { parent } = await story.createParent(300)
        const rows = await rowsWritten(story, () =>
          story.saved(aMove(parent, { state: 'told', wait: waitForNothing, lanes: order })),
        )
        assert.ok(rows <= rowsMax, `${rows} rows`)
        assert.equal((await story.claim(await story.register())).length, order === 'go' ? 300 : 0)
      },
      large,
    )
  }

  tell(
    'holding and lifting a label of 300 entities writes a handful of rows',
    async (story) => {
      await story.createMany(300, { labels: ['maps', null] })
      let hold = 0
      const set = await rowsWritten(story, async () => {
        hold = await story.hold({ label: { name: 'collection', value: 'maps' } })
      })
      const lift = await rowsWritten(story, () => story.store.holds({ lift: hold }))
      assert.ok(set <= rowsMax && lift <= rowsMax, `${set} and ${lift} rows`)
      assert.equal((await story.claim(await story.register(), 1_000, { holdable: true })).length, 300)
    },
    large,
  )

  tell(
    'a lane that grows large keeps its order among the others',
    async (story) => {
      const early = await story.createMany(2, { wait: { for: 'run', at: 10 } })
      const { parent, children } = await story.createParent(15, { wait: { for: 'run', at: 20 } })
      await story.saved(aChange(parent, { children: someChildren(parent, 15, { wait: { for: 'run', at: 15 } }, 15) }))
      const late = await story.createMany(2, { wait: { for: 'run', at: 30 } })
      const middle = (await story.children(parent.id)).filter((child) => child.ordinal! >= 15)
      const claimed = await story.claim(await story.register())
      assert.deepEqual(idsOf(claimed), idsOf([...early, ...middle, ...children, ...late]))
    },
    large,
  )

  tell(
    'many large lanes share each claim by rank, whichever of them leads',
    async (story) => {
      const children: Entity[] = []
      for (const lane of [0, 1, 2, 3, 4, 5]) {
        const { parent } = await story.createParent(21, { wait: { for: 'run', at: 100 + lane } })
        for (const block of [0, 1, 2]) {
          const wait = { for: 'run', at: 100 + ((block * 7 + lane * 5) % 18) } as const
          await story.saved(
            aChange(await story.get(parent.id), { children: someChildren(parent, 20, { wait }, 21 + block * 20) }),
          )
        }
        children.push(...(await story.children(parent.id)))
      }
      const rank = ({ wait }: Entity) => (wait.for === 'run' ? wait.at : 0)
      const worker = await story.register()
      const claimed: number[] = []
      for (let some = await story.claim(worker, 70); some.length > 0; some = await story.claim(worker, 70)) {
        claimed.push(...idsOf(some))
      }
      assert.deepEqual(claimed, idsOf(children.toSorted((one, other) => rank(one) - rank(other) || one.id - other.id)))
    },
    large,
  )

  tell(
    'a large lane and a small one share the claim by rank',
    async (story) => {
      await story.createParent(50, { wait: { for: 'run', at: 100 } })
      const first = await story.create({ wait: { for: 'run', at: 99 } })
      const worker = await story.register()
      assert.equal((await story.claimOne(worker)).id, first.id)
      const last = await story.create({ wait: { for: 'run', at: 101 } })
      assert.equal(
        (await story.claim(worker, 50)).some((entity) => entity.id === last.id),
        false,
      )
      assert.deepEqual(idsOf(await story.claim(worker)), [last.id])
    },
    large,
  )

  for (const [what, scope] of [
    ['held', { label: { name: 'collection', value: 'maps' } }],
    ['held with its state', { state: 'ready', label: { name: 'collection', value: 'maps' } }],
  ] as const) {
    tell(
      `what is ${what} never blocks what stands behind it`,
      async (story) => {
        await story.createMany(40, { labels: ['maps', null], wait: { for: 'run', at: 1 } })
        const behind = await story.create({ labels: ['books', null], wait: { for: 'run', at: 2 } })
        await story.hold(scope)
        const worker = await story.register()
        const claimed: number[] = []
        // One claim moves so many aside and no more; a few of them must come through.
        for (let round = 0; round < 10; round += 1) {
          claimed.push(...idsOf(await story.claim(worker, 10, { holdable: true })))
        }
        assert.deepEqual(claimed, [behind.id])
      },
      { asideMax: 10 },
    )
  }

  for (const laneSharedMax of [5, 1_000]) {
    tell(
      `children that a worker leaves to others never block what stands behind them, lanes shared up to ${laneSharedMax}`,
      async (story) => {
        const { parent, children } = await story.createParent(40, { wait: { for: 'run', at: 1 } })
        const behind = await story.create({ wait: { for: 'run', at: 2 } })
        const [unable, able] = [await story.register('unable'), await story.register('able')]
        const avoid = new Set([parent.id])
        const claimed: number[] = []
        for (let round = 0; round < 10; round += 1) {
          const request = { worker: unable.id, runs: [aRun()], limit: 10, bytes: 2 ** 30, avoid }
          claimed.push(...idsOf((await story.store.claim(request)).entities))
        }
        assert.deepEqual(claimed, [behind.id])
        const others = idsOf(await story.claim(able))
        assert.deepEqual(others, idsOf(children), 'others get them, in their order')
      },
      { asideMax: 10, laneSharedMax },
    )
  }

  tell(
    'what waits for a full pool never blocks what stands behind it',
    async (story) => {
      const holder = await story.create({ state: 'parked', wait: waitForNothing })
      await story.saved(
        aMove(holder, { state: 'holding', wait: waitForNothing, takes: [{ pool: 'disk', amount: 1, ceiling: 1 }] }),
      )
      await story.createMany(40, { wait: { for: 'run', at: 1, pool: 'disk' } })
      const behind = await story.create({ wait: { for: 'run', at: 2 } })
      const worker = await story.register()
      const claimed: number[] = []
      for (let round = 0; round < 10; round += 1) claimed.push(...idsOf(await story.claim(worker, 10)))
      assert.deepEqual(claimed, [behind.id])
    },
    { asideMax: 10 },
  )

  tell(
    'what a resting parent keeps never blocks what stands behind it',
    async (story) => {
      const { parent } = await story.createParent(15, { wait: { for: 'run', at: 1 } })
      const behind = await story.create({ wait: { for: 'run', at: 2 } })
      await story.saved(aMove(parent, { state: 'paused', wait: waitForNothing, lanes: 'rest' }))
      const worker = await story.register()
      const claimed: number[] = []
      for (let round = 0; round < 10; round += 1) claimed.push(...idsOf(await story.claim(worker, 10)))
      assert.deepEqual(claimed, [behind.id])
    },
    { asideMax: 5, laneSharedMax: 20 },
  )
}
