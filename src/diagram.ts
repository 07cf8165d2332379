import { SluiceError } from './errors.ts'

/**
 * Reads the diagrams and transition lists that machines are built from, and compares a machine with one of them.
 * Every reader is strict: a line that it does not understand is an error, since an edge that was silently skipped would
 * be an edge that no test demands.
 */
export interface Diagram {
  readonly title: string | null
  /** In order of first mention, choice nodes left out. */
  readonly states: readonly string[]
  /** Between states only: where an entity begins and ends is in `initial` and `final`. */
  readonly edges: readonly DiagramEdge[]
  readonly initial: readonly string[]
  readonly final: readonly string[]
}

export interface DiagramEdge {
  readonly from: string
  readonly to: string
  readonly label: string
  /** What a choice node asked on the way, as text. */
  readonly guard?: string
}

/** The part of a machine that a diagram can show. */
export interface DiagramSubject {
  readonly initial: readonly string[]
  readonly settled: readonly string[]
  readonly edges: readonly NamedEdge[]
}

export interface NamedEdge {
  readonly name: string
  readonly from: string
  readonly to: string
}

/** Slips of the pen in a source, as `written name: meant name`. Both in lower_snake. */
export type Aliases = Readonly<Record<string, string>>

/** A place where machine and diagram differ on purpose. */
export interface Deviation {
  readonly diagram: string
  readonly from: string
  readonly to: string
  /** Given where only one of several edges between the two states is meant. */
  readonly name?: string
  /** `missing`: drawn, but not in the machine. `extra`: in the machine, but not drawn. */
  readonly what: 'missing' | 'extra'
  readonly reason: string
}

export interface ComparedEdge {
  readonly from: string
  readonly to: string
  readonly name: string
}

export interface Comparison {
  readonly missing: readonly ComparedEdge[]
  readonly extra: readonly ComparedEdge[]
  /** Rows that excuse nothing: the machine has moved on and the row must go. */
  readonly unusedDeviations: readonly Deviation[]
}

/** The node that Mermaid draws as a dot: before the first state and after the last. */
export const outside = '[*]'

/** lower_snake of a source's own spelling: `UpdateReporting`, `IN_PROGRESS` and `Automatic Cleanup` alike. */
export function stateName(written: string): string {
  return written
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase()
}

/** What a label in the form `name (processor + criterion) [cause]` says; null for a label in free words. */
export function readLabel(label: string): { name: string; parts: readonly string[]; cause: string | null } | null {
  const match = /^([a-z][a-z0-9_]*)(?: \(([^()]*)\))?(?: \[([^[\]]*)\])?$/.exec(label)
  if (!match?.[1]) return null
  return { name: match[1], parts: match[2]?.split(' + ') ?? [], cause: match[3] ?? null }
}

// ---- Mermaid ----

/** Reads one `stateDiagram-v2`. Edges through choice nodes become direct edges that keep their guard. */
export function parseMermaid(text: string, aliases: Aliases = {}): Diagram {
  const { title, lines } = readFrontMatter(text)
  const drawing = readStatements(lines, aliases)
  const { choices } = drawing
  const edges = drawing.edges.filter((edge) => !choices.has(edge.from)).flatMap((edge) => followChoices(edge, drawing))
  return diagramOf(
    title,
    drawing.nodes.filter((node) => !choices.has(node)),
    edges,
  )
}

interface Line {
  readonly number: number
  readonly text: string
}

interface Drawing {
  readonly nodes: string[]
  readonly choices: Set<string>
  readonly edges: DiagramEdge[]
}

function readFrontMatter(text: string): { title: string | null; lines: readonly Line[] } {
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '' && !line.text.startsWith('%%'))
  if (lines[0]?.text !== '---') return { title: null, lines }
  const end = lines.findIndex((line, index) => index > 0 && line.text === '---')
  if (end < 0) throw notUnderstood(lines[0], 'the front matter that begins here has no end')
  const title = lines.slice(1, end).flatMap((line) => /^title:\s*(.*)$/.exec(line.text)?.[1] ?? [])[0]
  return { title: title === undefined ? null : plainText(title), lines: lines.slice(end + 1) }
}

