import type { MachineMap, MapEdge, MapNode } from '../../machine-map.ts'
import { rateText, shortCount } from '../format.ts'
import { type MachineShape, toneOf } from '../tone.ts'
import { html, useEffect, useRef, type VNode } from '../view.ts'

interface DrawingProps {
  readonly map: MachineMap
  readonly machine: MachineShape | undefined
  /** Entities by state. */
  readonly counts?: Readonly<Record<string, number>>
  readonly hrefOf?: (state: string) => string
  readonly rateOf?: (transition: string, from: string, to: string) => number
  /** What one entity has passed: the transitions it took by `from to`, the newest first, and where it is. */
  readonly visited?: {
    readonly hops: ReadonlyMap<string, readonly string[]>
    readonly states: ReadonlySet<string>
    readonly current: string
  }
}

/** The smallest type is 11.5 px: it is never drawn below 10 px. A map that is wider scrolls within its frame. */
const scaleMin = 0.88
const labelLineHeight = 15
const nameMax = 26

/** The machine as a drawing: where everybody is, where they go, or where one has been. */
export function MachineDrawing(props: DrawingProps): VNode {
  const { map, visited } = props
  const label = `${map.machine}, version ${map.version}: ${map.nodes.length} states`
  const frame = useRef<HTMLDivElement>(null)
  const here = map.nodes.find(({ state }) => state === visited?.current)
  useEffect(() => {
    // A map that is wider than its frame shows the part where the entity is.
    const element = frame.current
    if (!element || !here) return
    const scale = element.scrollWidth / map.width
    element.scrollLeft = here.x * scale - element.clientWidth / 2
  }, [here?.state, map])
  // Arrows that were taken lie on top, in a group of their own. An arrow that changes groups is made anew: Chromium
  // keeps the old colours of an SVG element that is moved within its parent while its class changes.
  const taken = map.edges.filter((edge) => visited !== undefined && isVisited(edge, visited))
  const others = map.edges.filter((edge) => !taken.includes(edge))
  const arrows = (edges: readonly MapEdge[]) =>
    edges.map((edge) => html`<${Arrow} key=${`${edge.from} ${edge.to}`} edge=${edge} ...${props} />`)
  return html`<div class="map" ref=${frame} tabindex="0" role="region" aria-label=${label}>
    <svg viewBox=${`0 0 ${map.width} ${map.height}`} width=${map.width} height=${map.height} style=${{ minWidth: `${Math.ceil(map.width * scaleMin)}px` }} role="group" aria-label=${label}>
      <g>${arrows(others)}</g>
      <g>${arrows(taken)}</g>
      ${map.nodes.map((node) => html`<${Box} key=${node.state} node=${node} ...${props} />`)}
    </svg>
  </div>`
}

function isVisited({ from, to }: MapEdge, visited: NonNullable<DrawingProps['visited']>): boolean {
  return visited.hops.has(`${from} ${to}`)
}

function Box({ node, machine, counts, hrefOf, visited }: DrawingProps & { readonly node: MapNode }): VNode {
  const count = counts?.[node.state] ?? 0
  const isHere = visited?.current === node.state
  const isEmpty = counts ? count === 0 : !visited?.states.has(node.state)
  const classes = [
    'node',
    isEmpty ? 'empty' : toneOf(machine, node.state),
    node.final ? 'final' : node.settled ? 'settled' : '',
    isHere ? 'current' : '',
    visited && !visited.states.has(node.state) ? 'unvisited' : '',
  ]
  // As everywhere else on the pages; the declared title stands in the tooltip.
  const words = node.state.replaceAll('_', ' ')
  const name = words.length > nameMax ? `${words.slice(0, nameMax - 1)}…` : words
  const hasFigure = counts !== undefined || isHere
  const inside = html`
    <title>${`${node.title}: ${node.purpose}`}</title>
    <rect x=${node.x - node.width / 2} y=${node.y - node.height / 2} width=${node.width} height=${node.height} rx="11" />
    ${node.initial ? html`<circle class="start" cx=${node.x - node.width / 2 + 11} cy=${node.y - node.height / 2 + 11} r="3.2" />` : null}
    <text class="name" x=${node.x} y=${hasFigure ? node.y - 6 : node.y + 4} text-anchor="middle">${name}</text>
    ${hasFigure ? html`<text class="count" x=${node.x} y=${node.y + 16} text-anchor="middle">${counts ? shortCount(count) : 'now here'}</text>` : null}`
  return hrefOf
    ? html`<a class=${classes.join(' ')} href=${hrefOf(node.state)}>${inside}</a>`
    : html`<g class=${classes.join(' ')}>${inside}</g>`
}

