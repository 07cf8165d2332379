import assert from 'node:assert/strict'
import type { Entity, Request } from '../../entity.ts'
import type { Move } from '../../store.ts'
import { aBirth, aChange, aCheckpoint, aChild, aMove, hop, runNow, someChildren } from '../builders.ts'
import type { Story, Tell } from './story.ts'

const disk = { pool: 'disk', amount: 1, ceiling: 1 }

/** A commit is atomic per move, answers every move, and may be repeated until it is answered. */
export function commit(tell: Tell): void {
  tell('one verdict per move, in their order', async (story) => {
    const [first, second, third, fourth] = await story.createMany(4)
    await story.saved(aMove(fourth!, { state: 'parked', takes: [disk] }))
    const kinds = await story.kinds(
      aMove(first!),
      aMove(second!, { seq: 9 }),
      aMove(third!, { takes: [disk] }),
      aMove(fourth!, { epoch: 1, seq: 1, state: 'done', keep: true }),
    )
    assert.deepEqual(kinds, ['saved', 'stale', 'full', 'refused'])
    assert.deepEqual(await story.kinds(), [])
  })

  tell('a verdict does not depend on the group: what the move before did is seen', async (story) => {
    const { parent, children } = await story.createParent(1)
    const lane = await story.lane(parent.id)
    const [holder, next] = await story.createMany(2)
    const holding = await story.saved(aMove(holder!, { state: 'parked', takes: [disk] }))
    const kinds = await story.kinds(
      aMove(children[0]!),
      aMove(parent, { state: 'closed', settled: true, read: [{ lane: 'parcels', wake: lane.wake }] }),
      aMove(holding, { gives: ['disk'] }),
      aMove(next!, { takes: [disk] }),
    )
    // The parent read its lane before the last child settled; the pool was given back before it was taken.
    assert.deepEqual(kinds, ['saved', 'stale', 'saved', 'saved'])
  })

  tell(
    'data beyond the limit is refused, counted in bytes; a child is measured as well',
    async (story) => {
      const entity = await story.create()
      const fits = JSON.stringify('é'.repeat(49))
      const tooBig = JSON.stringify('é'.repeat(50))
      const refused = await story.verdict(aMove(entity, { data: tooBig }))
      assert.equal(refused.kind, 'refused')
      assert.ok(refused.kind === 'refused' && refused.message.length > 0, 'it says why')
      assert.equal(await story.kind(aMove(entity, { children: [aChild(entity, 0, { data: tooBig })] })), 'refused')
      assert.deepEqual(await story.get(entity.id), entity)
      assert.equal((await story.saved(aMove(entity, { data: fits }))).data, fits)
    },
    { dataBytesMax: 100 },
  )

  tell('the same entity twice in a group: the first is judged, the second refused', async (story) => {
    const entity = await story.create()
    // The second even guesses the proof that the first will leave: it would be saved if it came alone.
    const guess = aMove(entity, { hops: [hop('a', 'b')], epoch: 1, seq: 1 })
    assert.deepEqual(await story.kinds(aMove(entity, { state: 'a' }), guess), ['saved', 'refused'])
    assert.deepEqual([(await story.get(entity.id)).state, (await story.history(entity.id)).length], ['a', 1])
    assert.equal(await story.kind(guess), 'saved')
  })

  tell('a path that does not hold together is refused, and so is one that begins elsewhere', async (story) => {
    const entity = await story.create()
    for (const [what, changes] of Object.entries({
      'the path breaks': { hops: [hop('ready', 'packed'), hop('sealed', 'done')] },
      'the path ends elsewhere': { hops: [hop('ready', 'packed')], state: 'done' },
      'the path begins elsewhere': { hops: [hop('packed', 'done')] },
    } satisfies Record<string, Partial<Move>>)) {
      assert.equal(await story.kind(aMove(entity, changes)), 'refused', what)
    }
    assert.deepEqual(await story.get(entity.id), entity)
  })

  tell(
    'what cannot be meant is refused',
    async (story) => {
      const { entity } = await story.createClaimed()
      const other = await story.create()
      for (const [what, move] of Object.entries({
        'a hop aside of the lease': aMove(entity, { by: 'aside' }),
        'a lease kept from outside': aMove(entity, { by: 'outside', state: 'packed', keep: true }),
        'no wait': aMove(entity, { state: 'packed', wait: null }),
        'a wait for no time': aMove(entity, { state: 'packed', wait: { for: 'run', at: Number.NaN } }),
        'a child of a stranger': aMove(entity, { children: [aChild(other, 0)] }),
        'two children with one key': aMove(entity, { children: someChildren(entity, 2, { key: 'same' }) }),
        'more children than allowed': aMove(entity, { children: someChildren(entity, 11) }),
      })) {
        assert.equal(await story.kind(move), 'refused', what)
      }
      assert.deepEqual(await story.get(entity.id), entity)
    },
    { spawnMax: 10 },
  )

  tell('a lease cannot be kept into a settled state', async (story) => {
    const { entity } = await story.createClaimed()
    assert.equal(await story.kind(aMove(entity, { keep: true })), 'refused')
    assert.deepEqual(await story.get(entity.id), entity)
  })

  tell(
    'verdicts are judged in order: refused, stale, full, held, saved',
    async (story) => {
      const other = await story.create()
      await story.saved(aMove(other, { state: 'parked', takes: [disk] }))
      const { entity } = await story.createClaimed()
      const hold = await story.hold({ entity: entity.id })
      const worst: Partial<Move> = {
        state: 'packed',
        keep: true,
        data: JSON.stringify('x'.repeat(200)),
        seq: 9,
        takes: [disk],
        holds: [],
      }
      const { data: _data, ...stale } = worst
      const { seq: _seq, ...full } = stale
      const { takes: _takes, ...held } = full
      assert.equal(await story.kind(aMove(entity, worst)), 'refused')
      assert.equal(await story.kind(aMove(entity, stale)), 'stale')
      assert.equal(await story.kind(aMove(entity, full)), 'full')
      assert.equal(await story.kind(aMove(entity, held)), 'held')
      assert.equal(await story.kind(aMove(entity, { ...held, holds: [hold] })), 'saved')
    },
    { dataBytesMax: 100 },
  )

  tell(
    'whatever is not saved changes nothing at all',
    async (story) => {
      const other = await story.create()
      await story.saved(aMove(other, { state: 'parked', takes: [disk] }))
      const { entity } = await story.createClaimed()
      await story.hold({ state: 'packed' })
      const rich: Partial<Move> = {
        state: 'packed',
        keep: true,
        data: '"new"',
        labels: ['a', 'b'],
        priority: 3,
        reason: 'new',
        sums: { bytes: 1 },
        error: 'new',
        progress: '1',
        checkpoint: { cursor: '"c"', spawned: 1 },
        children: someChildren(entity, 2),
        opens: ['parcels'],
        lanes: 'rest',
        takes: [{ pool: 'tape', amount: 1, ceiling: 9 }],
      }
      const before = await story.picture(entity.id)
      for (const [kind, change] of Object.entries({
        refused: { data: JSON.stringify('x'.repeat(200)) },
        stale: { epoch: entity.epoch + 1 },
        full: { takes: [{ pool: 'tape', amount: 1, ceiling: 9 }, disk] },
        held: { holds: [] },
      } satisfies Record<string, Partial<Move>>)) {
        assert.equal(await story.kind(aMove(entity, { ...rich, ...change })), kind)
        assert.deepEqual(await story.picture(entity.id), before, kind)
        assert.equal((await story.pool('tape')).taken, 0, kind)
      }
    },
    { dataBytesMax: 100 },
  )

  tell('a move whose child cannot be born is not saved, and none of its children is', async (story) => {
    const taken = await story.create({ key: 'taken' })
    const entity = await story.create()
    const children = [aChild(entity, 0), aChild(entity, 1, { key: 'taken' }), aChild(entity, 2)]
    const before = await story.picture(entity.id)
    assert.deepEqual(await story.verdict(aMove(entity, { children })), {
      kind: 'full',
      pool: 'key:taken',
      holders: [taken.id],
    })
    assert.deepEqual(await story.picture(entity.id), before)
  })

  tell(
    'a repeat of the operation returns the first verdicts and changes nothing, whatever moves are given',
    async (story) => {
      const { entity } = await story.createClaimed()
      const other = await story.create()
      const moves = [aMove(entity, { children: [aChild(entity, 0)] }), aMove(other, { seq: 7 })]
      const first = await story.store.commit('once', moves)
      assert.deepEqual(
        first.map((verdict) => verdict.kind),
        ['saved', 'stale'],
      )
      const before = await story.picture(entity.id, other.id)
      assert.deepEqual(await story.store.commit('once', moves), first)
      assert.deepEqual(await story.store.commit('once', [aMove(other)]), first, 'other moves')
      const elsewhere = await story.reopen()
      assert.deepEqual(await elsewhere.commit('once', moves), first, 'from another process')
      story.clock.advance(3_600_000 - 1)
      assert.deepEqual(await story.store.commit('once', moves), first, 'nearly an hour later')
      assert.deepEqual(await story.picture(entity.id, other.id), before)
    },
    { operationMs: 3_600_000 },
  )

  tell('a repeated verdict says all that the first one said', async (story) => {
    const holder = await story.create()
    await story.saved(aMove(holder, { state: 'parked', takes: [disk] }))
    const [first, second] = await story.createMany(2)
    await story.hold({ entity: second!.id })
    const moves = [aMove(first!, { takes: [disk] }), aMove(second!, { state: 'packed', holds: [] })]
    const verdicts = await story.store.commit('once', moves)
    assert.deepEqual(
      verdicts.map((verdict) => verdict.kind),
      ['full', 'held'],
    )
    assert.deepEqual(await story.store.commit('once', moves), verdicts)
  })

  tell('one operation sent twice at once is done once', async (story) => {
    const other = await story.reopen()
    const entity = await story.create()
    const moves = [aMove(entity, { children: [aChild(entity, 0)] })]
    const [mine, theirs] = await Promise.all([story.store.commit('race', moves), other.commit('race', moves)])
    assert.deepEqual([mine, theirs], [[{ kind: 'saved' }], [{ kind: 'saved' }]])
    assert.equal((await story.history(entity.id)).length, 1)
    assert.equal((await story.children(entity.id)).length, 1)
  })

  tell('a repeated create returns the first ids and creates nothing', async (story) => {
    const first = await story.store.create('once', [aBirth(), aBirth({ key: 'k' })])
    assert.deepEqual(await story.store.create('once', [aBirth(), aBirth({ key: 'k' })]), first)
    assert.deepEqual(await (await story.reopen()).create('once', [aBirth()]), first, 'from another process')
    assert.equal((await story.store.list({ limit: 10 })).entities.length, 2)
  })

  tell('attempts: reset, back and stay', async (story) => {
    const worker = await story.register()
    const attemptsAfter = async (changes: Partial<Move>): Promise<number> => {
      await story.create()
      const claimed = await story.claimOne(worker)
      assert.equal(claimed.attempts, 1)
      return (await story.saved(aMove(claimed, { state: 'parked', wait: { for: 'nothing' }, ...changes }))).attempts
    }
    assert.equal(await attemptsAfter({ attempts: 'reset' }), 0)
    assert.equal(await attemptsAfter({ attempts: 'reset', keep: true, wait: null }), 1, 'the next run has begun')
    assert.equal(await attemptsAfter({ attempts: 'back' }), 0)
    assert.equal(await attemptsAfter({ attempts: 'stay' }), 1)
    assert.equal(await attemptsAfter({ attempts: 'one' }), 1)
    const never = await story.create()
    assert.equal((await story.saved(aMove(never, { state: 'a', attempts: 'one' }))).attempts, 1)
    const none = await story.saved(aMove(await story.get(never.id), { state: 'b', attempts: 'reset' }))
    assert.equal((await story.saved(aMove(none, { attempts: 'back' }))).attempts, 0, 'never below none')
  })

  tell('what the holder of a lease saves clears the suspicion, a checkpoint does not', async (story) => {
    const suspectOf = async (): Promise<ReturnType<Story['claimOne']>> => {
      await story.create()
      const dying = await story.register()
      await story.claimOne(dying)
      await story.dies(dying)
      return story.claimOne(await story.register('next'), { state: 'working', hops: [] })
    }
    const kept = await suspectOf()
    assert.equal(kept.suspect, 1)
    assert.equal((await story.saved(aCheckpoint(kept, { progress: '1' }))).suspect, 1)
    assert.equal((await story.saved(aMove(kept, { state: 'packed', keep: true }))).suspect, 0)
    const polling = await suspectOf()
    const poll = aMove(polling, { state: 'working', hops: [], wait: { for: 'nothing' }, attempts: 'back' })
    assert.equal((await story.saved(poll)).suspect, 0)
  })

  tell('changedAt is the time of the last move, and of nothing else', async (story) => {
    const entity = await story.create()
    assert.equal(entity.changedAt, entity.createdAt)
    story.clock.advance(10)
    const claimed = await story.claimOne(await story.register())
    assert.equal(claimed.changedAt, story.store.time(), 'a claim with hops is a move')
    story.clock.advance(10)
    const checkpointed = await story.saved(aCheckpoint(claimed, { progress: '1' }))
    assert.equal(checkpointed.changedAt, claimed.changedAt)
    assert.equal((await story.saved(aChange(checkpointed, { priority: 2 }))).changedAt, claimed.changedAt)
    assert.equal((await story.saved(aMove(checkpointed))).changedAt, story.store.time())
    assert.equal((await story.get(entity.id)).createdAt, entity.createdAt)
  })

  tell('request, checkpoint, progress, reason, sums, error: undefined leaves them, null clears them', async (story) => {
    const request: Request = {
      edge: 'repack',
      actor: 'ada',
      role: 'operator',
      reason: 'why',
      requestId: 'r',
      input: '{"a":1}',
      read: [{ lane: 'parcels', wake: 2 }],
    }
    const given = {
      request,
      checkpoint: { cursor: '"c"', spawned: 2 },
      progress: '"p"',
      reason: 'late',
      sums: { bytes: 5 },
      error: 'oops',
    }
    const pick = ({ request, checkpoint, progress, reason, sums, error }: Entity) => ({
      request,
      checkpoint,
      progress,
      reason,
      sums,
      error,
    })
    const set = await story.saved(aMove(await story.create(), { state: 'a', ...given }))
    assert.deepEqual(pick(set), given)
    const left = await story.saved(aMove(set, { state: 'b' }))
    assert.deepEqual(pick(left), given)
    const nothing = { request: null, checkpoint: null, progress: null, reason: null, sums: null, error: null }
    assert.deepEqual(pick(await story.saved(aMove(left, { state: 'c', ...nothing }))), nothing)
  })

  tell('data, labels and priority: null leaves them', async (story) => {
    const entity = await story.create({ data: '{"a":1}', labels: ['maps', null], priority: 4 })
    const left = await story.saved(aMove(entity, { state: 'a' }))
    assert.deepEqual([left.data, left.labels, left.priority], ['{"a":1}', ['maps', null], 4])
    const set = await story.saved(aMove(left, { state: 'b', data: '[]', labels: [null, 'ann'], priority: -1 }))
    assert.deepEqual([set.data, set.labels, set.priority], ['[]', [null, 'ann'], -1])
  })

  tell('every kind of wait is kept as it was said', async (story) => {
    let entity = await story.create()
    for (const wait of [
      { for: 'run', at: 5 },
      { for: 'run', at: 5, gated: true },
      { for: 'run', at: 7, pool: 'disk' },
      { for: 'children', at: null },
      { for: 'children', at: 2_000_000 },
      { for: 'time', at: 3_000_000 },
      { for: 'purge', at: 4_000_000 },
      { for: 'nothing' },
    ] as const) {
      entity = await story.saved(aMove(entity, { state: entity.state === 'a' ? 'b' : 'a', wait }))
      assert.deepEqual(entity.wait, wait)
    }
  })

  tell('text of every kind comes back as it was given', async (story) => {
    const data = JSON.stringify({ quote: `'"\\`, zero: '\u0000', wide: '\u{1f4e6}', line: 'a\nb' })
    const entity = await story.create({ data, labels: ["o'neil", ''], createdBy: 'anä' })
    assert.deepEqual([entity.data, entity.labels, entity.createdBy], [data, ["o'neil", ''], 'anä'])
    const moved = await story.saved(aMove(entity, { state: 'it"s', wait: runNow, reason: "don't", error: 'null' }))
    assert.deepEqual([moved.state, moved.reason, moved.error], ['it"s', "don't", 'null'])
  })
}
