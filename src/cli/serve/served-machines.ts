import { SluiceError } from '../../errors.ts'
import type { Machine } from '../../machine.ts'
import type { HeartRequest, Renewal, Store } from '../../store.ts'

/** What `--machines` says: modules that bring machines of the user's, and names of those that are to be served. */
export interface MachineChoice {
  readonly modules: readonly string[]
  /** Each `name` (every version) or `name@version`; none: all are served. */
  readonly names: readonly string[]
}

const name = '[a-z][a-z0-9]*(?:_[a-z0-9]+)*(?:@[0-9]{1,9})?'
const namesOnly = new RegExp(`^${name}(?:,${name})*$`)

/** A module is a file and has a dot or a slash, which no name of a machine has. */
export function areMachineNames(text: string): boolean {
  return namesOnly.test(text)
}

export function machineChoice(given: readonly string[]): MachineChoice {
  return {
    modules: given.filter((text) => !areMachineNames(text)),
    names: given.filter(areMachineNames).flatMap((text) => text.split(',')),
  }
}

/** The machines that are meant, each `name@version`; null: all. A name that nobody here has is refused: it would mean a worker that never works. */
export function servedMachines(
  names: readonly string[],
  known: readonly Pick<Machine, 'name' | 'version'>[],
): ReadonlySet<string> | null {
  if (names.length === 0) return null
  const full = known.map((machine) => `${machine.name}@${machine.version}`)
  const served = new Set<string>()
  for (const wanted of names) {
    const found = full.filter((one) => one === wanted || one.startsWith(`${wanted}@`))
    if (found.length === 0) {
      throw new SluiceError(
        'not_found',
        `--machines names ${wanted}, which is not known here. Known: ${full.join(', ')}.`,
        { machine: wanted },
      )
    }
    for (const one of found) served.add(one)
  }
  return served
}

/** Acts on many are everybody's work: they read and ask, and run no processor of any family. */
const everybodys = /^walk@/

/**
 * The store as a worker sees it that serves only some machines. The others are known to it all the same (a chunk that spawns chunks needs
 * the rules of their job), but it claims none of them, judges none of them, and says so in its row.
 */
export function serving(store: Store, served: ReadonlySet<string>): Store {
  // A worker also says what it can do of a machine: `name@version:what`.
  const isServed = (machine: string) => served.has(machine.split(':', 1)[0]!) || everybodys.test(machine)
  const ofServed = <T extends Pick<Renewal, 'identity'>>(request: T): T => ({
    ...request,
    identity: { ...request.identity, machines: request.identity.machines.filter(isServed) },
  })
  return {
    ...store,
    async claim(request) {
      const runs = request.runs.filter(({ machine, version }) => isServed(`${machine}@${version}`))
      return runs.length === 0 ? { entities: [], suspects: false } : store.claim({ ...request, runs })
    },
    due: (limit, machines = [...served]) => store.due(limit, machines.filter(isServed)),
    renew: (renewal) => store.renew(ofServed(renewal)),
    ...(store.heart && { heart: (request: HeartRequest) => store.heart!(ofServed(request)) }),
  }
}
