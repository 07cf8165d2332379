import { readFileSync } from 'node:fs'
import { type Diagram, parseMermaid, parseTransitionHeadings, parseTransitionList } from '../src/diagram.ts'

/** The choice is declared as do_report and used as do_reduction. */
const reduction = { do_report: 'do_reduction' }
/** "Automatic Cleanup" is what happens to a completed batch; the state after it is the one called DELETED elsewhere. */
const cleanup = { automatic_cleanup: 'deleted' }

const read = (file: string): string => readFileSync(new URL(`../diagrams/${file}`, import.meta.url), 'utf8')

/** Every seed diagram under the name that `diagrams/deviations.md` uses. */
export const seedDiagrams = {
  '000-job': parseMermaid(read('000-job.mmd'), reduction),
  '000-chunk': parseMermaid(read('000-chunk.mmd')),
  '001-job': parseMermaid(read('001-job.mmd'), reduction),
  '001-chunk': parseMermaid(read('001-chunk.mmd')),
  '002-job': parseTransitionHeadings(read('002-transitions.md'), 'Job'),
  '002-batch': parseTransitionHeadings(read('002-transitions.md'), 'Batch', cleanup),
  '003-upload-batch': parseMermaid(read('003-upload-batch.mmd')),
  '004-job': parseTransitionList(read('004-job.md')),
  '004-batch': parseTransitionList(read('004-batch.md')),
} as const satisfies Readonly<Record<string, Diagram>>

export type SeedDiagramName = keyof typeof seedDiagrams
