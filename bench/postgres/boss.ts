import { Client } from 'pg'
import { type Contender, inGroups, numbers, type Place, pause } from './contender.ts'
import { loadPeer, versionOf } from './peer.ts'

interface Module {
  readonly PgBoss: new (options: Readonly<Record<string, unknown>>) => Boss
}

interface Job {
  readonly id: string
}

interface Boss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  stop(options?: { readonly graceful?: boolean; readonly close?: boolean }): Promise<void>
  createQueue(name: string, options?: Readonly<Record<string, unknown>>): Promise<void>
  insert(name: string, jobs: readonly { readonly data: unknown }[]): Promise<unknown>
  send(name: string, data: unknown): Promise<string | null>
  work(
    name: string,
    options: Readonly<Record<string, unknown>>,
    handler: (jobs: readonly Job[]) => Promise<void>,
  ): Promise<string>
  complete(name: string, id: string): Promise<unknown>
  flow(jobs: readonly FlowJob[]): Promise<Readonly<Record<string, string>>>
}

interface FlowJob {
  readonly ref: string
  readonly name: string
  readonly data?: unknown
  readonly dependsOn?: readonly string[]
}

export const tuned = { batchSize: 1_000, localConcurrency: 2, insertGroup: 10_000 }

/** A pass over completed dependencies is what opens a flow's last step: as often as it lets itself be made. */
const flowIntervalSeconds = 1

export const boss: Contender = {
  title: 'pg-boss',
  get version() {
    return versionOf('pg-boss')
  },
  get settings() {
    return `batchSize ${tuned.batchSize}, burstWhenBatchFull, localConcurrency ${tuned.localConcurrency}, useListenNotify with notify on the queue, flowIntervalSeconds ${flowIntervalSeconds}; insert of ${tuned.insertGroup.toLocaleString('en')}`
  },

  async open(place) {
    const boss = await start(place)
    await boss.createQueue('noop', { notify: true })
    // What becomes free by a completed dependency is not announced: this queue is polled as often as it lets itself be.
    await boss.createQueue('last')
    const client = new Client({ connectionString: place.postgres })
    await client.connect()
    const none = async (name: string, state: string) => {
      const text = `SELECT NOT EXISTS (SELECT FROM pgboss.job WHERE name = $1 AND state ${state} 'completed') AS none`
      return (await client.query(text, [name])).rows[0].none as boolean
    }
    return {
      submit: (count) =>
        inGroups(count, tuned.insertGroup, (from, size) =>
          boss.insert(
            'noop',
            numbers(from, size, (n) => ({ data: { n } })),
          ),
        ),
      finished: () => none('noop', '<>'),
      async fanIn(children) {
        const jobs = numbers(0, children, (n) => ({ ref: `c${n}`, name: 'noop', data: { n } }))
        await boss.flow([...jobs, { ref: 'last', name: 'last', dependsOn: jobs.map(({ ref }) => ref) }])
        while (await none('last', '=')) await pause(5)
      },
      async close() {
        await client.end()
        await boss.stop({ graceful: false, close: true })
      },
    }
  },

  async work(place, handled) {
    const boss = await start(place)
    const { batchSize, localConcurrency } = tuned
    const options = { batchSize, localConcurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
    await boss.work('noop', options, async (jobs) => handled(jobs.length))
    await boss.work('last', { pollingIntervalSeconds: 0.5 }, async () => {})
    return () => boss.stop({ graceful: false, close: true })
  },

  async idle(place) {
    const boss = await start(place)
    await boss.createQueue('noop', { notify: true })
    let completed = () => {}
    await boss.work('noop', { pollingIntervalSeconds: 0.5 }, async ([job]) => {
      // It tells nobody when a job is completed, so the handler completes it itself.
      await boss.complete('noop', job!.id)
      completed()
    })
    return {
      one: (n) =>
        new Promise((resolve, reject) => {
          completed = resolve
          boss.send('noop', { n }).catch(reject)
        }),
      close: () => boss.stop({ graceful: false, close: true }),
    }
  },
}

async function start({ postgres }: Place): Promise<Boss> {
  const { PgBoss } = await loadPeer<Module>('pg-boss')
  const boss = new PgBoss({ connectionString: postgres, useListenNotify: true, schedule: false, flowIntervalSeconds })
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  await boss.start()
  return boss
}
