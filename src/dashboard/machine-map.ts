import { Graph, layout } from '@dagrejs/dagre'
import type { Machine } from '../machine.ts'

/** A machine as it is drawn: boxes and arrows with their places, in pixels from the upper left corner. */
export interface MachineMap {
  readonly machine: string
  readonly version: number
  readonly digest: string
  readonly width: number
  readonly height: number
  readonly nodes: readonly MapNode[]
  readonly edges: readonly MapEdge[]
}

export interface MapNode {
  readonly state: string
  readonly title: string
  readonly purpose: string
  /** The middle of the box. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly initial: boolean
  readonly settled: boolean
  readonly final: boolean
}

/** All transitions that lead from one state to another share one arrow: five names on five arrows are no picture. */
export interface MapEdge {
  readonly from: string
  readonly to: string
  readonly transitions: readonly { readonly name: string; readonly on: string; readonly purpose: string }[]
  readonly points: readonly { readonly x: number; readonly y: number }[]
  /** What stands on it, line by line: the names of its transitions, as far as they fit. */
  readonly lines: readonly string[]
  /** The middle of its lines. Null, without points: it leads back to its own box. */
  readonly label: { readonly x: number; readonly y: number } | null
}

const nodeHeight = 58
/** Widths of an average character in the two sizes of type, in the widest of the fonts that the page may get. */
const characterWidth = 8.2
const labelCharacterWidth = 6.6
const labelLineHeight = 15
const labelMax = 24
const linesMax = 3
const titleMax = 26
/** How far an arrow that leads back to its own box stands out at its side. */
export const loopWidth = 26

function labelWidth(lines: readonly string[]): number {
  return Math.round(Math.max(...lines.map((line) => line.length)) * labelCharacterWidth) + 10
}

/** The names that stand on an arrow, one below the other. Where there are too many, the last line says how many more. */
export function edgeLines(names: readonly string[]): readonly string[] {
  const shown = names.length > linesMax ? names.slice(0, linesMax - 1) : names
  const lines = shown.map((name) => (name.length > labelMax ? `${name.slice(0, labelMax - 1)}…` : name))
  return shown.length === names.length ? lines : [...lines, `and ${names.length - shown.length} more`]
}

/** Drawn from left to right or from above, whichever can be shown larger on a common screen. */
export function machineMap(machine: Machine): MachineMap {
  const maps = (['LR', 'TB'] as const).map((direction) => drawnMap(machine, direction))
  const [wide, tall] = maps as [MachineMap, MachineMap]
  return scaleOf(wide) >= scaleOf(tall) ? wide : tall
}

function scaleOf({ width, height }: MachineMap): number {
  return Math.min(1, 1_100 / width, 680 / height)
}

function drawnMap(machine: Machine, rankdir: 'LR' | 'TB'): MachineMap {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir, nodesep: 30, ranksep: rankdir === 'LR' ? 34 : 26, edgesep: 16, marginx: 16, marginy: 30 })
  graph.setDefaultEdgeLabel(() => ({}))
  const arrows = arrowsOf(machine)
  const widths = new Map<string, number>()
  const rooms = new Map<string, number>()
  for (const [name, state] of Object.entries(machine.states)) {
    const width = Math.max(
      112,
      Math.round(Math.min(Math.max(name.length, state.title.length), titleMax) * characterWidth) + 36,
    )
    widths.set(name, width)
    // Room at the right for an arrow that leads back to its own box, and for its name.
    const loop = arrows.find(({ from, to }) => from === name && to === name)
    const room = loop ? loopWidth + labelWidth(loop.lines) : 0
    rooms.set(name, room)
    graph.setNode(keyOf(name), { width: width + room, height: nodeHeight })
  }
  for (const { from, to, transitions, lines } of arrows) {
    // An arrow back to its own box is drawn by whoever draws the box.
    if (from === to) continue
    // What goes forward as work is done shapes the picture; failures and actions fit themselves in.
    const weight = transitions.some(({ on }) => on === 'done' || on === 'claim' || on === 'children') ? 8 : 1
    const width = labelWidth(lines)
    const height = lines.length * labelLineHeight + 4
    graph.setEdge(keyOf(from), keyOf(to), { width, height, labelpos: 'c', weight, minlen: 1 }, `${from} ${to}`)
  }
  layout(graph)
  const boxOf = (name: string): Box => {
    const { x, y } = graph.node(keyOf(name)) as Pick<Box, 'x' | 'y'>
    return { x: x - (rooms.get(name) ?? 0) / 2, y, width: widths.get(name) ?? 0, height: nodeHeight }
  }
  const { width = 0, height = 0 } = graph.graph() as { readonly width?: number; readonly height?: number }
  return {
    machine: machine.name,
    version: machine.version,
    digest: machine.digest,
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: Object.entries(machine.states).map(([name, state]) => {
      const box = boxOf(name)
      return {
        state: name,
        title: state.title,
        purpose: state.purpose,
        x: round(box.x),
        y: round(box.y),
        width: box.width,
        height: box.height,
        initial: machine.initial.includes(name),
        settled: machine.settled.includes(name),
        final: machine.final.includes(name),
      }
    }),
    edges: arrows.map(({ from, to, transitions, lines }) => {
      if (from === to) return { from, to, transitions, lines, points: [], label: null }
      const drawn = graph.edge(keyOf(from), keyOf(to), `${from} ${to}`) as {
        readonly points: readonly { readonly x: number; readonly y: number }[]
        readonly x?: number
        readonly y?: number
      }
      return {
        from,
        to,
        transitions,
        lines,
        points: clipped(drawn.points, boxOf(from), boxOf(to)).map(({ x, y }) => ({ x: round(x), y: round(y) })),
        label: drawn.x === undefined || drawn.y === undefined ? null : { x: round(drawn.x), y: round(drawn.y) },
      }
    }),
  }
}

