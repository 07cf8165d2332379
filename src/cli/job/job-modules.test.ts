import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removeFolders, written } from '../command-process.ts'
import { jobFolder } from './job-folder.ts'
import { definitionsIn } from './job-modules.ts'

after(removeFolders)

const head = `import { defineJob } from 'sluice/chunked'
import { z } from 'zod'
const begun = (id: string) => defineJob({ id, version: 1, parameters: z.object({}) })
const job = (id: string) => begun(id).firstStep({ id: 'one', run: () => {} })
`
const cwd = jobFolder()
let modules = 0

async function idsIn(text: string): Promise<readonly string[]> {
  modules += 1
  const file = written(cwd, `m${modules}.ts`, `${head}${text}\n`)
  return (await definitionsIn(join(cwd, file))).map(({ id }) => id)
}

test('a definition or a list of them, as default or as jobs', async () => {
  assert.deepEqual(await idsIn("export default job('a')"), ['a'])
  assert.deepEqual(await idsIn("export default [job('a'), job('b')]"), ['a', 'b'])
  assert.deepEqual(await idsIn("export const jobs = [job('a')]"), ['a'])
  assert.deepEqual(await idsIn("export const jobs = [job('a')]; export default job('b')"), ['b', 'a'])
  assert.deepEqual(await idsIn("export const jobs = [job('a')]; export default jobs"), ['a'])
})

const refused: readonly [text: string, sentence: RegExp][] = [
  [
    "export const other = job('a')",
    /exports no jobs\. Export a definition, or a list of them, as default or as `jobs`\.$/,
  ],
  ['export default []', /exports an empty list of jobs\.$/],
  [
    "export default [job('a'), 3, null, {}]",
    /does not export jobs: jobs\[1\] is a number; jobs\[2\] is null; jobs\[3\] was not made by defineJob\.$/,
  ],
  ["export default begun('a')", /jobs\[0\] has no step; go on with firstStep\.$/],
  ["export default job('no good')", /could not be loaded: The job no good is not sound: id must be .*\.$/],
  ["import './nothing.ts'", /could not be loaded: Cannot find module .*\.$/],
  ['export default {', /could not be loaded: .+\.$/],
]
for (const [text, sentence] of refused) {
  test(`refused: ${text}`, async () => {
    await assert.rejects(idsIn(text), { code: 'invalid', message: sentence })
  })
}

test('what is no file is refused', async () => {
  await assert.rejects(definitionsIn(join(cwd, 'none.ts')), {
    code: 'not_found',
    message: /none\.ts does not exist\.$/,
  })
  mkdirSync(join(cwd, 'folder'))
  await assert.rejects(definitionsIn(join(cwd, 'folder')), { code: 'invalid', message: /is a folder; name a file\.$/ })
})
