import { readFileSync } from 'node:fs'
import { Engine, implement } from 'sluice'
import { postgresStore } from 'sluice/postgres'
import { batch, implementations, item } from '../machines.ts'
import { type Contender, inGroups, numbers, type Place } from './contender.ts'

/** The parent's implementation as it stands; the item's is told of what it handled. */
const [, parent] = implementations

export const tuned = { submitGroup: 10_000 }

export const sluice: Contender = {
  title: 'Sluice',
  get version() {
    return (JSON.parse(readFileSync(manifest(), 'utf8')) as { version: string }).version
  },
  get settings() {
    return `defaults, history on; submitMany of ${tuned.submitGroup.toLocaleString('en')}`
  },

  async open(place) {
    const { engine, store } = engineAt(place, () => {})
    await engine.prepare()
    const { control } = engine
    return {
      submit: (count) =>
        inGroups(count, tuned.submitGroup, (from, size) =>
          control.submitMany(
            item.name,
            numbers(from, size, (n) => ({ data: { n } })),
          ),
        ),
      async finished(count) {
        const lane = (await control.totals()).find(({ machine }) => machine === item.name)
        return lane?.counts.completed === count
      },
      async fanIn(children) {
        const { id } = await control.submit(batch.name, { count: children })
        const settled = await control.settled(id, 600_000)
        if (settled?.state !== 'completed') throw new Error(`The parent ended as ${settled?.state ?? 'not at all'}.`)
      },
      async close() {
        await engine.stop()
        await store.close()
      },
    }
  },

  async work(place, handled) {
    const { engine, store } = engineAt(place, () => handled(1))
    await engine.start()
    return async () => {
      await engine.stop()
      await store.close()
    }
  },

  async idle(place) {
    const { engine, store } = engineAt(place, () => {})
    await engine.start()
    return {
      async one(n) {
        const { id } = await engine.control.submit(item.name, { n })
        await engine.control.settled(id, 10_000)
      },
      async close() {
        await engine.stop()
        await store.close()
      },
    }
  },
}

function engineAt({ postgres }: Place, nothing: () => void) {
  const store = postgresStore({ url: postgres })
  const engine = new Engine({ store, implementations: [implement(item, { processors: { nothing } }), parent!] })
  return { engine, store }
}

function manifest(): URL {
  return new URL(import.meta.resolve('sluice/package.json'))
}
