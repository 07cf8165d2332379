import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type SampleCounts, type SampleFile, type SampleFileOptions, writeSample } from 'sluice/fhir'
import { SluiceError } from '../../errors.ts'
import { countOf, durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { ProgressBar } from '../progress-bar.ts'
import { commandLine, plain, section, table } from '../text.ts'

export interface SampleCommandOptions
  extends Pick<SampleFileOptions, 'bad' | 'repeated' | 'changed' | 'gzip' | 'seed'> {
  readonly resources: number
  readonly force?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What is done within a second needs no bar. */
const patienceMs = 1_000

/** Writes files to try the FHIR jobs with, and tells what an import of them must come to. */
export async function sample(folder: string, given: SampleCommandOptions, { terminal, clock }: Host): Promise<number> {
  const { force, json, quiet, resources: count, ...content } = given
  if (!force && (await isFilled(folder))) {
    throw new SluiceError('conflict', `${folder} is not empty. Take another folder, or --force to write into it.`)
  }
  const bar = quiet ? null : new ProgressBar(terminal, () => clock.now())
  const startedAt = clock.now()
  const onProgress = (done: number) => {
    if (clock.now() - startedAt < patienceMs) return
    bar?.show({ phase: 'writing', done, total: count, unit: 'items' })
  }
  try {
    const { files, counts } = await writeSample({ ...content, count, folder, onProgress })
    bar?.clear()
    if (json) terminal.out(`${JSON.stringify({ folder, files, counts })}\n`)
    else if (!quiet) terminal.out(`${told(folder, files, counts, clock.now() - startedAt)}\n`)
    return 0
  } finally {
    bar?.clear()
  }
}

async function isFilled(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function told(folder: string, files: readonly SampleFile[], counts: SampleCounts, tookMs: number): string {
  const { lines, resources, repeated, changed, bad, badByCode } = counts
  const codes = Object.entries(badByCode).sort(([, one], [, other]) => other - one)
  const parameters = JSON.stringify({ inputs: [{ folder: resolve(folder) }] })
  return [
    `${plain(folder, 200)}: ${countOf(lines)} lines in ${files.length} files, written in ${durationOf(tookMs)}. On an empty store an import must come to:`,
    '',
    ...table([
      ['resources', resources],
      ['unchanged', repeated],
      ['changed', changed],
      ['bad', bad],
    ]),
    ...section('Bad lines', table(codes.map(([code, count]) => [count, code]))),
    '',
    `Try it: ${commandLine(['sluice', 'job', 'run', 'fhir-import', '--params', parameters])}`,
  ].join('\n')
}
