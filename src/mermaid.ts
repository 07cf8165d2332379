/** The part of a machine that is drawn. A Machine satisfies it; so does plain JSON that came over the wire. */
export interface MermaidSubject {
  readonly name: string
  readonly version: number
  readonly initial: readonly string[]
  readonly final: readonly string[]
  readonly settled: readonly string[]
  readonly states: Readonly<Record<string, { readonly title: string; readonly purpose: string }>>
  readonly edges: readonly {
    readonly name: string
    readonly from: string
    readonly to: string
    readonly on: string
    readonly processor?: string
    readonly then?: readonly string[]
    readonly when?: readonly string[]
    readonly ensure?: readonly string[]
    readonly assign?: string
  }[]
}

/** Draws a machine as a `stateDiagram-v2`, in the labels' form that parseMermaid and readLabel read back. */
export function toMermaid(machine: MermaidSubject): string {
  const settled = machine.settled.filter((state) => !machine.final.includes(state))
  const lines = [
    ...Object.entries(machine.states).flatMap(([name, state]) => stateLines(name, state)),
    ...machine.initial.map((state) => `[*] --> ${state}`),
    ...machine.edges.map((edge) => `${edge.from} --> ${edge.to} : ${text(labelOf(edge))}`),
    ...[...machine.final, ...settled].map((state) => `${state} --> [*]`),
    // Settled but not final: an end, yet an action may reopen it. Drawn dashed to tell the two apart.
    ...(settled.length > 0 ? ['classDef settled stroke-dasharray: 4 2', `class ${settled.join(', ')} settled`] : []),
  ]
  const head = ['---', `title: ${text(machine.name)} (version ${machine.version})`, '---', 'stateDiagram-v2']
  return `${[...head, ...lines.map((line) => `  ${line}`)].join('\n')}\n`
}

function stateLines(name: string, state: { readonly title: string; readonly purpose: string }): readonly string[] {
  const title = text(state.title)
  const purpose = text(state.purpose)
  return [`state "${title || name}" as ${name}`, ...(purpose === '' ? [] : [`${name} : ${purpose}`])]
}

function labelOf(edge: MermaidSubject['edges'][number]): string {
  const parts = [
    edge.processor,
    ...(edge.then ?? []),
    ...(edge.when ?? []),
    ...(edge.ensure ?? []),
    edge.assign,
  ].filter(Boolean)
  return `${edge.name}${parts.length > 0 ? ` (${parts.join(' + ')})` : ''} [${edge.on}]`
}

/**
 * Mermaid ends a text at `:` and `;`, a title at `"`, and reads braces, `\n` and `%%` as its own: every character that is
 * not plainly text goes as its number.
 */
function text(written: string): string {
  return written
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[^\p{L}\p{N} _.,'()[\]+/*=!?-]/gu, (character) => `#${character.codePointAt(0)};`)
}
