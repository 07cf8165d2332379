import { lintWorkflow } from '../../workflow-json/index.ts'
import type { Host } from '../host.ts'
import { readDocumentFile } from './document-file.ts'
import { warningLines } from './warnings.ts'

export async function lintFile(
  file: string,
  { json }: { readonly json?: boolean },
  { terminal }: Host,
): Promise<number> {
  const warnings = lintWorkflow(await readDocumentFile(file))
  const text = json ? JSON.stringify({ warnings }) : [...warningLines(warnings), countLine(warnings.length)].join('\n')
  terminal.out(`${text}\n`)
  return warnings.some(({ severity }) => severity !== 'info') ? 1 : 0
}

function countLine(count: number): string {
  return count === 0 ? 'Nothing is odd in it.' : `${count} ${count === 1 ? 'finding' : 'findings'}.`
}
