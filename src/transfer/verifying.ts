import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import {
  type Dump,
  type Numbers,
  type Records,
  type Report,
  type Section,
  type SectionReport,
  sections,
} from '../transfer.ts'
import { differenceOf, lineOf, nameOf } from './record-line.ts'
import { rest, type Watcher } from './watcher.ts'

/** Parts of a record that a message shows. */
const shownMax = 120

/** Reads both stores again, side by side. The first record that is not the same in both ends it with `conflict`. */
export async function verify(source: Dump, target: Dump, watcher: Watcher, clock: Clock): Promise<Report> {
  const report: SectionReport[] = []
  for (const section of sections) report.push(await verifySection(section, source, target, watcher, clock))
  checkNumbers(await source.numbers(), await target.numbers())
  return report
}

async function verifySection<Name extends Section>(
  section: Name,
  source: Dump,
  target: Dump,
  watcher: Watcher,
  clock: Clock,
): Promise<SectionReport> {
  const total = await source.count(section)
  const [here, there] = [new Stream(section, source), new Stream(section, target)]
  // Each line is the same in both, or nobody asks for the digest: one is enough.
  const hash = createHash('sha256')
  let count = 0
  for (;;) {
    if (count % 1_000 === 0) {
      await rest(watcher, clock)
      watcher.onProgress({ phase: 'verifying', section, done: count, total: Math.max(count, total) })
    }
    const one = here.next() ?? (await here.more())
    const other = there.next() ?? (await there.more())
    if (one === null && other === null) break
    if (one === null || other === null) throw oneSided(section, one ?? other!, one === null, count)
    const line = lineOf(section, one)
    if (line !== lineOf(section, other)) throw different(section, one, other, count)
    hash.update(`${line}\n`)
    count += 1
  }
  return { name: section, count, digest: hash.digest('hex') }
}

/** The records of one section, one by one; more are asked for when they are used up. */
class Stream<Name extends Section> {
  readonly #portions: AsyncIterator<{ readonly records: readonly Records[Name][] }>
  #records: readonly Records[Name][] = []
  #next = 0

  constructor(section: Name, dump: Dump) {
    this.#portions = dump.read(section, null)[Symbol.asyncIterator]()
  }

  /** Null: there is none at hand. */
  next(): Records[Name] | null {
    const record = this.#records[this.#next]
    if (record === undefined) return null
    this.#next += 1
    return record
  }

  /** Null: there is none at all. */
  async more(): Promise<Records[Name] | null> {
    for (;;) {
      const { done, value } = await this.#portions.next()
      if (done) return null
      this.#records = value.records
      this.#next = 0
      const record = this.next()
      if (record !== null) return record
    }
  }
}

function oneSided<Name extends Section>(
  section: Name,
  record: Records[Name],
  isInTarget: boolean,
  before: number,
): SluiceError {
  const [where, other] = isInTarget ? ['target', 'source'] : ['source', 'target']
  return refused(section, before, `${nameOf(section, record)} is in the ${where} and not in the ${other}`)
}

function different<Name extends Section>(
  section: Name,
  one: Records[Name],
  other: Records[Name],
  before: number,
): SluiceError {
  const names = [nameOf(section, one), nameOf(section, other)]
  if (names[0] !== names[1]) {
    return refused(section, before, `${names[0]} is in the source where the target has ${names[1]}`)
  }
  const difference = differenceOf(section, one, other)
  const what = difference
    ? `its ${difference.field} is ${shown(difference.one)} in the source and ${shown(difference.other)} in the target`
    : 'it is not the same in both'
  return refused(section, before, `${names[0]}: ${what}`)
}

function refused(section: Section, before: number, what: string): SluiceError {
  return new SluiceError(
    'conflict',
    `Source and target differ in ${section}, record ${before + 1}: ${what}. The target stays marked as unfinished, the source as it was. Run sluice move --abandon, then move again.`,
    { section, record: before + 1 },
  )
}

function shown(text: string | undefined): string {
  const whole = text ?? 'nothing'
  return whole.length <= shownMax ? whole : `${whole.slice(0, shownMax).toWellFormed()}…`
}

/** The time is not among them: a source that nobody can use notes a later one even so, when somebody tries. */
function checkNumbers(source: Numbers, target: Numbers): void {
  for (const name of ['entity', 'worker', 'hold'] as const) {
    if (target[name] >= source[name]) continue
    throw new SluiceError(
      'conflict',
      `The last ${name} number of the source is ${source[name]}, that of the target ${target[name]}: some would be given twice. Run sluice move --abandon, then move again.`,
      { name, source: source[name], target: target[name] },
    )
  }
}