const identifier = String.raw`[A-Za-z_][\w-]*`
const node = String.raw`${identifier}|\[\*\]`
const edgeLine = new RegExp(String.raw`^(${node})\s*-->\s*(${node})\s*(?::(.*))?$`)
const choiceLine = new RegExp(String.raw`^state\s+(${identifier})\s+<<choice>>$`)
const stateLine = new RegExp(String.raw`^state\s+(?:"[^"]*"\s+as\s+)?(${identifier})$`)
const describedLine = new RegExp(String.raw`^(${identifier})\s*(?::.*)?$`)
/** What changes the picture, not the machine. */
const decorationLine = /^(direction\s+(LR|RL|TB|BT)|classDef\s.*|class\s.*)$/

function readStatements(lines: readonly Line[], aliases: Aliases): Drawing {
  const [header, ...body] = lines
  if (!header || !/^stateDiagram(-v2)?$/.test(header.text)) {
    throw notUnderstood(header ?? { number: 1, text: '' }, 'a state diagram begins with `stateDiagram-v2`')
  }
  const nodes = new Set<string>()
  const choices = new Set<string>()
  const edges: DiagramEdge[] = []
  const mention = (written: string): string => {
    if (written === outside) return outside
    const name = nameOf(written, aliases)
    nodes.add(name)
    return name
  }
  let note: Line | null = null
  for (const line of body) {
    if (note) {
      if (line.text === 'end note') note = null
      continue
    }
    if (/^note\s+(left|right)\s+of\s/.test(line.text)) {
      if (!line.text.includes(':')) note = line
      continue
    }
    const [, from, to, label] = edgeLine.exec(line.text) ?? []
    if (from && to) {
      edges.push({ from: mention(from), to: mention(to), label: plainText(label ?? '') })
      continue
    }
    if (decorationLine.test(line.text)) continue
    const choice = choiceLine.exec(line.text)?.[1]
    if (choice) {
      choices.add(mention(choice))
      continue
    }
    const state = (stateLine.exec(line.text) ?? describedLine.exec(line.text))?.[1]
    if (!state) throw notUnderstood(line, 'it is no edge, state, choice, note or direction')
    mention(state)
  }
  if (note) throw notUnderstood(note, 'the note that begins here has no `end note`')
  return { nodes: [...nodes], choices: checkChoices(choices, edges), edges }
}

/** A choice that nothing enters or leaves is nearly always one that is spelled differently where it is used. */
function checkChoices(choices: Set<string>, edges: readonly DiagramEdge[]): Set<string> {
  for (const choice of choices) {
    if (edges.some((edge) => edge.to === choice) && edges.some((edge) => edge.from === choice)) continue
    throw new SluiceError('invalid', `Choice ${choice} has no way in or no way out: is it an alias of another name?`, {
      choice,
    })
  }
  return choices
}

/** Every way from one state through choices to the next states; the choices' own labels become the guard. */
function followChoices(edge: DiagramEdge, drawing: Drawing, passed: readonly string[] = []): readonly DiagramEdge[] {
  if (!drawing.choices.has(edge.to)) return [edge]
  if (passed.includes(edge.to)) {
    throw new SluiceError('invalid', `Choices lead in a circle: ${[...passed, edge.to].join(', ')}.`, {
      choice: edge.to,
    })
  }
  return drawing.edges
    .filter((next) => next.from === edge.to)
    .flatMap((next) => {
      const guard = [edge.guard, next.label].filter(Boolean).join(', ')
      return followChoices({ ...edge, to: next.to, guard }, drawing, [...passed, edge.to])
    })
}

