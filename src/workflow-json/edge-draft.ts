import type { TransitionDeclaration } from '../transition.ts'

type Kind = Omit<TransitionDeclaration, 'from'>

/** An edge of a machine to be: one state, and a name that others may have too. */
export interface EdgeDraft extends Kind {
  readonly name: string
  readonly from: string
}

/**
 * Edges that are alike but for their state are one transition. Others of the same name get a name of their own, and keep the
 * old one as the action that people ask for.
 */
export function transitionsFrom(
  drafts: readonly EdgeDraft[],
  fresh: (name: string) => string,
): Readonly<Record<string, TransitionDeclaration>> {
  const transitions = new Map<string, { readonly from: string[]; readonly kind: Kind }>()
  const alike = new Map<string, string[]>()
  for (const { name, from, ...kind } of drafts) {
    const key = JSON.stringify([name, kind])
    const known = alike.get(key)
    if (known) {
      known.push(from)
      continue
    }
    const sources = [from]
    alike.set(key, sources)
    const isTaken = transitions.has(name)
    const keepsAction = isTaken && kind.on === 'action' && kind.action === undefined
    transitions.set(isTaken ? fresh(name) : name, {
      from: sources,
      kind: keepsAction ? { ...kind, action: name } : kind,
    })
  }
  return Object.fromEntries([...transitions].map(([name, { from, kind }]) => [name, { from, ...kind }]))
}
