import { posix } from 'node:path'
import jsTokens from 'js-tokens'

/**
 * The dependency rules between folders (ARCHITECTURE.md) as functions from sources to complaints, so that the rules themselves can be tested
 * with invented sources. Sources are read as tokens: what stands in a comment or a text is no code.
 */
export interface Source {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** A place where a rule does not apply, and why. */
export interface Exception {
  readonly path: string
  readonly what: string
  readonly reason: string
}

export interface Import {
  readonly specifier: string
  /** `type` leaves no trace at run time; `thread` is a file named to a worker thread by `new URL(…, import.meta.url)`. */
  readonly kind: 'runtime' | 'type' | 'thread'
}

// ---- Reading ----

interface Token {
  readonly type: string
  readonly value: string
}

const silent = new Set([
  'WhiteSpace',
  'LineTerminatorSequence',
  'SingleLineComment',
  'MultiLineComment',
  'HashbangComment',
])
const tokensBySource = new WeakMap<Source, readonly Token[]>()

function tokensOf(source: Source): readonly Token[] {
  let tokens = tokensBySource.get(source)
  if (!tokens) {
    tokens = [...jsTokens(source.text)].filter((token) => !silent.has(token.type))
    tokensBySource.set(source, tokens)
  }
  return tokens
}

export function importsOf(source: Source): readonly Import[] {
  const tokens = tokensOf(source)
  const text = (index: number): string | null =>
    tokens[index]?.type === 'StringLiteral' ? (tokens[index]?.value.slice(1, -1) ?? null) : null
  const value = (index: number): string => tokens[index]?.value ?? ''
  return tokens.flatMap((token, index): readonly Import[] => {
    if (value(index - 1) === '.') return []
    if (token.value === 'from' && text(index + 1) !== null) {
      return [{ specifier: text(index + 1)!, kind: isTypeClause(tokens, index) ? 'type' : 'runtime' }]
    }
    if (token.value === 'import') {
      const specifier = text(index + 1) ?? (value(index + 1) === '(' ? text(index + 2) : null)
      return specifier === null ? [] : [{ specifier, kind: 'runtime' }]
    }
    if (token.value === 'URL' && value(index + 1) === '(') {
      const end = tokens.findIndex((other, at) => at > index && other.value === ')')
      const names = tokens.slice(index, end).filter((other) => /^.\.{1,2}\/.*\.ts.$/.test(other.value))
      return names.map((name) => ({ specifier: name.value.slice(1, -1), kind: 'thread' }))
    }
    return []
  })
}

/** Walks back from `from` over the clause to the word that began it. */
function isTypeClause(tokens: readonly Token[], from: number): boolean {
  let index = from - 1
  while (index > 0 && !['import', 'export'].includes(tokens[index]!.value)) index -= 1
  // `import type from './type.ts'` imports a value called type.
  return tokens[index + 1]?.value === 'type' && index + 1 < from - 1
}

export const isTest = (path: string): boolean => path.endsWith('.test.ts')

/** What is built and published. */
const isShipped = ({ path }: Source): boolean => /^(src|workflows)\//.test(path) && !isTest(path)

/** The path that a relative specifier leads to; null for a package. */
function targetOf(source: Source, { specifier }: Import): string | null {
  return specifier.startsWith('.') ? posix.normalize(posix.join(posix.dirname(source.path), specifier)) : null
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

// ---- Who may import whom ----

/** Where a source belongs. `front` is src/index.ts, which only gathers what the package shows. */
export function zoneOf(path: string): string | null {
  if (path === 'src/index.ts') return 'front'
  const store = /^src\/store\/([^/]+)\/./.exec(path)
  if (store) return `store/${store[1]}`
  const [top, folder, ...below] = path.split('/')
  if (top !== 'src') return top ?? null
  if (below.length === 0) return 'root'
  return ['engine', 'http', 'dashboard', 'cli', 'testing', 'workflow-json', 'dial', 'client', 'transfer'].includes(
    folder ?? '',
  )
    ? folder!
    : null
}

/** What touches the outside world: handed in as a clock, a store or a processor, never reached for by the rules themselves. */
const outsideWorld =
  /^node:(fs|fs\/promises|http|https|http2|net|tls|dgram|dns|child_process|cluster|sqlite|timers|timers\/promises)$/
const drivers: Readonly<Record<string, readonly string[]>> = {
  'store/memory': [],
  'store/sqlite': ['node:sqlite'],
  'store/postgres': ['postgres', 'pg'],
  'store/zookeeper': ['node-zookeeper-client'],
}
/** What is no store, and keeps something small in a file of its own. */
const filesOfTheirOwn: Readonly<Record<string, string>> = { 'src/http/idempotency-file.ts': 'node:sqlite' }
const everyDriver = new Set(Object.values(drivers).flat())
const plainPackages = new Set(['zod', 'pino'])

/** Which zones of src/ a zone sees besides itself. */
function sees(zone: string, other: string): boolean {
  if (zone === other) return true
  switch (zone) {
    case 'root':
      return false
    case 'engine':
    case 'http':
    case 'dashboard':
    case 'client':
      return other === 'root'
    case 'front':
      return other !== 'cli' && other !== 'testing'
    case 'cli':
      return other !== 'testing'
    case 'testing':
      return other !== 'cli' && other !== 'front'
    default:
      return other === 'root'
  }
}

export function layerComplaints(sources: readonly Source[]): readonly string[] {
  return sources
    .filter((source) => source.path.startsWith('src/') && !isTest(source.path))
    .flatMap((source) => {
      const zone = zoneOf(source.path)
      if (zone === null || (zone.startsWith('store/') && !drivers[zone])) {
        return [`${source.path} lies in a folder that no rule names: give it one in test/architecture.ts.`]
      }
      return importsOf(source).flatMap((imported) => {
        const why = layerComplaint(source, zone, imported)
        return why ? [`${source.path} imports ${imported.specifier}: ${why}`] : []
      })
    })
}

function layerComplaint(source: Source, zone: string, imported: Import): string | null {
  const { specifier } = imported
  const target = targetOf(source, imported)
  if (target !== null) {
    const other = zoneOf(target)
    if (!target.startsWith('src/')) return 'sources of the package stay inside src/.'
    if (isTest(target)) return 'nothing imports a test.'
    if (!target.endsWith('.ts')) return 'Node finds a source by its full name only, with .ts.'
    return other !== null && sees(zone, other) ? null : `${zone} does not see ${other ?? 'that folder'}.`
  }
  const name = packageOf(specifier)
  if (name === 'sluice') {
    // The command line is where families and the engine come together; it knows a family as any user does.
    const isFamily = zone === 'cli' && /^sluice\/(upload|chunked|fhir|ingest|dial)$/.test(specifier)
    return isFamily ? null : 'inside src/ files are imported by their path.'
  }
  if (zone === 'root' || zone === 'engine') {
    if (outsideWorld.test(specifier)) return `${zone} never reaches outside; it is handed what it needs.`
    return name.startsWith('node:') || plainPackages.has(name) ? null : `${zone} uses zod and pino only.`
  }
  if (everyDriver.has(name) && !drivers[zone]?.includes(name) && filesOfTheirOwn[source.path] !== name)
    return `the driver belongs to its store folder, not to ${zone}.`
  if (drivers[zone] && !name.startsWith('node:') && !plainPackages.has(name) && !drivers[zone].includes(name)) {
    return `${zone} uses its driver, zod and pino only.`
  }
  return null
}

/** What is published may use only what is installed with it. */
export function dependencyComplaints(sources: readonly Source[], installed: ReadonlySet<string>): readonly string[] {
  return sources.filter(isShipped).flatMap((source) =>
    importsOf(source)
      // The package may name itself.
      .filter(({ specifier }) => !/^(\.|node:|sluice(\/|$))/.test(specifier) && !installed.has(packageOf(specifier)))
      .map(({ specifier }) => `${source.path} imports ${specifier}, which is no dependency or peer of the package.`),
  )
}

/** The compiler turns './a.ts' into './a.js' in imports only; a thread's file must be named for both. */
export function threadComplaints(sources: readonly Source[]): readonly string[] {
  return sources.filter(isShipped).flatMap((source) =>
    importsOf(source)
      .filter(({ kind, specifier }) => kind === 'thread' && !saysText(source, specifier.replace(/\.ts$/, '.js')))
      .map(({ specifier }) => `${source.path} names ${specifier} to a thread, but in dist/ that file ends in .js.`),
  )
}

function saysText(source: Source, text: string): boolean {
  return tokensOf(source).some((token) => token.type === 'StringLiteral' && token.value.slice(1, -1) === text)
}

/** A family keeps what its tests share in a folder of its own, which is not built. */
const isForTests = (path: string): boolean => isTest(path) || /^workflows\/[^/]+\/test\//.test(path)

/** Workflows and examples are what a user could have written: they know the package by its public name only. */
export function publicNameComplaints(sources: readonly Source[]): readonly string[] {
  return sources
    .filter((source) => /^(workflows|examples)\//.test(source.path))
    .flatMap((source) => {
      const [top, family, ...below] = source.path.split('/')
      const home = top === 'workflows' && below.length > 0 ? `workflows/${family}/` : `${top}/`
      return importsOf(source).flatMap((imported) => {
        const target = targetOf(source, imported)
        if (top === 'workflows' && imported.specifier === 'sluice/testing' && !isForTests(source.path)) {
          return [`${source.path} imports sluice/testing: the test kit is for tests.`]
        }
        if (target === null || target.startsWith(home)) return []
        return [
          `${source.path} imports ${imported.specifier}: outside ${home} it may only import "sluice" or "sluice/…".`,
        ]
      })
    })
}

/** Each cycle once, as the path that closes it. */
export function cycles(sources: readonly Source[], kinds: readonly Import['kind'][]): readonly string[] {
  const known = new Map(sources.map((source) => [source.path, source]))
  const targets = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source)
        .filter((imported) => kinds.includes(imported.kind))
        .flatMap((imported) => targetOf(source, imported) ?? [])
        .filter((target) => known.has(target)),
    ]),
  )
  const found = new Set<string>()
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      found.add(rotated(trail.slice(at)).join(' → '))
      return
    }
    if (finished.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
    finished.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return [...found].map((cycle) => `${cycle} → ${cycle.split(' → ')[0]}`)
}