/** Line breaks are for the eye; numbered entities stand for characters that Mermaid would take as its own. */
function plainText(written: string): string {
  return written
    .replace(/\\n/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .trim()
}

// ---- Lists and headings ----

const noteAtEnd = String.raw`(?:\s+\(([^()]*)\))?`
const listLine = new RegExp(String.raw`^[-*]\s+(\(None\)|[\w -]+?)\s+-->\s+([\w -]+?)${noteAtEnd}$`)

/** Reads bullets like `- Held --> Processing (admin function)`. Bullets below a bullet tell what the edge does. */
export function parseTransitionList(text: string, aliases: Aliases = {}): Diagram {
  const edges = text
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line.trimEnd() }))
    .filter((line) => line.text !== '' && !line.text.startsWith('#') && !/^\s+[-*]\s/.test(line.text))
    .map((line) => {
      const [, from, to, label] = listLine.exec(line.text) ?? []
      if (!from || !to) throw notUnderstood(line, 'it is no bullet of the form `- From --> To (note)`')
      const begin = from === '(None)' ? outside : nameOf(from, aliases)
      return { from: begin, to: nameOf(to, aliases), label: label ?? '' }
    })
  return diagramOf(null, [], edges)
}

/**
 * Reads headings like `## Job: Held --> Pending (Admin Action)` of one noun out of a whole document. One heading says
 * `to` for the arrow; it counts between single words only, so that no sentence is taken for an edge.
 */
export function parseTransitionHeadings(text: string, noun: string, aliases: Aliases = {}): Diagram {
  const heading = new RegExp(String.raw`^#{2,}\s+${noun}:\s+(.+?)\s+-->\s+(.+?)${noteAtEnd}$`)
  const headingInWords = new RegExp(String.raw`^#{2,}\s+${noun}:\s+(\w+)\s+to\s+(\w+)${noteAtEnd}$`)
  const edges = text.split(/\r?\n/).flatMap((line) => {
    const [, from, to, label] = heading.exec(line.trim()) ?? headingInWords.exec(line.trim()) ?? []
    return from && to ? [{ from: nameOf(from, aliases), to: nameOf(to, aliases), label: label ?? '' }] : []
  })
  if (edges.length === 0) throw new SluiceError('invalid', `No heading reads "${noun}: From --> To".`, { noun })
  return diagramOf(null, [], edges)
}

function nameOf(written: string, aliases: Aliases): string {
  const name = stateName(written)
  return aliases[name] ?? name
}

function diagramOf(title: string | null, mentioned: readonly string[], edges: readonly DiagramEdge[]): Diagram {
  const states = new Set(mentioned)
  for (const state of edges.flatMap((edge) => [edge.from, edge.to])) if (state !== outside) states.add(state)
  const between = edges.filter((edge) => edge.from !== outside && edge.to !== outside)
  const initial = edges.flatMap((edge) => (edge.from === outside ? edge.to : []))
  const final = edges.flatMap((edge) => (edge.to === outside ? edge.from : []))
  return { title, states: [...states], edges: between, initial: [...new Set(initial)], final: [...new Set(final)] }
}

function notUnderstood(line: Line, why: string): SluiceError {
  return new SluiceError('invalid', `Line ${line.number} is not understood, ${why}: ${line.text}`, {
    line: line.number,
  })
}

// ---- Deviations ----

const deviationEdge = new RegExp(String.raw`^(${node})\s*-->\s*(${node})(?:\s*:\s*([a-z]\w*))?$`)

/** Reads the rows of a Markdown table with the columns diagram, edge, what, reason. */
export function parseDeviations(markdown: string): readonly Deviation[] {
  const rows = markdown
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text.startsWith('|'))
  const head = rows.findIndex((row) => cellsOf(row).join(' ').toLowerCase() === 'diagram edge what reason')
  if (head < 0) throw new SluiceError('invalid', 'No table has the columns diagram, edge, what, reason.')
  return rows.slice(head + 2).map((row) => {
    const [diagram, edge, what, reason, ...more] = cellsOf(row)
    const [, from, to, name] = deviationEdge.exec(edge ?? '') ?? []
    if (!diagram || !from || !to)
      throw notUnderstood(row, 'its second cell is no `from --> to` or `from --> to : name`')
    if (what !== 'missing' && what !== 'extra') throw notUnderstood(row, 'its third cell is neither missing nor extra')
    if (!reason || more.length > 0) throw notUnderstood(row, 'a row has four cells and the last is the reason')
    return { diagram, from, to, ...(name ? { name } : {}), what, reason }
  })
}

