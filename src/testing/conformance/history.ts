import assert from 'node:assert/strict'
import type { EntityId } from '../../entity.ts'
import type { MoveRecord } from '../../event.ts'
import type { Store } from '../../store.ts'
import { aBirth, aCheckpoint, aMove, aRun, someChildren } from '../builders.ts'
import type { Tell } from './story.ts'
import { idsOf } from './story.ts'

interface Feed {
  readonly moves: readonly MoveRecord[]
  readonly births: readonly EntityId[]
  readonly position: number
}

/** Reads the feed to its end in pages of so many. */
async function readFeed(store: Store, after: number, limit: number): Promise<Feed> {
  const moves: MoveRecord[] = []
  const births: EntityId[] = []
  let position = after
  for (let pages = 0; pages < 1_000; pages += 1) {
    const page = await store.events({ after: position, limit })
    moves.push(...page.moves)
    births.push(...page.births)
    assert.ok(page.position >= position, 'a position never goes back')
    if (page.moves.length === 0 && page.births.length === 0) return { moves, births, position: page.position }
    assert.ok(page.position > position, 'a page with something in it leads on')
    position = page.position
  }
  return assert.fail('the feed comes to an end')
}

const names = (moves: readonly MoveRecord[]) => moves.map((record) => `${record.entity}.${record.seq}`)

