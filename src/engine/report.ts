import type { Detail, Explanation, Progress, Report } from '../control.ts'
import { outcomeOf } from '../state-outcome.ts'
import type { Registry } from './registry.ts'

export function reportOf(registry: Registry, detail: Detail, progress: Progress, { sentence }: Explanation): Report {
  const { id, machine, version, state, title, settled, purged, createdAt, createdBy, changedAt, data } = detail
  const outcome = outcomeOf(registry.find(machine, version)?.machine, state)
  return {
    ...{ id, machine, version, state, title, outcome, settled, purged, createdAt, createdBy, changedAt },
    ...{ sentence, progress, result: resultIn(data) },
  }
}

function resultIn(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return null
  const fields = data as Readonly<Record<string, unknown>>
  return fields.report ?? fields.resultSummary ?? fields.result ?? null
}
