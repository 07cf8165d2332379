import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { Engine } from '../../src/engine/engine.ts'
import { type Implementation, implement } from '../../src/implementation.ts'
import type { Limits } from '../../src/limits.ts'
import { durableStore } from '../durable-store.ts'
import { groupMachine, jobMachine } from './partner-machines.ts'

/** A worker that says what it does, one line each, and stops gracefully when it is asked to. */
export interface PartnerOrder {
  readonly file: string
  readonly name: string
  readonly limits: Partial<Limits>
}

export function partnerImplementations(say: (line: string) => void): readonly Implementation[] {
  return [
    implement(jobMachine, {
      processors: {
        takeTime: async ({ entity, data, attempt, signal }) => {
          const { durationMs, sleepy } = data as { durationMs: number; sleepy?: boolean }
          say(`began ${entity.id} attempt ${attempt}`)
          if (sleepy && attempt === 1) {
            // Nothing runs on until somebody wakes the process; then its work is done at once.
            process.kill(process.pid, 'SIGSTOP')
            return
          }
          try {
            await pause(durationMs, undefined, { signal })
          } catch (error) {
            say(`aborted ${entity.id}`)
            throw error
          }
          say(`ended ${entity.id}`)
        },
      },
    }),
    implement(groupMachine, {
      processors: {
        split: async (context) => {
          const { jobs, durationMs } = context.data as { jobs: number; durationMs: number }
          await context.spawn(Array.from({ length: jobs }, () => ({ machine: 'partner_job', data: { durationMs } })))
        },
      },
    }),
  ]
}

async function main({ file, name, limits }: PartnerOrder): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const store = durableStore(file)
  const log = pino({ level: 'warn' }, pino.destination(2))
  const engine = new Engine({
    store,
    implementations: partnerImplementations(say),
    limits,
    log,
    name,
    pid: process.pid,
  })
  const stopped = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
  await engine.start()
  say('up')
  await stopped
  await engine.stop()
  say('stopped')
  await store.close()
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? '') as PartnerOrder)
