import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { defineMachine } from '../../machine.ts'
import { memoryStore } from '../../store/memory/index.ts'
import type { Move, Verdict } from '../../store.ts'
import { aBirth, aChild, aMove, aRun, aWorker, hop, manualClock } from '../builders.ts'
import type { Call } from './calls.ts'
import type { WorkloadRules } from './facts.ts'
import { Observer } from './observer.ts'
import { type Owner, World } from './world.ts'

const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  initial: ['ready'],
  settled: ['done', 'failed'],
  final: ['done', 'failed'],
  states: { ready: 'r', done: 'd', failed: 'f' },
  transitions: {
    finish: { from: 'ready', to: 'done', on: 'done', processor: 'finish' },
    fail: { from: 'ready', to: 'failed', on: 'fail' },
  },
})

const rules: WorkloadRules = { fanOuts: {}, joins: new Set(), never: new Set(), pools: {}, shares: [] }
const owner: Owner = { name: 'p0.1', status: 'up', parked: [] }

/** A store with one claimed parcel, two attempts of which are counted, and an observer that has seen all of this. */
async function watchedParcel() {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const complaints: string[] = []
  const observer = new Observer(new World(1, 0), store, [parcel], { rules, invariants: [] }, (invariant, message) =>
    complaints.push(`${invariant}: ${message}`),
  )
  const ask = async <T>(verb: Call['verb'], given: readonly unknown[], answer: () => Promise<T>): Promise<T> => {
    const call = observer.begin(owner, verb, given)
    const answered = await answer()
    await observer.look()
    observer.answered(call, answered)
    await observer.look()
    return answered
  }
  const births = [aBirth({ labels: [] })]
  await store.define([{ name: 'parcel', version: 1, digest: 'd', labels: [], declaration: '{}' }])
  const [born] = await ask('create', ['create', births], () => store.create('create', births))
  assert.ok(born?.kind === 'saved')
  const renewal = { id: null, identity: aWorker(), leaseMs: 1_000_000 }
  const worker = await ask('renew', [renewal], () => store.renew(renewal))
  const request = { worker: worker.id, runs: [aRun({ hops: [] })], limit: 1, bytes: 1_000 }
  const claim = () => ask('claim', [request], () => store.claim(request))
  const first = (await claim()).entities[0]!
  const release = { kind: 'timed_out', leases: [first], error: 'late' } as const
  await ask('release', [release], () => store.release(release))
  const leased = (await claim()).entities[0]!
  assert.equal(leased.attempts, 2)
  const apply = async (name: string, move: Move): Promise<() => Promise<void>> => {
    const given = [name, [move]]
    const call = observer.begin(owner, 'commit', given)
    const verdicts: readonly Verdict[] = await store.commit(name, [move])
    assert.deepEqual(verdicts, [{ kind: 'saved' }])
    await observer.look()
    return async () => {
      observer.answered(call, verdicts)
      await observer.look()
    }
  }
  return { leased, complaints, apply, observer, claim, store, clock }
}

suite('the observer', () => {
  test('does not blame a move for what another move without hops did, whose answer is still under way', async () => {
    const { leased, complaints, apply } = await watchedParcel()
    const waits: Partial<Move> = {
      by: 'lease',
      cause: 'aside',
      state: 'ready',
      attempts: 'back',
      wait: { for: 'run', at: 0 },
    }
    const answerGivenBack = await apply('given back', aMove(leased, waits))
    const looks: Partial<Move> = {
      by: 'aside',
      cause: 'look',
      state: 'ready',
      attempts: 'stay',
      wait: { for: 'run', at: 5 },
    }
    const answerLook = await apply('look', aMove(leased, looks))
    await answerLook()
    await answerGivenBack()
    assert.deepEqual(complaints, [])
  })

  test('finds a move without hops that changes the attempts when it should not', async () => {
    const { leased, complaints, apply } = await watchedParcel()
    const aside: Partial<Move> = { by: 'aside', cause: 'look', state: 'ready', wait: { for: 'run', at: 5 } }
    // The store is told another word than the observer.
    const move = { ...aMove(leased, aside) }
    const answer = await apply('look', Object.assign(move, { attempts: 'back' }))
    Object.assign(move, { attempts: 'stay' })
    await answer()
    assert.match(complaints[0] ?? 'nothing', /G11 attempts: parcel 1: It had 2 attempts, of which it should stay/)
  })

  for (const [when, restedMs, expected] of [
    ['before its parent goes on', 60_000, 0],
    ['after its parent goes on', 0, 1],
  ] as const) {
    test(`counts ${expected === 0 ? 'no' : 'the'} time that a child waits ${when}`, async () => {
      const { leased, complaints, apply, observer, claim, store, clock } = await watchedParcel()
      observer.quiet = { since: 0, waitMsMax: 1_000 }
      const children = [aChild(leased, 0, { labels: [] })]
      const answer = await apply('rest', aMove(leased, { state: 'done', children, spawned: 1, lanes: 'rest' }))
      await answer()
      clock.advance(restedMs)
      const [parent] = await store.get([leased.id])
      const goesOn: Partial<Move> = { hops: [hop('done', 'done')], state: 'done', settled: true, lanes: 'go' }
      const answerOfParent = await apply('go', aMove(parent!, goesOn))
      await answerOfParent()
      clock.advance(60_000 - restedMs)
      assert.equal((await claim()).entities.length, 1)
      assert.equal(
        complaints.filter((complaint) => complaint.startsWith('G13')).length,
        expected,
        complaints.join('; '),
      )
    })
  }
})
