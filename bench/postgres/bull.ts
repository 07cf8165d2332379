import { type Contender, inGroups, numbers, type Place, pause } from './contender.ts'
import { loadPeer, versionOf } from './peer.ts'

interface Module extends Classes {
  withBackend(factory: unknown): Classes
  readonly createPostgresBackend: unknown
}

interface Classes {
  readonly Queue: new (name: string, options: Options) => Queue
  readonly Worker: new (name: string, processor: () => Promise<void>, options: Options) => Worker
  readonly FlowProducer: new (options: Options) => FlowProducer
}

interface Options {
  readonly connection: Readonly<Record<string, unknown>>
  readonly concurrency?: number
  readonly removeOnComplete?: { readonly count: number }
  readonly autorun?: boolean
}

interface Queue {
  waitUntilReady(): Promise<unknown>
  add(name: string, data: unknown, options?: unknown): Promise<unknown>
  addBulk(jobs: readonly { readonly name: string; readonly data: unknown }[]): Promise<unknown>
  getJobCounts(...kinds: string[]): Promise<Readonly<Record<string, number>>>
  on(event: 'error', listener: (error: Error) => void): void
  close(): Promise<void>
}

interface Worker {
  on(event: 'completed', listener: () => void): void
  on(event: 'error' | 'failed', listener: (given: unknown) => void): void
  waitUntilReady(): Promise<unknown>
  close(force?: boolean): Promise<void>
}

interface FlowProducer {
  add(flow: unknown): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): void
  close(): Promise<void>
}

type Backend = 'redis' | 'postgres'

export const tuned = {
  redis: { concurrency: 200, bulk: 2_000 },
  postgres: { concurrency: 32, bulk: 2_000, connections: 16 },
}

export const bullRedis = contender('redis')
export const bullPostgres = contender('postgres')

function contender(backend: Backend): Contender {
  return {
    title: backend === 'redis' ? 'BullMQ on Redis' : 'BullMQ on PostgreSQL',
    get version() {
      return versionOf('bullmq')
    },
    get settings() {
      const { concurrency, bulk } = tuned[backend]
      const pool = backend === 'postgres' ? `, pool of ${tuned.postgres.connections}` : ''
      return `concurrency ${concurrency}${pool}; addBulk of ${bulk.toLocaleString('en')}`
    },

    async open(place) {
      const { Queue, FlowProducer } = await classes(backend)
      const options = { connection: connectionOf(backend, place) }
      const [queue, last] = [new Queue('noop', options), new Queue('last', options)]
      for (const each of [queue, last]) each.on('error', report)
      await queue.waitUntilReady()
      return {
        submit: (count) =>
          inGroups(count, tuned[backend].bulk, (from, size) =>
            queue.addBulk(numbers(from, size, (n) => ({ name: 'noop', data: { n } }))),
          ),
        async finished(count) {
          return (await queue.getJobCounts('completed')).completed === count
        },
        async fanIn(children) {
          const producer = new FlowProducer(options)
          producer.on('error', report)
          await producer.add({
            name: 'last',
            queueName: 'last',
            children: numbers(0, children, (n) => ({ name: 'noop', queueName: 'noop', data: { n } })),
          })
          while ((await last.getJobCounts('completed')).completed !== 1) await pause(5)
          await producer.close()
        },
        async close() {
          await queue.close()
          await last.close()
        },
      }
    },

    async work(place, handled) {
      const { Worker } = await classes(backend)
      const connection = connectionOf(backend, place)
      const { concurrency } = tuned[backend]
      const workers = [
        new Worker('noop', async () => {}, { connection, concurrency }),
        new Worker('last', async () => {}, { connection }),
      ]
      for (const worker of workers) for (const event of ['error', 'failed'] as const) worker.on(event, report)
      workers[0]!.on('completed', () => handled(1))
      return async () => {
        await Promise.all(workers.map((worker) => worker.close(true)))
      }
    },

    async idle(place) {
      const { Queue, Worker } = await classes(backend)
      const connection = connectionOf(backend, place)
      const queue = new Queue('noop', { connection })
      await queue.waitUntilReady()
      const worker = new Worker('noop', async () => {}, { connection })
      for (const each of [queue, worker]) each.on('error', report)
      let completed = () => {}
      worker.on('completed', () => completed())
      await worker.waitUntilReady()
      return {
        one: (n) =>
          new Promise((resolve, reject) => {
            completed = resolve
            queue.add('noop', { n }).catch(reject)
          }),
        async close() {
          await worker.close(true)
          await queue.close()
        },
      }
    },
  }
}

async function classes(backend: Backend): Promise<Classes> {
  const module = await loadPeer<Module>('bullmq')
  return backend === 'redis' ? module : module.withBackend(module.createPostgresBackend)
}

function connectionOf(backend: Backend, place: Place): Readonly<Record<string, unknown>> {
  if (backend === 'postgres') {
    return { connectionString: place.postgres, max: tuned.postgres.connections, migrate: true }
  }
  const { hostname, port } = new URL(place.redis)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}

function report(given: unknown): void {
  process.stderr.write(`BullMQ: ${given instanceof Error ? given.message : String(given)}\n`)
}