function rotated(cycle: readonly string[]): readonly string[] {
  const first = cycle.indexOf([...cycle].sort()[0]!)
  return [...cycle.slice(first), ...cycle.slice(0, first)]
}

// ---- What a source may say ----

type Pattern = readonly [what: string, words: readonly string[]]

/** Time and chance. `new Date(number)` only formats and is allowed. */
const timeAndChance: readonly Pattern[] = [
  ['Date.now', ['Date', '.', 'now']],
  ['new Date()', ['new', 'Date', '(', ')']],
  ['Math.random', ['Math', '.', 'random']],
  ['performance.now', ['performance', '.', 'now']],
  ['process.hrtime', ['process', '.', 'hrtime']],
  ['setTimeout', ['setTimeout']],
  ['setInterval', ['setInterval']],
  ['setImmediate', ['setImmediate']],
  ['randomUUID', ['randomUUID']],
  ['randomBytes', ['randomBytes']],
  ['getRandomValues', ['getRandomValues']],
]

/** Every occurrence of a pattern, save where it is a member of something that was handed in (`clock.setTimeout`). */
function occurrences(source: Source, patterns: readonly Pattern[]): readonly string[] {
  const tokens = tokensOf(source)
  return patterns.flatMap(([what, words]) => {
    const said = tokens.some(
      (_, index) =>
        words.every((word, offset) => tokens[index + offset]?.value === word) &&
        (!['.', '?.'].includes(tokens[index - 1]?.value ?? '') || isGlobalObject(tokens[index - 2]?.value)),
    )
    return said ? [what] : []
  })
}

