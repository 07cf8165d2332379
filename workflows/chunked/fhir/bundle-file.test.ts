import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BundleFile } from './bundle-file.ts'

test('entries are found however the file is laid out', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bundle-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'bundle.json')
  const bundle = {
    resourceType: 'Bundle',
    link: [{ relation: 'self', url: 'x' }],
    meta: { tag: [{ code: '}]"\\' }] },
    entry: [
      { fullUrl: 'http://a/1', resource: { id: 1, text: '"}]{[\\', list: [[{ deep: { a: 'é' } }]] } },
      // Longer than what is read at once.
      { fullUrl: 'http://a/2', resource: { id: 2, text: '\\"'.repeat(600_000) } },
      { resource: { id: 3 } },
      { fullUrl: 'http://a/4', resource: { id: 4 } },
    ],
  }
  for (const space of [0, 2]) {
    writeFileSync(file, JSON.stringify(bundle, null, space))
    const opened = new BundleFile(file)
    assert.deepEqual([...opened.urls], ['http://a/1', 'http://a/2', 'http://a/4'])
    for (const { fullUrl, resource } of bundle.entry) if (fullUrl) assert.deepEqual(opened.resource(fullUrl), resource)
    assert.equal(opened.resource('http://a/3'), undefined)
  }
})
