import assert from 'node:assert/strict'
import { manualClock, parcelMachine, shipmentMachine } from '../builders.ts'
import { Invariants } from './invariants.ts'
import { Observer } from './observation.ts'
import { Player, randomLimits } from './player.ts'
import type { RunOptions, Step } from './program.ts'
import { playPrograms } from './program.ts'
import type { Open } from './story.ts'

/** Plays random programs on a store and looks at everything after each step. */
export async function checkInvariants(open: Open, options: RunOptions = {}): Promise<void> {
  await playPrograms({ rivals: true, ...options }, (program) => playChecked(open, program))
}

async function playChecked(open: Open, program: readonly Step[]): Promise<void> {
  const clock = manualClock()
  const harness = await open({ clock, limits: randomLimits })
  const { store } = harness
  try {
    await store.migrate()
    await store.define([parcelMachine, shipmentMachine])
    const player = new Player(store, (await harness.reopen?.(clock)) ?? store, clock)
    const observer = new Observer(store)
    const invariants = new Invariants()
    for (const step of program) {
      const answer = await player.play(step)
      const now = await observer.look()
      invariants.check(now, answer)
      player.saw(now.entities)
    }
    for (const id of player.known) {
      const { moves } = await store.events({ entity: id, afterSeq: 0, limit: 1_000 })
      const [entity] = await store.get([id])
      if (entity) assert.deepEqual(moves, invariants.history(id), `history and feed tell the same of ${id}`)
    }
  } finally {
    await harness.close()
  }
}
