import type { Command } from 'commander'
import type { Host } from './host.ts'

/** What a command does: its arguments and options, and the process around it, to an exit status. */
export type Act<A extends unknown[]> = (...given: [...A, Host]) => Promise<number>

export type Doing = <A extends unknown[]>(load: () => Promise<Act<A>>) => (...given: [...A, Command]) => Promise<void>

/** Binds what is typed to what is done. That is loaded when it runs: help is there at once. */
export function doingOn(host: Host, onEnd: (status: number) => void): Doing {
  return <A extends unknown[]>(load: () => Promise<Act<A>>) =>
    async (...given: [...A, Command]) => {
      const act = await load()
      // commander adds the command itself at the end.
      onEnd(await act(...(given.slice(0, -1) as A), host))
    }
}
