import type { Machine } from '../../machine.ts'
import { processorsOf } from '../../transition.ts'
import { importWorkflow } from '../../workflow-json/index.ts'
import type { Host } from '../host.ts'
import { plain } from '../text.ts'
import { readDocumentFile } from './document-file.ts'
import { warningLines } from './warnings.ts'

/** A dry run: whoever imports for good binds functions to the names, in a program. */
export async function importFile(
  file: string,
  { json }: { readonly json?: boolean },
  { terminal }: Host,
): Promise<number> {
  const { machines, warnings } = importWorkflow(await readDocumentFile(file))
  const told = machines.map(machineFacts)
  if (json) terminal.out(`${JSON.stringify({ machines: told, warnings })}\n`)
  else terminal.out(`${[...told.flatMap(machineLines), ...warningLines(warnings)].join('\n')}\n`)
  return 0
}

function machineFacts(machine: Machine) {
  const { name, version, edges } = machine
  const sorted = (names: Iterable<string>) => [...new Set(names)].sort()
  return {
    name,
    version,
    states: Object.keys(machine.states),
    transitions: sorted(edges.map((edge) => edge.name)),
    processors: sorted(edges.flatMap(processorsOf)),
    criteria: sorted(edges.flatMap(({ when, ensure }) => [...when, ...ensure])),
  }
}

function machineLines(facts: ReturnType<typeof machineFacts>): readonly string[] {
  const list = (title: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`  ${title.padEnd(11)} ${names.map((name) => plain(name, 80)).join(', ')}`]
  return [
    `Machine ${plain(facts.name)}, version ${facts.version}: it can be imported.`,
    ...list('states', facts.states),
    ...list('transitions', facts.transitions),
    ...list('processors', facts.processors),
    ...list('criteria', facts.criteria),
    '',
  ]
}
