/**
 * Draws machines as Mermaid: `npm run diagrams` for all, `npm run diagrams -- FILE…` for the machines that these modules
 * export. Only modules named after their machines are loaded unasked, since loading an example would run it.
 */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type MermaidSubject, toMermaid } from '../src/mermaid.ts'

function isMachine(value: unknown): value is MermaidSubject {
  return typeof value === 'object' && value !== null && ['states', 'edges', 'initial'].every((key) => key in value)
}

const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync('{workflows,examples}/**/{machine,machines,*-machine}.ts').sort()
if (files.length === 0)
  console.log('No module in workflows/ or examples/ is named machine.ts, machines.ts or *-machine.ts.')
for (const file of files) {
  const exported: Record<string, unknown> = await import(pathToFileURL(resolve(file)).href)
  for (const machine of Object.values(exported).filter(isMachine)) console.log(toMermaid(machine))
}
