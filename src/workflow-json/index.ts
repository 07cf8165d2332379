export type * from './document.ts'
export { type ExportOptions, exportWorkflow } from './export-workflow.ts'
export {
  type ImportedWorkflows,
  type ImportOptions,
  importWorkflow,
  type NeededNames,
  type WorkflowBindings,
} from './import-workflow.ts'
export type { LintCode, LintWarning } from './lint-warning.ts'
export { lintWorkflow } from './lint-workflow.ts'
