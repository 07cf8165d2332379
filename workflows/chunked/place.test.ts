import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { leadsWithin, openWithin } from './place.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-place-')))
after(() => rmSync(folder, { recursive: true, force: true }))
const root = join(folder, 'root')
const outside = join(folder, 'root-beside')
for (const made of [root, join(root, 'in'), outside]) mkdirSync(made)
writeFileSync(join(root, 'in', 'own'), 'own')
writeFileSync(join(outside, 'secret'), 'secret')
symlinkSync(join(root, 'in'), join(root, 'way-in'))
symlinkSync(outside, join(root, 'way-out'))
symlinkSync(join(outside, 'secret'), join(root, 'secret'))
symlinkSync(join(outside, 'yet-to-come'), join(root, 'dangling'))

const within: readonly (readonly [path: string, isWithin: boolean])[] = [
  ['.', true],
  ['in/own', true],
  ['way-in/own', true],
  ['in/yet-to-come/below', true],
  ['..', false],
  ['../root-beside/secret', false],
  ['in/../../root-beside', false],
  ['way-out', false],
  ['way-out/secret', false],
  ['way-out/yet-to-come', false],
  ['secret', false],
  ['dangling', false],
  ['dangling/below', false],
]

for (const [path, isWithin] of within) {
  test(`${path} ${isWithin ? 'stays in' : 'leads out of'} the folders that are allowed`, async () => {
    assert.equal(await leadsWithin(join(root, path), [[root]]), isWithin)
  })
}

test('a place must be in one folder of each set; without a set every place is allowed', async () => {
  const own = join(root, 'in', 'own')
  assert.equal(await leadsWithin(own, [[outside, root], [join(root, 'in')]]), true)
  assert.equal(await leadsWithin(own, [[root], [outside]]), false)
  assert.equal(await leadsWithin(own, [[]]), false)
  assert.equal(await leadsWithin(own, []), true)
})

test('a file is opened only where it really lies in the folders that are allowed', async () => {
  for (const path of ['in/own', 'way-in/own']) {
    const handle = await openWithin(join(root, path), [[root]])
    assert.equal(await handle?.readFile('utf8'), 'own')
    await handle?.close()
  }
  for (const path of ['secret', 'way-out/secret']) assert.equal(await openWithin(join(root, path), [[root]]), null)
})
