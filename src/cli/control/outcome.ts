import type { Detail, Progress } from '../../control.ts'
import type { Machine } from '../../machine.ts'

/** 0 as it should be, 1 not all of it (cancelled, or some below failed), 2 failed or still open. */
export function exitOfEntity(
  machines: readonly Machine[],
  { machine: name, version, state, settled }: Pick<Detail, 'machine' | 'version' | 'state' | 'settled'>,
  progress: Progress | null,
): 0 | 1 | 2 {
  if (!settled) return 2
  const machine = machines.find((one) => one.name === name && one.version === version)
  const failsInto = machine?.edges.some((edge) => edge.on === 'fail' && edge.to === state && edge.from !== state)
  if (failsInto || /fail|error|lost/.test(state)) return 2
  if (/cancel|delete|skip|partial|partly/.test(state)) return 1
  return Object.keys(progress?.reasons ?? {}).length > 0 ? 1 : 0
}

export function stateText(state: string): string {
  return state.replaceAll('_', ' ')
}
