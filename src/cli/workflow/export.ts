import { writeFile } from 'node:fs/promises'
import { uploadBatch, uploadItem } from 'sluice/upload'
import type { Machine } from '../../machine.ts'
import { exportWorkflow } from '../../workflow-json/index.ts'
import type { Host } from '../host.ts'

export async function exportMachines({ output }: { readonly output?: string }, { terminal }: Host): Promise<number> {
  const document = exportWorkflow([uploadBatch, uploadItem] as readonly unknown[] as readonly Machine[])
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (output === undefined) terminal.out(text, 'exact')
  else await writeFile(output, text)
  return 0
}