function isGlobalObject(word: string | undefined): boolean {
  return word === 'globalThis' || word === 'crypto'
}

/** The simulation is only as good as this rule: one call past the handed-in clock and a seed no longer replays a failure. */
export function clockComplaints(sources: readonly Source[], exceptions: readonly Exception[]): readonly string[] {
  const used = new Set<Exception>()
  const complaints = sources
    .filter((source) => isShipped(source) && source.path !== 'src/clock.ts')
    .flatMap((source) =>
      occurrences(source, timeAndChance).flatMap((what) => {
        const exception = exceptions.find((row) => row.path === source.path && row.what === what)
        if (exception) used.add(exception)
        return exception ? [] : [`${source.path} says ${what}: time and chance come from the Clock that it is handed.`]
      }),
    )
  const unused = exceptions.filter((row) => !used.has(row))
  return [
    ...complaints,
    ...unused.map((row) => `The exception for ${row.what} in ${row.path} is not needed: remove it.`),
  ]
}

export function fetchComplaints(sources: readonly Source[]): readonly string[] {
  return sources
    .filter((source) => ['root', 'engine'].includes(zoneOf(source.path) ?? '') && !isTest(source.path))
    .filter((source) => occurrences(source, [['fetch', ['fetch', '(']]]).length > 0)
    .map((source) => `${source.path} calls fetch: only processors and adapters reach outside.`)
}

