import assert from 'node:assert/strict'
import type { Entity } from '../../entity.ts'
import { aCheckpoint, aMove, aRun } from '../builders.ts'
import type { Story, Tell } from './story.ts'
import { idsOf, sorted } from './story.ts'

const again = { state: 'working', hops: [] }

/** Worker after worker dies with all that it claims, until so many are suspects. */
async function suspectsOf(story: Story, count: number): Promise<readonly Entity[]> {
  const created = await story.createMany(count)
  const worker = await story.register('doomed')
  assert.equal((await story.claim(worker)).length, count)
  await story.dies(worker)
  return Promise.all(idsOf(created).map((id) => story.get(id)))
}

/** An attempt counts at the claim, so that a crash counts; but only against what was held alone. */
export function suspects(tell: Tell): void {
  tell('a claim counts an attempt', async (story) => {
    await story.create()
    const worker = await story.register()
    assert.equal((await story.claimOne(worker)).attempts, 1)
  })

  tell('an orderly release gives the attempt back, a timeout does not', async (story) => {
    await story.create()
    const worker = await story.register()
    let entity = await story.claimOne(worker)
    const leases = () => [{ id: entity.id, epoch: entity.epoch }]
    await story.store.release({ kind: 'give_back', worker: worker.id, leases: leases() })
    assert.equal((await story.get(entity.id)).attempts, 0)
    entity = await story.claimOne(worker, again)
    assert.equal(entity.attempts, 1)
    await story.store.release({ kind: 'timed_out', leases: leases(), error: 'slow' })
    entity = await story.claimOne(worker, again)
    assert.equal(entity.attempts, 2)
    await story.store.release({ kind: 'retire', worker: worker.id })
    assert.equal((await story.get(entity.id)).attempts, 1)
  })

  tell('what died in a crowd is suspect by the size of the crowd, and its attempt is given back', async (story) => {
    const suspected = await suspectsOf(story, 5)
    assert.deepEqual(
      suspected.map((entity) => [entity.suspect, entity.attempts, entity.owner]),
      Array(5).fill([5, 0, null]),
    )
  })

  tell('the crowd is all that the worker held at its death, not one claim', async (story) => {
    await story.createMany(5)
    const worker = await story.register()
    await story.claim(worker, 2)
    const [third] = await story.claim(worker, 2)
    await story.saved(aMove(third!))
    await story.claim(worker, 1)
    const dead = await story.dies(worker)
    assert.equal(dead.length, 4)
    for (const id of dead) assert.equal((await story.get(id)).suspect, 4)
  })

  tell('what died alone keeps its attempt: suspect 1', async (story) => {
    const [alone] = await suspectsOf(story, 1)
    assert.deepEqual([alone!.suspect, alone!.attempts], [1, 1])
    const next = await story.register('next')
    const claimed = await story.claimOne(next, again)
    assert.deepEqual([claimed.suspect, claimed.attempts], [1, 2])
    await story.dies(next)
    const after = await story.get(alone!.id)
    assert.deepEqual([after.suspect, after.attempts], [1, 2])
  })

  tell(
    'suspects come first, in half their number, marked with the size of their group, and nothing else with them',
    async (story) => {
      const suspected = await suspectsOf(story, 8)
      await story.createMany(3, { state: 'working', priority: -5 })
      const worker = await story.register()
      const { entities } = await story.claimResult(worker, 1_000, again)
      assert.deepEqual(idsOf(entities), idsOf(suspected).slice(0, 4), 'the four of lowest rank')
      assert.deepEqual(
        entities.map((entity) => [entity.suspect, entity.attempts]),
        Array(4).fill([4, 1]),
      )
    },
  )

  tell('the group is as large as was claimed when the limit cuts it', async (story) => {
    await suspectsOf(story, 8)
    const entities = await story.claim(await story.register(), 3, again)
    assert.deepEqual(
      entities.map((entity) => entity.suspect),
      [3, 3, 3],
    )
  })

  tell('an odd number is halved downwards', async (story) => {
    await suspectsOf(story, 5)
    assert.equal((await story.claim(await story.register(), 1_000, again)).length, 2)
  })

  tell('a worker that holds a suspect gets no other, and is told that some wait', async (story) => {
    await suspectsOf(story, 4)
    const worker = await story.register()
    const held = await story.claim(worker, 1_000, again)
    assert.equal(held.length, 2)
    const more = await story.claimResult(worker, 1_000, again)
    assert.deepEqual([more.entities, more.suspects], [[], true])
    const other = await story.claimResult(await story.register('other'), 1_000, again)
    assert.equal(other.entities.length, 2, 'another worker may')
    await story.kinds(...held.map((entity) => aMove(entity)))
    const rest = await story.claimResult(worker, 1_000, again)
    assert.deepEqual([rest.entities, rest.suspects], [[], false], 'none are left')
  })

  tell('a worker that holds a suspect still gets work that is under no suspicion', async (story) => {
    await suspectsOf(story, 4)
    const [clean] = await story.createMany(1)
    const worker = await story.register()
    await story.claim(worker, 1_000, again)
    const runs = [aRun(), aRun(again)]
    const result = await story.store.claim({ worker: worker.id, runs, limit: 10, bytes: 2 ** 30 })
    assert.deepEqual([idsOf(result.entities), result.suspects], [[clean!.id], true])
  })

  tell('a group of suspects is of one run: the run of the one that leads', async (story) => {
    const [first, second, third, fourth] = await story.createMany(4)
    const worker = await story.register()
    const claimed = await story.claim(worker)
    // Two of the four have gone on to another state under the same lease when the worker dies.
    for (const entity of claimed.slice(2)) await story.saved(aMove(entity, { state: 'packed', keep: true }))
    await story.dies(worker)
    const runs = [aRun({ state: 'packed', hops: [] }), aRun(again)]
    const next = await story.register('next')
    const result = await story.store.claim({ worker: next.id, runs, limit: 10, bytes: 2 ** 30 })
    assert.deepEqual(idsOf(result.entities), [first!.id, second!.id])
    const other = await story.register('other')
    const rest = await story.store.claim({ worker: other.id, runs, limit: 10, bytes: 2 ** 30 })
    assert.deepEqual(idsOf(rest.entities), [third!.id, fourth!.id])
  })

  tell('a suspect that dies again in a crowd stays what it was', async (story) => {
    await suspectsOf(story, 8)
    const worker = await story.register()
    const group = await story.claim(worker, 1_000, again)
    const crowd = await story.createMany(6)
    assert.equal((await story.claim(worker)).length, 6, 'not suspects, so it may hold them too')
    await story.dies(worker)
    for (const { id } of group) {
      const { suspect, attempts } = await story.get(id)
      assert.deepEqual([suspect, attempts], [4, 0])
    }
    for (const { id } of crowd) {
      const { suspect, attempts } = await story.get(id)
      assert.deepEqual([suspect, attempts], [10, 0])
    }
  })

  tell('a checkpoint clears no suspicion: the poison may come after it', async (story) => {
    await suspectsOf(story, 2)
    const worker = await story.register()
    const entity = await story.claimOne(worker, again)
    await story.saved(aCheckpoint(entity, { progress: '1' }))
    await story.dies(worker)
    const after = await story.get(entity.id)
    assert.deepEqual([after.suspect, after.attempts], [1, 1])
  })

  tell('a poison among 64 ends alone with all the blame, and no neighbour loses an attempt', async (story) => {
    const created = await story.createMany(64)
    const poison = created[37]!.id
    const runs = [aRun(), aRun(again)]
    let [deaths, claims] = [0, 0]
    for (;;) {
      claims += 1
      assert.ok(claims < 200, 'it comes to an end')
      const worker = await story.register(`worker-${claims}`)
      const { entities } = await story.store.claim({ worker: worker.id, runs, limit: 1_000, bytes: 2 ** 30 })
      if (entities.length === 0) break
      const bad = entities.find((entity) => entity.id === poison)
      for (const entity of entities) {
        if (entity !== bad) assert.equal(entity.attempts, 1, `neighbour ${entity.id} has lost nothing`)
      }
      if (bad && bad.attempts > 3) {
        assert.deepEqual(idsOf(entities), [poison], 'it is alone')
        await story.saved(aMove(bad, { state: 'failed' }))
      } else if (bad) {
        deaths += 1
        await story.dies(worker)
        continue
      } else {
        assert.deepEqual(new Set(await story.kinds(...entities.map((entity) => aMove(entity)))), new Set(['saved']))
      }
      await story.store.release({ kind: 'retire', worker: worker.id })
    }
    const after = await story.store.get(idsOf(created))
    assert.deepEqual(sorted(after.filter((entity) => entity!.state === 'failed').map((entity) => entity!.id)), [poison])
    assert.equal(after.filter((entity) => entity!.state === 'done').length, 63)
    assert.ok(deaths <= 12, `${deaths} deaths: halving, then three attempts alone`)
  })
}
