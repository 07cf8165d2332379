import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Figures by name: what one scenario measured. */
export type Figures = Readonly<Record<string, number>>

/** Runs a scenario on a store file of its own and prints its figures as the last line, for bench/main.ts. */
export async function scenario(run: (file: string, quick: boolean) => Promise<Figures>): Promise<void> {
  // Beside the repository rather than in a temporary folder: that may lie in memory, where durability costs nothing.
  const folder = mkdtempSync(join(process.env.SLUICE_BENCH_FOLDER ?? tmpdir(), 'sluice-bench-'))
  try {
    const figures = await run(join(folder, 'bench.db'), process.argv.includes('--quick'))
    console.log(JSON.stringify(figures))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const seconds = (fromMs: number): number => (performance.now() - fromMs) / 1_000

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The highest resident memory seen while it runs, in MiB. */
export function watchMemory(): () => number {
  let peak = process.memoryUsage.rss()
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 50)
  return () => {
    clearInterval(timer)
    return Math.max(peak, process.memoryUsage.rss()) / 2 ** 20
  }
}

/** The middle one: a machine that is busy for a moment moves neither figure far. */
export function median(values: readonly number[]): number {
  return percentile(
    [...values].sort((one, other) => one - other),
    0.5,
  )
}