export function wordComplaints(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source) => {
    const tokens = tokensOf(source)
    const value = (index: number): string => tokens[index]?.value ?? ''
    const said = tokens.flatMap((token, index) => {
      if (token.type !== 'IdentifierName' || ['.', '?.'].includes(value(index - 1))) return []
      if (token.value === 'enum' && tokens[index + 1]?.type === 'IdentifierName')
        return ['enum (use an `as const` union)']
      // `any` as a key or a function's name is a word like any other.
      if (token.value === 'any' && ![':', '(', '?'].includes(value(index + 1))) return ['any (use unknown)']
      return []
    })
    return [...new Set(said)].map((what) => `${source.path} says ${what}.`)
  })
}

// ---- Where state is written ----

/** The files of SQL stores that change state or history, and the verb of the port that each of them serves. */
const doors: Readonly<Record<string, string>> = {
  'src/store/sqlite/births.ts': 'create, and children in commit',
  'src/store/sqlite/nursery.ts': 'children in commit, many at once',
  'src/store/sqlite/claim.ts': 'claim',
  'src/store/sqlite/alike.ts': 'commit',
  'src/store/sqlite/row-writing.ts': 'commit',
  'src/store/sqlite/removal.ts': 'purge',
  'src/store/sqlite/transfer-writing.ts': 'a transfer into an empty store',
  'src/store/postgres/writing.ts': 'create, commit and purge',
  'src/store/postgres/sealed-birth.ts': 'create',
  'src/store/postgres/uniform.ts': 'commit',
  'src/store/postgres/claim.ts': 'claim',
  'src/store/postgres/leasing.ts': 'claim',
  'src/store/postgres/purge.ts': 'purge',
  'src/store/postgres/transfer-placing.ts': 'a transfer into an empty store',
}

/** Statements that make, remove or move an entity, or write its history. */
const changesState =
  /\b(insert\s+into|delete\s+from)\s+(entity(_hot|_cold)?|history)\b|\bupdate\s+history\b|\bupdate\s+entity(_hot|_cold)?\s+set\s+([\s\S]*\bstate\s*=|\$\{|$)/i

/** State has one door: create, claim, commit and purge of a store. */
export function doorComplaints(sources: readonly Source[]): readonly string[] {
  return sources
    .filter(({ path }) => path.startsWith('src/') && !isTest(path) && !(path in doors))
    .filter((source) =>
      tokensOf(source).some(({ type, value }) => /String|Template/.test(type) && changesState.test(value)),
    )
    .map(({ path }) => `${path} writes state or history: only a store's create, claim, commit and purge do.`)
}

// ---- How a source is named and how long it is ----

const emptyNames = ['util', 'utils', 'helper', 'helpers', 'common', 'types', 'misc', 'shared']
/** A longer file usually holds two nouns. */
export const linesMax = 500

export function nameComplaints(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path }) => {
    const names = path.split('/').map((name) => name.replace(/(\.test)?\.ts$/, ''))
    const strange = names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    const empty = names.filter((name) => emptyNames.includes(name))
    return [
      ...strange.map((name) => `${path}: ${name} is not kebab-case.`),
      ...empty.map((name) => `${path}: ${name} says nothing; name the file after its noun.`),
    ]
  })
}

export function lengthComplaints(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length
    return lines > linesMax
      ? [`${path} has ${lines} lines, more than ${linesMax}: a second noun is a second file.`]
      : []
  })
}
