import { checkMachine } from '../check-machine.ts'
import { SluiceError } from '../errors.ts'
import { type Assign, type Criterion, type Implementation, implement, type Processor } from '../implementation.ts'
import type { Machine } from '../machine.ts'
import { machineWarnings } from '../machine-warning.ts'
import { processorsOf } from '../transition.ts'
import { readMachineAnnotation } from './annotation.ts'
import type { Workflow, WorkflowImport } from './document.ts'
import { ForeignMachine, replaceData } from './foreign-machine.ts'
import { ImportedCriteria } from './imported-criteria.ts'
import type { LintWarning } from './lint-warning.ts'
import { lintDocument } from './lint-workflow.ts'
import { ownMachine } from './own-machine.ts'
import { copyJson, type JsonPlace, placeText } from './plain-json.ts'
import { inspectDocument, refuseFaults } from './read-document.ts'
import { SnakeNames } from './snake-name.ts'
import { keepSource } from './source.ts'

export interface ImportOptions {
  /** Of machines from workflows that Sluice did not write: these have no version of their own. Default 1. */
  readonly version?: number
  /** States to settle, by workflow, both as the document calls them; otherwise they are derived. */
  readonly settled?: Readonly<Record<string, readonly string[]>>
}

export interface ImportedWorkflows {
  /** One machine for each workflow of the document, in its order. */
  readonly machines: readonly Machine[]
  /** The document as it was read. Exporting the machines gives it back. */
  readonly document: WorkflowImport
  /** The workflow of each machine. */
  readonly documents: readonly Workflow[]
  /** By machine: criteria that the document spells out, ready for `implement`. Those that ask functions are made by `bind`. */
  readonly criteria: Readonly<Record<string, Readonly<Record<string, Criterion>>>>
  /** By machine: what is still to be bound. */
  readonly needed: Readonly<Record<string, NeededNames>>
  /** What the lint rules say, and what the import could not take over or had to add. */
  readonly warnings: readonly LintWarning[]
  /** Binds the functions that the document only names; all others are bound already. */
  bind(machine: Machine | string, bindings?: WorkflowBindings): Implementation
}

export interface NeededNames {
  readonly processors: readonly string[]
  readonly criteria: readonly string[]
  readonly assigns: readonly string[]
}

export interface WorkflowBindings {
  readonly processors?: Readonly<Record<string, Processor>>
  readonly criteria?: Readonly<Record<string, Criterion>>
  readonly assigns?: Readonly<Record<string, Assign>>
}

interface Imported {
  readonly machine: Machine
  readonly workflow: Workflow
  readonly criteria: ImportedCriteria
  readonly assigns: Readonly<Record<string, Assign>>
  readonly warnings: readonly LintWarning[]
}

/**
 * Reads a document of an entity-workflow platform: a value or its text, with several workflows or one by itself. A document
 * that Sluice exported gives back the machines that it was exported from, save their schemas, which are code.
 */
export function importWorkflow(json: unknown, options: ImportOptions = {}): ImportedWorkflows {
  const { document, faults } = inspectDocument(json)
  refuseFaults(faults)
  const names = new SnakeNames(
    document.workflows.map(({ name }) => name),
    'workflow',
  )
  const imported = document.workflows.map((workflow, index) =>
    importOne(workflow, ['workflows', index], names.of(workflow.name), options),
  )
  const machines = imported.map(({ machine }) => machine)
  for (const { machine, criteria } of imported) criteria.keep(namedCriteria(machine))
  for (const { machine, workflow } of imported) keepSource(machine, { document, workflow, machines })
  return {
    machines,
    // A copy: whatever becomes of it, the machines keep theirs.
    ...documentsOf(copyJson(document) as WorkflowImport),
    criteria: Object.fromEntries(imported.map(({ machine, criteria }) => [machine.name, criteria.ready()])),
    needed: Object.fromEntries(imported.map((one) => [one.machine.name, neededNames(one)])),
    warnings: [...lintForeign(document), ...imported.flatMap(({ warnings }) => warnings)],
    bind(machine, bindings = {}) {
      const name = typeof machine === 'string' ? machine : machine.name
      const one = imported.find((one) => one.machine.name === name)
      if (one) return bindOne(one, bindings)
      const known = machines.map((machine) => machine.name).join(', ')
      throw new SluiceError('not_found', `This import has no machine ${name}; it has ${known || 'none'}.`, { name })
    },
  }
}

/** The lint says how a platform would run a workflow. One that Sluice wrote runs here as it was declared. */
function lintForeign(document: WorkflowImport): readonly LintWarning[] {
  const own = new Set(document.workflows.filter(({ annotations }) => annotations?.sluice).map(({ name }) => name))
  return lintDocument(document).filter(({ workflow }) => workflow === undefined || !own.has(workflow))
}

function documentsOf(document: WorkflowImport): Pick<ImportedWorkflows, 'document' | 'documents'> {
  return { document, documents: document.workflows }
}

