/**
 * The JSON by which entity-workflow platforms import and export workflows. A document is canonical: whatever stands in it,
 * known here or not, comes out again as it went in.
 */
export interface WorkflowImport {
  readonly importMode?: (typeof importModes)[number] | null
  readonly allowCycles?: boolean | null
  readonly workflows: readonly Workflow[]
}

export const importModes = ['MERGE', 'REPLACE', 'ACTIVATE'] as const

export interface Workflow {
  /** Of the schema, not of the workflow. */
  readonly version: string
  readonly name: string
  readonly desc?: string | null
  readonly initialState: string
  /** Default true. */
  readonly active?: boolean | null
  /** Which entities this workflow is for. */
  readonly criterion?: WorkflowCriterion | null
  readonly criterionAnnotations?: Annotations | null
  readonly annotations?: Annotations | null
  readonly states: Readonly<Record<string, WorkflowState>>
}

/** Owned by whoever wrote the document; no platform looks into it. */
export type Annotations = Readonly<Record<string, unknown>>

export interface WorkflowState {
  /** Tried in this order. None: the state is terminal. */
  readonly transitions?: readonly WorkflowTransition[] | null
  readonly annotations?: Annotations | null
}

export interface WorkflowTransition {
  readonly name: string
  readonly next: string
  /** Default false: the platform takes it by itself. */
  readonly manual?: boolean | null
  readonly disabled?: boolean | null
  /** Judged before the processors run. */
  readonly criterion?: WorkflowCriterion | null
  readonly criterionAnnotations?: Annotations | null
  readonly processors?: readonly WorkflowProcessor[] | null
  readonly schedule?: WorkflowSchedule | null
  readonly annotations?: Annotations | null
}

export interface WorkflowProcessor {
  readonly type?: string | null
  readonly name: string
  readonly executionMode?: ExecutionMode | null
  readonly startNewTxOnDispatch?: boolean | null
  readonly config?: ProcessorConfig | null
  readonly annotations?: Annotations | null
}

export const executionModes = ['SYNC', 'ASYNC_SAME_TX', 'ASYNC_NEW_TX', 'COMMIT_BEFORE_DISPATCH'] as const

export type ExecutionMode = (typeof executionModes)[number]

export interface FunctionConfig {
  readonly attachEntity?: boolean | null
  readonly calculationNodesTags?: string | null
  readonly responseTimeoutMs?: number | null
  /** NONE or FIXED; older documents say LINEAR and EXPONENTIAL too. */
  readonly retryPolicy?: string | null
  readonly context?: string | null
}

export interface ProcessorConfig extends FunctionConfig {
  readonly asyncResult?: boolean | null
  readonly crossoverToAsyncMs?: number | null
}

/** Exactly one of `delayMs` and `function`. */
export interface WorkflowSchedule {
  readonly delayMs?: number | null
  readonly function?: ScheduleFunction | null
  /** How late it may still be taken. */
  readonly timeoutMs?: number | null
}

export interface ScheduleFunction extends FunctionConfig {
  readonly name: string
  readonly resultKind?: string | null
}

export type WorkflowCriterion =
  | SimpleCriterion
  | GroupCriterion
  | FunctionCriterion
  | LifecycleCriterion
  | ArrayCriterion

export interface SimpleCriterion extends Operation {
  readonly type: 'simple'
  readonly jsonPath: string
  readonly value?: unknown
}

export interface GroupCriterion {
  readonly type: 'group'
  readonly operator: 'AND' | 'OR' | 'NOT'
  readonly conditions: readonly WorkflowCriterion[]
}

export interface FunctionCriterion {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly config?: FunctionConfig | null
    /** Judged first: if it is false, the function is not asked. */
    readonly criterion?: WorkflowCriterion | null
  }
}

export interface LifecycleCriterion extends Operation {
  readonly type: 'lifecycle'
  readonly field: string
  readonly value?: unknown
}

/** Position by position: null leaves a position open. */
export interface ArrayCriterion extends Operation {
  readonly type: 'array'
  readonly jsonPath: string
  readonly value: readonly unknown[]
}

/** `operatorType` is the older name. */
interface Operation {
  readonly operation?: string | null
  readonly operatorType?: string | null
}

export function operationOf(criterion: Operation): string {
  return criterion.operation ?? criterion.operatorType ?? ''
}

/** Those that take part: a disabled transition is kept, and never taken. */
export function enabledTransitions(state: WorkflowState): readonly WorkflowTransition[] {
  return transitionsOf(state).filter((transition) => transition.disabled !== true)
}

export function transitionsOf(state: WorkflowState): readonly WorkflowTransition[] {
  return state.transitions ?? []
}

/** Taken by the platform as soon as the state is entered and the criterion holds. */
export function isAutomatic(transition: WorkflowTransition): boolean {
  return transition.manual !== true && !transition.schedule
}

export const documentLimits = {
  /** Characters of the document as JSON text; the platforms refuse bodies beyond it. */
  charactersMax: 10 * 1024 * 1024,
  /** Objects and lists inside each other. */
  depthMax: 256,
  /** Of one `annotations` object as JSON, in UTF-8. */
  annotationBytesMax: 64 * 1024,
  nameMax: 256,
  /** Of one workflow. */
  statesMax: 500,
  transitionsMax: 2_000,
  /** Of one criterion tree; the platforms refuse deeper ones. */
  criterionDepthMax: 50,
} as const

/** Conditions inside each other: 1 for a leaf. */
export function criterionDepth(criterion: WorkflowCriterion): number {
  return partsOf(criterion).reduce((deepest, part) => Math.max(deepest, 1 + criterionDepth(part)), 1)
}

/** What stands directly inside a criterion. */
export function partsOf(criterion: WorkflowCriterion): readonly WorkflowCriterion[] {
  if (criterion.type === 'group') return criterion.conditions
  return criterion.type === 'function' && criterion.function.criterion ? [criterion.function.criterion] : []
}
