import { type Client, Pool } from 'pg'
import { type Contender, inGroups, numbers, type Place } from './contender.ts'
import { loadPeer, versionOf } from './peer.ts'

interface Module {
  run(options: Options): Promise<{ stop(): Promise<void> }>
  makeWorkerUtils(options: Options): Promise<Utils>
  readonly Logger: new (factory: () => () => void) => unknown
}

interface Utils {
  migrate(): Promise<void>
  addJob(task: string, payload: unknown): Promise<unknown>
  addJobs(specs: readonly { readonly identifier: string; readonly payload: unknown }[]): Promise<unknown>
  release(): Promise<void>
}

interface Options {
  readonly pgPool: Pool
  readonly logger?: unknown
  readonly noHandleSignals?: boolean
  readonly crontab?: string
  readonly taskList?: Readonly<Record<string, () => void>>
  readonly preset?: { readonly worker: Readonly<Record<string, unknown>> }
}

/** The batched configuration of its own performance page. */
export const tuned = { concurrentJobs: 10, size: 500, batchDelay: 0, connections: 10 }

export const graphile: Contender = {
  title: 'graphile-worker',
  get version() {
    return versionOf('graphile-worker')
  },
  get settings() {
    return `localQueue.size ${tuned.size}, completeJobBatchDelay and failJobBatchDelay ${tuned.batchDelay}, concurrentJobs ${tuned.concurrentJobs}; addJobs of 10,000`
  },

  async open(place) {
    const pool = poolOf(place)
    const { makeWorkerUtils, Logger } = await loadPeer<Module>('graphile-worker')
    const utils = await makeWorkerUtils({ pgPool: pool, logger: silent(Logger) })
    await utils.migrate()
    return {
      submit: (count) =>
        inGroups(count, 10_000, (from, size) =>
          utils.addJobs(numbers(from, size, (n) => ({ identifier: 'noop', payload: { n } }))),
        ),
      async finished() {
        const { rows } = await pool.query('SELECT NOT EXISTS (SELECT FROM graphile_worker._private_jobs) AS none')
        return rows[0].none
      },
      fanIn: null,
      async close() {
        await utils.release()
        await pool.end()
      },
    }
  },

  async work(place, handled) {
    const pool = poolOf(place)
    const { run, Logger } = await loadPeer<Module>('graphile-worker')
    const runner = await run({
      pgPool: pool,
      logger: silent(Logger),
      noHandleSignals: true,
      crontab: '',
      taskList: { noop: () => handled(1) },
      preset: {
        worker: {
          concurrentJobs: tuned.concurrentJobs,
          localQueue: { size: tuned.size },
          completeJobBatchDelay: tuned.batchDelay,
          failJobBatchDelay: tuned.batchDelay,
        },
      },
    })
    return async () => {
      await runner.stop()
      await pool.end()
    }
  },

  async idle(place) {
    const pool = poolOf(place)
    let completed = () => {}
    // Its event of completion comes before the row is written: the statement's own answer says when it is.
    pool.on('connect', (client) => afterDelete(client as unknown as Client, () => completed()))
    const { run, makeWorkerUtils, Logger } = await loadPeer<Module>('graphile-worker')
    const logger = silent(Logger)
    const utils = await makeWorkerUtils({ pgPool: pool, logger })
    await utils.migrate()
    const runner = await run({
      pgPool: pool,
      logger,
      noHandleSignals: true,
      crontab: '',
      taskList: { noop: () => {} },
      preset: { worker: { concurrentJobs: 4 } },
    })
    return {
      one: (n) =>
        new Promise((resolve, reject) => {
          completed = resolve
          utils.addJob('noop', { n }).catch(reject)
        }),
      async close() {
        await runner.stop()
        await utils.release()
        await pool.end()
      },
    }
  },
}

function poolOf({ postgres }: Place): Pool {
  const pool = new Pool({ connectionString: postgres, max: tuned.connections })
  // It insists on both.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function silent(Logger: Module['Logger']): unknown {
  return new Logger(() => () => {})
}

function afterDelete(client: Client, tell: () => void): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown
  const heard = (...given: unknown[]) => {
    const answer = query(...given)
    const [asked] = given as [{ readonly text?: string }?]
    if (asked?.text?.startsWith('delete') && answer instanceof Promise) answer.then(tell, () => {})
    return answer
  }
  Object.assign(client, { query: heard })
}