/** What happened, once per (entity, seq), and in the order in which it was committed. */
export function history(tell: Tell): void {
  tell('the history of an entity is its moves by seq, in pages', async (story) => {
    let entity = await story.create()
    for (let count = 0; count < 7; count += 1) {
      entity = await story.saved(aMove(entity, { state: count % 2 ? 'a' : 'b' }))
    }
    const page = (afterSeq: number, limit: number) => story.store.events({ entity: entity.id, afterSeq, limit })
    assert.deepEqual(
      (await page(0, 3)).moves.map((record) => record.seq),
      [1, 2, 3],
    )
    assert.deepEqual(
      (await page(3, 3)).moves.map((record) => record.seq),
      [4, 5, 6],
    )
    assert.deepEqual(
      (await page(6, 3)).moves.map((record) => record.seq),
      [7],
    )
    assert.deepEqual((await page(7, 3)).moves, [])
  })

  tell('nobody has a history who never was', async (story) => {
    assert.deepEqual((await story.store.events({ entity: 99_999, afterSeq: 0, limit: 10 })).moves, [])
  })

  tell('a record tells who did what, when and why, under which fence', async (story) => {
    const { entity } = await story.createClaimed()
    story.clock.advance(7)
    const actor = { actor: 'blue', role: 'worker', reason: 'because', requestId: 'r-1' }
    await story.saved(aMove(entity, { cause: 'fail', state: 'failed', error: 'ripped', reason: 'torn', actor }))
    const [claim, failure] = await story.history(entity.id)
    assert.deepEqual([claim?.cause, claim?.epoch, claim?.error], ['claim', 1, null])
    assert.deepEqual(failure, {
      entity: entity.id,
      seq: 2,
      epoch: 1,
      generation: 0,
      at: story.store.time(),
      cause: 'fail',
      hops: [{ transition: 'to_failed', from: 'working', to: 'failed' }],
      error: 'ripped',
      ...actor,
    })
  })

  tell('the feed tells births and moves of all, in the order of their commits', async (story) => {
    const [first, second] = await story.createMany(2)
    const worker = await story.register()
    const claimed = await story.claimOne(worker)
    await story.saved(aMove(second!, { state: 'a' }))
    await story.saved(aMove(claimed, { children: someChildren(claimed, 2) }))
    await story.saved(aMove(await story.get(second!.id), { state: 'b' }))
    const children = await story.children(first!.id)
    const feed = await readFeed(story.store, 0, 1_000)
    assert.deepEqual(feed.births, idsOf([first!, second!, ...children]))
    assert.deepEqual(names(feed.moves), [`${first!.id}.1`, `${second!.id}.1`, `${first!.id}.2`, `${second!.id}.2`])
    assert.deepEqual(feed.moves[2], (await story.history(first!.id))[1], 'a record is the same in both')
  })

  tell('a change without hops is not in the feed', async (story) => {
    const { entity } = await story.createClaimed()
    const { position } = await readFeed(story.store, 0, 1_000)
    await story.saved(aCheckpoint(entity, { progress: '1' }))
    const { moves, births } = await story.store.events({ after: position, limit: 10 })
    assert.deepEqual([moves, births], [[], []])
  })

  tell('a feed read in small pages is the feed read at once', async (story) => {
    const entities = await story.createMany(5)
    await story.verdicts(...entities.map((entity) => aMove(entity, { children: someChildren(entity, 2) })))
    await story.claim(await story.register(), 4)
    const whole = await readFeed(story.store, 0, 1_000)
    assert.deepEqual([whole.births.length, whole.moves.length], [15, 9])
    for (const limit of [1, 2, 3, 7]) {
      const { moves, births } = await readFeed(story.store, 0, limit)
      assert.deepEqual([names(moves), births], [names(whole.moves), whole.births], `pages of ${limit}`)
    }
  })

  tell('a reader whose position is too old is told that it has missed something', async (story) => {
    await story.createMany(3)
    const { position, missed } = await story.store.events({ after: 0, limit: 2 })
    assert.equal(missed, false)
    assert.equal((await story.store.events({ after: position, limit: 10 })).missed, false)
    story.clock.advance(2 * 60 * 60 * 1_000)
    assert.equal((await story.store.events({ after: position, limit: 10 })).missed, true, 'nothing is left')
    await story.createMany(1)
    const old = await story.store.events({ after: position, limit: 10 })
    assert.deepEqual([old.missed, old.births.length], [true, 1])
    assert.equal((await story.store.events({ after: old.position, limit: 10 })).missed, false)
    assert.equal((await story.store.events({ after: Number.MAX_SAFE_INTEGER, limit: 1 })).missed, false)
  })

  tell('a reader that goes on from its position misses nothing that was committed later', async (story) => {
    const other = await story.reopen()
    const seen: string[] = []
    const born: EntityId[] = []
    const expected: string[] = []
    let position = 0
    const read = async (store: Store): Promise<void> => {
      const page = await store.events({ after: position, limit: 5 })
      seen.push(...names(page.moves))
      born.push(...page.births)
      position = page.position
    }
    for (let round = 0; round < 10; round += 1) {
      const store = round % 2 ? story.store : other
      const verdicts = await store.create(`create-${round}`, [aBirth(), aBirth()])
      const [first, second] = await store.get(verdicts.map((verdict) => (verdict.kind === 'saved' ? verdict.id : 0)))
      // A reader looks while two processes commit: whatever it saw, the rest must still come.
      await Promise.all([
        story.store.commit(`mine-${round}`, [aMove(first!)]),
        read(story.store),
        other.commit(`theirs-${round}`, [aMove(second!)]),
        read(other).catch(() => undefined),
      ])
      expected.push(`${first!.id}.1`, `${second!.id}.1`)
    }
    const rest = await readFeed(story.store, position, 5)
    const all = [...seen, ...names(rest.moves)]
    assert.deepEqual([...new Set(all)].sort(), expected.sort())
    assert.equal(new Set([...born, ...rest.births]).size, 20)
  })

  tell(
    'the feed is kept for its time, the history for longer',
    async (story) => {
      const entity = await story.create()
      await story.saved(aMove(entity))
      story.clock.advance(59_999)
      await story.create()
      assert.equal((await readFeed(story.store, 0, 10)).moves.length, 1)
      story.clock.advance(600_000)
      await story.create()
      await story.store.release({ kind: 'dead' })
      assert.equal((await story.history(entity.id)).length, 1)
    },
    { operationMs: 60_000 },
  )

  tell('history is durable: another process reads the same', async (story) => {
    const { entity } = await story.createClaimed()
    await story.saved(aMove(entity))
    const other = await story.reopen()
    const { moves } = await other.events({ entity: entity.id, afterSeq: 0, limit: 10 })
    assert.deepEqual(moves, await story.history(entity.id))
    const worker = await story.register('next', 30_000, other)
    assert.deepEqual((await other.claim({ worker: worker.id, runs: [aRun()], limit: 1, bytes: 99 })).entities, [])
  })
}
