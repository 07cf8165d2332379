import type { DocumentFaultCode } from './read-document.ts'

/** What is refused, what goes wrong or may surprise when a workflow runs, and what is only worth knowing. */
export type LintCode =
  | DocumentFaultCode
  // The workflow as such.
  | 'schema-version-unknown'
  | 'workflow-inactive'
  | 'workflow-criterion-not-judged'
  | 'unreachable-state'
  | 'terminal-state-derived'
  | 'all-transitions-manual'
  | 'excessive-fan-out'
  | 'unguarded-automatic-cycle'
  | 'annotations-too-large'
  // Transitions and processors.
  | 'null-criterion-not-last'
  | 'unreachable-automated-transition'
  | 'disabled-transition-on-active-workflow'
  | 'criterion-before-processor'
  | 'criteria-not-exhaustive'
  | 'no-wake-up'
  | 'sync-on-likely-bottleneck-transition'
  | 'processor-overload'
  | 'async-new-tx-result-discarded'
  | 'unknown-retry-policy'
  // Criteria.
  | 'function-without-quick-exit'
  | 'function-in-group'
  | 'criterion-depth-limit'
  | 'not-with-multiple-conditions'
  | 'invalid-jsonpath-subset'
  | 'unsupported-criterion'
  | 'array-operation-ignored'
  | 'matches-pattern-unanchored'
  | 'like-wildcard-warning'
  // What an import could not take over, or had to add.
  | 'schedule-function-unsupported'
  | 'schedule-timeout-ignored'
  | 'context-not-passed'
  | 'policy-conflict'
  | 'transition-left-out'
  | 'state-left-out'
  | 'state-added'
  | 'transition-added'
  | 'criterion-to-bind'
  | 'undeclared-outcome'
  | 'machine-fault'

export interface LintWarning {
  readonly code: LintCode
  /** An `error` is refused by the platforms or can never work; a `warning` may; an `info` is worth knowing. */
  readonly severity: 'error' | 'warning' | 'info'
  /** `$.workflows[0].states.draft` */
  readonly path: string
  readonly workflow?: string
  readonly state?: string
  readonly transition?: string
  /** One sentence: what, where, and what to do. */
  readonly message: string
}
