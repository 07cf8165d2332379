/** Worker processes of one contender, started and counted together. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Place, pause } from './contender.ts'
import type { ContenderName } from './contenders.ts'
import type { Told } from './worker.ts'

export interface Crew {
  /** All handled so far. */
  count(): number
  /** When the first was handled, in milliseconds since 1970. */
  first(): number
  /** Ends when so many are handled. */
  handled(count: number): Promise<void>
  stop(): Promise<void>
}

const script = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/** They are loaded and ready before the word go: what is measured begins there. */
export async function startCrew(name: ContenderName, place: Place, processes: number): Promise<Crew> {
  const words = [name, JSON.stringify(place)]
  const children = Array.from({ length: processes }, () => fork(script, words))
  const told = new Map<ChildProcess, Told>()
  let failure: Error | null = null
  for (const child of children) {
    child.on('message', (message: Told) => told.set(child, message))
    child.on('exit', (code) => {
      if (code !== 0) failure = new Error(`A worker of ${name} ended with status ${code}.`)
    })
  }
  const look = async (until: () => boolean) => {
    while (!until()) {
      if (failure) throw failure
      await pause(2)
    }
  }
  await look(() => told.size === processes)
  for (const child of children) child.send('go')
  const count = () => [...told.values()].reduce((sum, { count }) => sum + count, 0)
  return {
    count,
    first: () => Math.min(...[...told.values()].map(({ first }) => first).filter((first) => first > 0)),
    handled: (wanted) => look(() => count() >= wanted),
    async stop() {
      const ended = children.map((child) => once(child, 'exit'))
      for (const child of children) child.send('stop')
      // Some take their time to end, with nothing left to do: what was measured is measured.
      const late = setTimeout(() => {
        for (const child of children) child.kill('SIGKILL')
      }, 5_000)
      await Promise.all(ended)
      clearTimeout(late)
    },
  }
}