function cellsOf(row: Line): readonly string[] {
  const cells = row.text.replace(/^\||\|$/g, '').split('|')
  return cells.map((cell) => cell.trim().replace(/^`(.*)`$/, '$1'))
}

// ---- Comparison ----

/**
 * Compares by pairs of states; with `names`, two edges are the same only if their names are too, for diagrams whose
 * labels begin with the transition's name. Edges that begin or end outside stand for initial and settled states.
 */
export function compareEdges(
  machineEdges: readonly NamedEdge[],
  diagramEdges: readonly DiagramEdge[],
  deviations: readonly Deviation[],
  options: { readonly names?: boolean } = {},
): Comparison {
  const drawn = distinct(
    diagramEdges.map(({ from, to, label }) => ({
      from,
      to,
      name: options.names ? (readLabel(label)?.name ?? label) : '',
    })),
  )
  const same = (one: NamedEdge, other: NamedEdge): boolean =>
    one.from === other.from && one.to === other.to && (!options.names || one.name === other.name)
  const used = new Set<Deviation>()
  const excused = (what: Deviation['what'], edge: ComparedEdge): boolean => {
    const rows = deviations.filter(
      (row) =>
        row.what === what && row.from === edge.from && row.to === edge.to && (row.name ?? edge.name) === edge.name,
    )
    for (const row of rows) used.add(row)
    return rows.length > 0
  }
  const missing = drawn.filter((edge) => !machineEdges.some((other) => same(edge, other)))
  const extra = distinct(machineEdges).filter((edge) => !drawn.some((other) => same(edge, other)))
  return {
    missing: missing.filter((edge) => !excused('missing', edge)),
    extra: extra.filter((edge) => !excused('extra', edge)),
    unusedDeviations: deviations.filter((row) => !used.has(row)),
  }
}

/**
 * Compares a whole machine with a diagram: edges, and also beginnings and ends where the source shows any. A diagram's
 * ends are the machine's settled states: a source that lets a failed entity be resumed still draws its end.
 */
export function compareDiagram(
  machine: DiagramSubject,
  diagram: Diagram,
  deviations: readonly Deviation[],
  options: { readonly names?: boolean } = {},
): Comparison {
  const begins = diagram.initial.length > 0
  const ends = diagram.final.length > 0
  const machineEdges = [
    ...(begins ? machine.initial.map((to) => ({ name: '', from: outside, to })) : []),
    ...machine.edges,
    ...(ends ? machine.settled.map((from) => ({ name: '', from, to: outside })) : []),
  ]
  const diagramEdges = [
    ...diagram.initial.map((to) => ({ label: '', from: outside, to })),
    ...diagram.edges,
    ...diagram.final.map((from) => ({ label: '', from, to: outside })),
  ]
  return compareEdges(machineEdges, diagramEdges, deviations, options)
}

/** Names every difference in a line of its own; empty when machine and diagram agree. */
export function comparisonReport(diagram: string, { missing, extra, unusedDeviations }: Comparison): string {
  return [
    ...missing.map((edge) => `${diagram} draws ${edgeText(edge)}, but the machine has no such edge.`),
    ...extra.map((edge) => `The machine has ${edgeText(edge)}, but ${diagram} does not draw it.`),
    ...unusedDeviations.map(
      (row) =>
        `The deviation "${row.what}" of ${edgeText({ ...row, name: row.name ?? '' })} excuses nothing: remove its row.`,
    ),
  ].join('\n')
}

function edgeText({ from, to, name }: ComparedEdge): string {
  return name ? `${from} --> ${to} : ${name}` : `${from} --> ${to}`
}

function distinct(edges: readonly NamedEdge[]): readonly ComparedEdge[] {
  return [...new Map(edges.map(({ from, to, name }) => [`${from} ${to} ${name}`, { from, to, name }])).values()]
}
