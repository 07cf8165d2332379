import type { Clock } from '../clock.ts'
import type { Control } from '../control.ts'
import type { RunFigures } from '../run-figures.ts'
import { type Labels, metric, ProcessFigures, runText, type Sample } from './metric-text.ts'

export interface MetricsOptions {
  readonly control: Control
  /** What the engine of this process has done. Null: there is none. */
  readonly figures: (() => RunFigures) | null
  readonly clock: Clock
  readonly listeners: { readonly size: number }
}

const bucketsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]
/** Routes are few and fixed; what no route knows is counted together. */
const seriesMax = 2_000
/** Every state that has somebody in it costs one look for its oldest. */
const oldestMax = 50

/** What Prometheus asks for, from what is counted anyway: nothing is scanned. */
export class Metrics {
  readonly #options: MetricsOptions
  readonly #requests = new Map<string, { readonly labels: Labels; count: number }>()
  readonly #buckets = new Array<number>(bucketsSeconds.length).fill(0)
  #seconds = 0
  #count = 0
  readonly #process = new ProcessFigures()

  constructor(options: MetricsOptions) {
    this.#options = options
  }

  close(): void {
    this.#process.close()
  }

  answered(method: string, route: string, status: number, elapsedMs: number): void {
    const key = `${method} ${route} ${status}`
    const known = this.#requests.get(key)
    if (known) known.count += 1
    else if (this.#requests.size < seriesMax) this.#requests.set(key, { labels: { method, route, status }, count: 1 })
    const seconds = elapsedMs / 1_000
    this.#count += 1
    this.#seconds += seconds
    for (const [index, bound] of bucketsSeconds.entries()) {
      if (seconds <= bound) this.#buckets[index] = (this.#buckets[index] ?? 0) + 1
    }
  }

  async text(): Promise<string> {
    const { control, figures, listeners } = this.#options
    const [lanes, workers, holds] = await Promise.all([control.totals(), control.workers(), control.holds()])
    const roots = lanes.flatMap(({ machine, version, counts }) =>
      Object.entries(counts).map(([state, count]): Sample => [{ machine, version, state }, count]),
    )
    return [
      metric('sluice_roots', 'gauge', 'Roots by machine, version and state.', roots),
      metric(
        'sluice_roots_open',
        'gauge',
        'Roots that are not settled.',
        lanes.map(({ machine, version, open }) => [{ machine, version }, open]),
      ),
      metric(
        'sluice_oldest_open_seconds',
        'gauge',
        'How long the oldest open root of a state exists.',
        await this.#oldest(),
      ),
      figures ? runText(figures()) : '',
      metric('sluice_workers', 'gauge', 'Workers whose lease has not expired.', [[{}, workers.length]]),
      metric(
        'sluice_leases',
        'gauge',
        'Entities that a worker holds.',
        workers.map(({ id, name, leases }) => [{ worker: id, name }, leases]),
      ),
      metric('sluice_holds', 'gauge', 'Holds that stand.', [[{}, holds.length]]),
      metric(
        'sluice_http_requests_total',
        'counter',
        'Answers by route and status.',
        [...this.#requests.values()].map(({ labels, count }) => [labels, count]),
      ),
      this.#durations(),
      metric('sluice_http_listeners', 'gauge', 'Clients of /api/events.', [[{}, listeners.size]]),
      this.#process.text(),
    ].join('')
  }

  /** Ids grow with time: the first of a state is its oldest. */
  async #oldest(): Promise<readonly Sample[]> {
    const { control, clock } = this.#options
    const [lanes, machines] = await Promise.all([control.totals(), control.machines()])
    const states = lanes.flatMap(({ machine, version, counts }) => {
      const declared = machines.find((one) => one.name === machine && one.version === version)
      const open = Object.keys(counts).filter((state) => declared && !declared.settled.includes(state))
      return open.map((state) => ({ machine, version, state }))
    })
    return Promise.all(
      states.slice(0, oldestMax).map(async ({ machine, version, state }): Promise<Sample> => {
        const { entities } = await control.list({ machine, version, states: [state], parent: null, limit: 1 })
        const ageMs = entities[0] ? Math.max(0, clock.now() - entities[0].createdAt) : 0
        return [{ machine, version, state }, ageMs / 1_000]
      }),
    )
  }

  #durations(): string {
    const name = 'sluice_http_request_seconds'
    const lines = bucketsSeconds.map((bound, index) => `${name}_bucket{le="${bound}"} ${this.#buckets[index]}`)
    return [
      `# HELP ${name} Time to answer.`,
      `# TYPE ${name} histogram`,
      ...lines,
      `${name}_bucket{le="+Inf"} ${this.#count}`,
      `${name}_sum ${this.#seconds}`,
      `${name}_count ${this.#count}`,
      '',
    ].join('\n')
  }
}
