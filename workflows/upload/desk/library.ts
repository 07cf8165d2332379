import { SluiceError } from 'sluice/errors'
import type { FoundRow, SearchQuery } from '../catalogue/catalogue.ts'
import type { Clerk } from './clerk.ts'
import type { Found, FoundPage, Hierarchy, HierarchyQuery } from './found.ts'

/** Rows come from the catalogue, documents from the files: a page has a thousand of them at most. */
export function searchWith(clerk: Clerk, query: SearchQuery): FoundPage {
  const { rows, next } = clerk.catalogue.search(query)
  return { found: rows.map((row) => withDocument(clerk, row)), next }
}

export function hierarchyOf(clerk: Clerk, { direction, hnId, ...options }: HierarchyQuery): Hierarchy {
  const { catalogue } = clerk
  const row = catalogue.item(hnId)
  if (!row) throw new SluiceError('not_found', `There is no item ${hnId} in the catalogue.`, { hnId })
  const item = withDocument(clerk, row)
  const withDepth = (node: FoundRow & { readonly depth: number }) => ({
    ...withDocument(clerk, node),
    depth: node.depth,
  })
  switch (direction) {
    case 'ancestors': {
      const { nodes, end } = catalogue.ancestors(hnId, options)
      return { item, found: nodes.map(withDepth), next: null, end }
    }
    case 'descendants': {
      const { nodes, next } = catalogue.descendants(hnId, options)
      return { item, found: nodes.map(withDepth), next, end: null }
    }
    default:
      return direction satisfies never
  }
}

function withDocument(clerk: Clerk, { document, ...row }: FoundRow): Found {
  const { file, offset, length } = document.kind === 'stored' ? document : { file: 0, offset: 0, length: 0 }
  return { ...row, item: document.kind === 'merged' ? document.item : clerk.read(file, offset, length) }
}
