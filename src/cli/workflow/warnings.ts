import type { LintWarning } from '../../workflow-json/index.ts'
import { plain } from '../text.ts'

/** Worst first, each with its place. */
export function warningLines(warnings: readonly LintWarning[]): readonly string[] {
  return ['error', 'warning', 'info'].flatMap((severity) =>
    warnings
      .filter((warning) => warning.severity === severity)
      .map(({ code, path, message }) => `${severity}  ${plain(path, 200)}  ${plain(message)} (${code})`),
  )
}