function Arrow({ edge, map, rateOf, visited }: DrawingProps & { readonly edge: MapEdge }): VNode {
  const flowing = edge.transitions
    .map(({ name }) => ({ name, rate: rateOf?.(name, edge.from, edge.to) ?? 0 }))
    .filter(({ rate }) => rate > 0)
    .toSorted((one, other) => other.rate - one.rate)
  const rate = flowing.reduce((all, one) => all + one.rate, 0)
  const place = edge.label ?? selfLabel(edge, map)
  const points = edge.points.length > 0 ? edge.points : selfPoints(edge, map)
  const wasPassed = visited ? isVisited(edge, visited) : false
  const classes = [
    'edge',
    edge.transitions.every(({ on }) => on === 'action') ? 'manual' : '',
    rate > 0 ? 'flowing' : '',
    visited ? (wasPassed ? 'visited' : 'unvisited') : '',
  ]
  const title = edge.transitions
    .map(({ name, on, purpose }) => `${name} (${on})${purpose ? `: ${purpose}` : ''}`)
    .join('\n')
  const lines =
    rate > 0
      ? [rateText(rate), ...flowing.map(({ name }) => name)].slice(0, edge.lines.length)
      : (visited?.hops.get(`${edge.from} ${edge.to}`)?.slice(0, edge.lines.length) ?? edge.lines)
  const top = place.y + 4 - ((lines.length - 1) * labelLineHeight) / 2
  return html`<g class=${classes.join(' ')}>
    <title>${title}</title>
    <path d=${curve(points)} />
    <path class="tip" d=${tip(points)} />
    <path class="hit" d=${curve(points)} />
    ${lines.map((line, index) => html`<text key=${index} x=${place.x} y=${top + index * labelLineHeight} text-anchor=${edge.label ? 'middle' : 'start'}>${line}</text>`)}
  </g>`
}

type Point = MapEdge['points'][number]

/** Through the middles between the points, so that no corner is sharp. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (!first || rest.length === 0) return ''
  const last = rest.at(-1)!
  let path = `M${first.x} ${first.y}`
  for (const [index, point] of rest.slice(0, -1).entries()) {
    const next = rest[index + 1]!
    const isLast = index === rest.length - 2
    const end = isLast ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }
    path += ` Q${point.x} ${point.y} ${end.x} ${end.y}`
  }
  return rest.length === 1 ? `${path} L${last.x} ${last.y}` : path
}

function tip(points: readonly Point[]): string {
  const end = points.at(-1)
  const before = points.at(-2)
  if (!end || !before) return ''
  const angle = Math.atan2(end.y - before.y, end.x - before.x)
  const corner = (turn: number) =>
    `${(end.x - 8.5 * Math.cos(angle + turn)).toFixed(1)} ${(end.y - 8.5 * Math.sin(angle + turn)).toFixed(1)}`
  return `M${end.x} ${end.y} L${corner(0.42)} L${corner(-0.42)} Z`
}

function selfPoints(edge: MapEdge, map: MachineMap): readonly Point[] {
  const node = map.nodes.find(({ state }) => state === edge.from)
  if (!node) return []
  const right = node.x + node.width / 2
  return [
    { x: right, y: node.y - 20 },
    { x: right + 20, y: node.y - 20 },
    { x: right + 20, y: node.y },
    { x: right, y: node.y },
  ]
}

function selfLabel(edge: MapEdge, map: MachineMap): Point {
  const node = map.nodes.find(({ state }) => state === edge.from)
  return node ? { x: node.x + node.width / 2 + 26, y: node.y - 10 } : { x: 0, y: 0 }
}