type Box = Pick<MapNode, 'x' | 'y' | 'width' | 'height'>
type Point = MapEdge['points'][number]

/** An arrow begins and ends at the boxes as they are drawn, not at the room that was kept for them. */
function clipped(points: readonly Point[], from: Box, to: Box): readonly Point[] {
  if (points.length < 3) return points
  const inner = points.slice(1, -1)
  return [borderPoint(from, inner[0]!), ...inner, borderPoint(to, inner.at(-1)!)]
}

/** Where the line from the middle of the box to this point leaves the box. */
function borderPoint(box: Box, towards: Point): Point {
  const dx = towards.x - box.x
  const dy = towards.y - box.y
  if (dx === 0 && dy === 0) return { x: box.x, y: box.y + box.height / 2 }
  const scale = Math.min(
    dx === 0 ? Number.POSITIVE_INFINITY : box.width / 2 / Math.abs(dx),
    dy === 0 ? Number.POSITIVE_INFINITY : box.height / 2 / Math.abs(dy),
  )
  return { x: box.x + dx * scale, y: box.y + dy * scale }
}

/** A state may be called `constructor`; what lays the graph out keeps nodes in plain objects. */
function keyOf(state: string): string {
  return `state ${state}`
}

function arrowsOf(machine: Machine): readonly Pick<MapEdge, 'from' | 'to' | 'transitions' | 'lines'>[] {
  const groups = Map.groupBy(machine.edges, ({ from, to }) => `${from} ${to}`)
  return [...groups.values()].map((edges) => ({
    from: edges[0]!.from,
    to: edges[0]!.to,
    transitions: edges.map(({ name, on, purpose }) => ({ name, on, purpose })),
    lines: edgeLines(edges.map(({ name }) => name)),
  }))
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10
}

/** Layouts cost milliseconds and a machine never changes: each is made once. What is no longer asked for makes room. */
export class MapCache {
  readonly #maps = new Map<string, MachineMap>()
  readonly #max: number

  constructor(max = 256) {
    this.#max = max
  }

  get(machine: Machine): MachineMap {
    const key = `${machine.name}@${machine.version} ${machine.digest}`
    const map = this.#maps.get(key) ?? machineMap(machine)
    this.#maps.delete(key)
    this.#maps.set(key, map)
    if (this.#maps.size > this.#max) this.#maps.delete(this.#maps.keys().next().value!)
    return map
  }
}