function importOne(workflow: Workflow, place: JsonPlace, name: string, options: ImportOptions): Imported {
  const noted = readMachineAnnotation(workflow.annotations, place)
  if (noted) {
    const criteria = new ImportedCriteria(workflow, { stateName: (state) => state })
    const { machine, warnings } = ownMachine(workflow, noted, place, criteria)
    const unsupported = [...criteria.unsupported].map(([name, why]): LintWarning => {
      const message = `Workflow ${workflow.name}: bind the criterion ${name} yourself, for ${why}.`
      return {
        code: 'criterion-to-bind',
        severity: 'warning',
        path: placeText(place),
        workflow: workflow.name,
        message,
      }
    })
    const all = [
      ...warnings,
      ...unsupported,
      ...undeclared(machine, workflow, place),
      ...faultsOf(machine, workflow, place),
    ]
    return { machine, workflow, criteria, assigns: {}, warnings: all }
  }
  const settled =
    options.settled && Object.hasOwn(options.settled, workflow.name) ? options.settled[workflow.name] : undefined
  const foreign = new ForeignMachine(
    workflow,
    place,
    { name, version: options.version ?? 1, settled },
    (reading) => new ImportedCriteria(workflow, { stateName: (state) => reading.stateName(state) }),
  )
  const machine = foreign.machine()
  const isUpdated = machine.edges.some((edge) => edge.assign === replaceData)
  const warnings = [...foreign.warnings, ...selection(workflow, place), ...faultsOf(machine, workflow, place)]
  return {
    machine,
    workflow,
    criteria: foreign.criteria,
    assigns: isUpdated ? { [replaceData]: replaced } : {},
    warnings,
  }
}

/** What a person gives along with `update` is the new data; nothing leaves it as it was. */
const replaced: Assign = (_entity, _facts, input) => {
  if (input === undefined || input === null) return {}
  if (typeof input === 'object' && !Array.isArray(input)) return { data: input }
  throw new SluiceError('invalid', `The input of update must be the new data as an object; it was a ${typeof input}.`)
}

/** Which workflow an entity gets is said by whoever submits it. */
function selection(workflow: Workflow, place: JsonPlace): readonly LintWarning[] {
  if (!workflow.criterion) return []
  const message = `Workflow ${workflow.name}: its criterion, which chooses it for an entity, is not judged; whoever submits names the machine.`
  const path = placeText([...place, 'criterion'])
  return [{ code: 'workflow-criterion-not-judged', severity: 'warning', path, workflow: workflow.name, message }]
}

function undeclared(machine: Machine, workflow: Workflow, place: JsonPlace): readonly LintWarning[] {
  const where = { path: placeText(place), workflow: workflow.name }
  return machineWarnings(machine).map(({ message }) => ({
    ...{ code: 'undeclared-outcome', severity: 'warning', ...where, message },
  }))
}

/** What would keep the engine from starting this machine. */
function faultsOf(machine: Machine, workflow: Workflow, place: JsonPlace): readonly LintWarning[] {
  return checkMachine(machine).map(({ state, edge, message }) => ({
    code: 'machine-fault',
    severity: 'error',
    path: placeText(place),
    workflow: workflow.name,
    ...(state === undefined ? {} : { state }),
    ...(edge === undefined ? {} : { transition: edge }),
    message,
  }))
}

function neededNames({ machine, criteria, assigns }: Imported): NeededNames {
  const { edges } = machine
  return {
    processors: [...new Set(edges.flatMap(processorsOf))],
    criteria: [...new Set([...namedCriteria(machine), ...criteria.nested])].filter((name) => !criteria.has(name)),
    assigns: [...new Set(edges.flatMap((edge) => edge.assign ?? []))].filter((name) => !Object.hasOwn(assigns, name)),
  }
}

function namedCriteria({ edges }: Machine): ReadonlySet<string> {
  return new Set(edges.flatMap((edge) => [...edge.when, ...edge.ensure]))
}

function bindOne({ machine, criteria, assigns }: Imported, given: WorkflowBindings): Implementation {
  const functions = given.criteria ?? {}
  const missing = criteria.nested.filter((name) => !Object.hasOwn(functions, name))
  if (missing.length > 0) {
    const said = `Machine ${machine.name} asks the criteria ${missing.join(', ')} from within others, and no function is bound to them.`
    throw new SluiceError('invalid', said, { machine: machine.name, missing })
  }
  const named = namedCriteria(machine)
  // What is asked from within others only is not the machine's to name; anything else unknown is refused by implement.
  const own = Object.entries(functions).filter(([name]) => named.has(name) || !criteria.nested.includes(name))
  return implement(machine, {
    processors: given.processors ?? {},
    criteria: { ...criteria.with(functions), ...Object.fromEntries(own) },
    assigns: { ...assigns, ...given.assigns },
  })
}
