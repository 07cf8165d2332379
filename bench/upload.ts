/**
 * A file of a million items, from the command to the closed batch, as a user runs it: the command line in a process of its own, with and
 * without the text index, beside the plain limit: the same file parsed and inserted with the same indexes, and nothing else.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeSample } from 'sluice/upload'
import { type Figures, scenario } from './scenario.ts'
import { plainInsert } from './upload-plain.ts'

const command = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))

interface Run {
  readonly state: string
  readonly total: number
  readonly completed: number
  readonly itemsPerSecond: number
  readonly peakRssMiB: number
}

await scenario(async (file, quick): Promise<Figures> => {
  const folder = dirname(file)
  const [small, big] = quick ? [2_000, 50_000] : [10_000, 1_000_000]
  const files = { small: join(folder, 'small.json'), big: join(folder, 'big.json') }
  await writeSample({ path: files.small, items: small })
  await writeSample({ path: files.big, items: big })
  const upload = (path: string, count: number, ...options: string[]): Run => {
    const place = join(folder, 'run')
    rmSync(place, { recursive: true, force: true })
    mkdirSync(place)
    const where = ['--folder', place]
    const output = execFileSync(process.execPath, [
      command,
      'upload',
      'run',
      path,
      ...where,
      ...options,
      '--json',
      '--quiet',
    ])
    const run = JSON.parse(output.toString()) as Run
    if (run.state !== 'completed' || run.completed !== count) {
      throw new Error(`${run.completed} of ${count} items are completed; the batch is ${run.state}.`)
    }
    return run
  }
  const little = upload(files.small, small, '--no-text-index')
  const without = upload(files.big, big, '--no-text-index')
  const plain = plainInsert(files.big, join(folder, 'plain.db'))
  const withText = upload(files.big, big)
  return {
    upload_items: big,
    upload_per_s: without.itemsPerSecond,
    upload_rss_mib: without.peakRssMiB,
    upload_plain_per_s: plain,
    upload_of_plain: without.itemsPerSecond / plain,
    upload_flatness: little.itemsPerSecond / without.itemsPerSecond,
    upload_text_per_s: withText.itemsPerSecond,
    upload_text_rss_mib: withText.peakRssMiB,
  }
})
