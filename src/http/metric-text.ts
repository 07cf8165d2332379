import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { RunFigures } from '../run-figures.ts'

export type Labels = Readonly<Record<string, string | number>>
export type Sample = readonly [labels: Labels, value: number]

/** One metric in the text format of Prometheus. */
export function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** What the engine of this process has done. Each process counts its own: a sum over processes is the whole. */
export function runText({ runs, settled, moves, leasesLost }: RunFigures): string {
  return [
    metric(
      'sluice_runs_total',
      'counter',
      'Runs of processors by how they ended (a throw is a retry), children included, since this process started.',
      runs.map(({ machine, version, processor, end, count }) => [{ machine, version, processor, end }, count]),
    ),
    metric(
      'sluice_settled_total',
      'counter',
      'Entities that this process settled, by state and its declared outcome, children included.',
      settled.map(({ machine, version, state, outcome, count }) => [{ machine, version, state, outcome }, count]),
    ),
    metric('sluice_moves_total', 'counter', 'Moves that this process saved.', [[{}, moves]]),
    metric('sluice_leases_lost_total', 'counter', 'How often the worker of this process lost its lease.', [
      [{}, leasesLost],
    ]),
  ].join('')
}

/** Memory and event loop of this process. */
export class ProcessFigures {
  readonly #delay = monitorEventLoopDelay({ resolution: 20 })

  constructor() {
    this.#delay.enable()
  }

  close(): void {
    this.#delay.disable()
  }

  text(): string {
    const memory = process.memoryUsage()
    const text = [
      metric('process_resident_memory_bytes', 'gauge', 'Memory of this process.', [[{}, memory.rss]]),
      metric('nodejs_heap_used_bytes', 'gauge', 'Heap in use.', [[{}, memory.heapUsed]]),
      metric(
        'nodejs_eventloop_delay_seconds',
        'gauge',
        'Delay of the event loop since the last time it was asked for.',
        [
          [{ quantile: '0.5' }, seconds(this.#delay.percentile(50))],
          [{ quantile: '0.99' }, seconds(this.#delay.percentile(99))],
          [{ quantile: '1' }, seconds(this.#delay.max)],
        ],
      ),
    ].join('')
    this.#delay.reset()
    return text
  }
}

function seconds(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0
}
