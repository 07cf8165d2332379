import { getHeapStatistics } from 'node:v8'

/**
 * What Sluice asks of V8 where the user asked for nothing else. None of it limits what the user's code may hold: they only decide how the
 * garbage of short-lived objects is collected. Measured: bench/RESULTS.md and docs/operating/embedded.md.
 */
export const memoryFlags = [
  // Without it young objects take about a hundred MiB, and nothing is faster for it.
  '--max-semi-space-size=16',
  '--v8-pool-size=2',
  // Young objects are few and soon gone. Helper threads that wait for a core, while our own threads have them, make it longer.
  '--no-parallel-scavenge',
  // Items live for two or three groups, which looks like long to the collector: it then makes them where only a full collection finds them.
  '--no-allocation-site-pretenuring',
] as const

/** The flags that neither the command line nor NODE_OPTIONS names: any setting of the user goes before ours, flag by flag. */
export function missingFlags(flags: readonly string[], execArgv: readonly string[], nodeOptions = ''): string[] {
  const given = new Set([...execArgv, ...optionsIn(nodeOptions)].map(nameOf))
  return flags.filter((flag) => !given.has(nameOf(flag)))
}

/** V8 reads `_` as `-`, and `no-` before a name as its opposite. */
function nameOf(flag: string): string {
  return flag
    .replace(/^--(no-?)?/, '')
    .replace(/=.*$/s, '')
    .replaceAll('_', '-')
}

function optionsIn(nodeOptions: string): readonly string[] {
  return nodeOptions.split(/\s+/).map((word) => word.replaceAll('"', ''))
}

/** A setting of the memory that is in force. */
export interface MemorySetting {
  readonly value: string
  readonly source: 'command line' | 'NODE_OPTIONS' | 'Sluice' | 'Node'
}

export interface MemorySettings {
  /** Bytes that objects may take in the main thread before the process is ended. */
  readonly heapMax: number
  readonly oldSpace: MemorySetting
  readonly semiSpace: MemorySetting
}

export function memorySettings(execArgv = process.execArgv, nodeOptions = process.env.NODE_OPTIONS): MemorySettings {
  const setting = (name: string): MemorySetting => {
    const find = (flags: readonly string[]) => flags.findLast((flag) => nameOf(flag) === name)
    const [typed, exported] = [find(execArgv), find(optionsIn(nodeOptions ?? ''))]
    const value = (typed ?? exported)?.replace(/^[^=]*=?/s, '') ?? 'default'
    if (typed !== undefined)
      return { value, source: memoryFlags.some((flag) => flag === typed) ? 'Sluice' : 'command line' }
    return { value, source: exported === undefined ? 'Node' : 'NODE_OPTIONS' }
  }
  return {
    heapMax: getHeapStatistics().heap_size_limit,
    oldSpace: setting('max-old-space-size'),
    semiSpace: setting('max-semi-space-size'),
  }
}
