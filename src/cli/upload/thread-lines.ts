import { plain } from '../text.ts'
import { gistOf, type Shown } from './item-line.ts'

export interface Node extends Shown {
  readonly parent: number | null
}

/** Beyond this depth nothing is indented any further: the words would have no room. */
const indentMax = 20

/**
 * The way down from the root to the item, then everything below it, each under what it answers. What came level by level is put in the
 * order of a conversation.
 */
export function threadLines(above: readonly Node[], item: Node, below: readonly Node[]): readonly string[] {
  const children = Map.groupBy(below, (node) => node.parent)
  const lines = [...above].reverse().map((node, depth) => lineOf(node, depth, ' '))
  const shown = new Set<number>([item.hnId])
  // Without recursion: a hostile file may nest as deep as it likes.
  const open: { readonly node: Node; readonly depth: number }[] = [{ node: item, depth: above.length }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next
    lines.push(lineOf(node, depth, node === item ? '*' : ' '))
    for (const child of (children.get(node.hnId) ?? []).toReversed()) {
      if (shown.has(child.hnId)) continue
      shown.add(child.hnId)
      open.push({ node: child, depth: depth + 1 })
    }
  }
  return lines
}

function lineOf(node: Node, depth: number, mark: string): string {
  const score = node.score === null ? '' : `, ${node.score} points`
  return `${mark} ${'  '.repeat(Math.min(depth, indentMax))}${node.hnId} ${node.type} by ${plain(node.by ?? '–', 20)}${score}: ${gistOf(node.item)}`.trimEnd()
}
