import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { openSluice } from 'sluice'
import { memoryStore } from 'sluice/memory'
import { z } from 'zod'
import { Engine } from '../../src/engine/engine.ts'
import { defineJob, fail, openChunked } from '../../workflows/chunked/index.ts'
import { Stage } from '../../workflows/chunked/test/stage.ts'

const none = z.object({})

/** Stories that chance came upon once, told on purpose: a seed finds them again only as long as nothing else changes. */
describe('what the simulation has found', () => {
  test('a rerun opens the gate of the step from which it goes on, if that was never opened', async () => {
    let isMended = false
    const job = defineJob({ id: 'gate', version: 1, parameters: none })
      .firstStep({
        id: 'first',
        output: z.number(),
        run: async (_, sink) => {
          await sink.accept(1)
          await sink.acceptFor('third', 1)
        },
      })
      .step({ id: 'second', gated: true, output: z.number(), run: () => undefined })
      // Not gated: it fails before anybody has looked at the job, and opened the gate of the second step.
      .step({ id: 'third', run: () => (isMended ? undefined : fail('broken')) })
    const { stage, kit } = await Stage.kit([job], { engineLimits: { judgeMs: 1_000 } })
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    const failed = await stage.view(id)
    assert.deepEqual([failed.state, failed.steps[1]?.chunks], ['failed', { gate_waiting: 1 }])
    isMended = true
    await stage.chunked.rerun(stage.control, id)
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'completed')
  })

  test('a step that makes a checkpoint before each error is not tried for ever', async () => {
    let runs = 0
    const job = defineJob({ id: 'checkpoint', version: 1, parameters: none }).firstStep({
      id: 'only',
      retry: { attemptsMax: 3 },
      run: async ({ checkpoint }) => {
        runs += 1
        await checkpoint('here')
        throw new Error('always')
      },
    })
    const { stage, kit } = await Stage.kit([job])
    await using _ = stage
    const id = await stage.start(job, {})
    await kit.drain()
    assert.equal((await stage.view(id)).state, 'failed')
    assert.equal(runs, 3)
  })

  test('a lost connection is not taken for a handler that fails: a rerun tells of the end that it undoes', async (t) => {
    const told: string[] = []
    let isUp = false
    const job = defineJob({
      id: 'told',
      version: 1,
      parameters: none,
      onFailed: ({ id, generation }) => {
        if (!isUp) throw new Error('not there yet')
        told.push(`${id}:${generation}`)
      },
    }).firstStep({ id: 'only', run: () => (isUp ? undefined : fail('broken')) })
    const memory = memoryStore()
    let cuts = 0
    const lanes: typeof memory.lanes = async (parents) => {
      // More often than the rerun waits for a handler that fails.
      if (isUp && parents.length === 1 && cuts < 8) {
        cuts += 1
        throw new Error('the connection was lost')
      }
      return memory.lanes(parents)
    }
    const chunked = openChunked({ definitions: [job] })
    const { implementations } = chunked
    const sluice = await openSluice({ store: { ...memory, lanes }, implementations, log: pino({ level: 'silent' }) })
    t.after(() => sluice.stop())
    // The connection of those who ask is another one.
    const people = new Engine({ store: memory, implementations }).control
    const { id } = await chunked.start(sluice, job, {})
    assert.equal((await sluice.settled(id, 30_000))?.state, 'failed')
    isUp = true
    await chunked.rerun(people, id)
    for await (const { events } of sluice.watch({ after: 0 })) {
      if (
        events.some(
          ({ entity, transition }) => entity === id && ['rerun', 'request_failed_failed'].includes(transition),
        )
      )
        break
    }
    assert.deepEqual([told, cuts], [[`${id}:0`], 8])
  })
})
