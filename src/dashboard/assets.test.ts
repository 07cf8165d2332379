import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { loadAssets } from './assets.ts'
import { documentOf } from './page.ts'

const assets = await loadAssets()
const modules = [...assets.files].filter(([, { contentType }]) => contentType.startsWith('text/javascript'))

test('every import of a served module leads to a served file', () => {
  const missing = modules.flatMap(([path, { body }]) => {
    const imports = [...body.toString().matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|^import\s*)["']([^"'\n]+)["']/gm)].map(
      (match) => match[1]!,
    )
    return imports
      .map((name) => (name.startsWith('.') ? new URL(name, `http://x/${path}`).pathname.slice(1) : name))
      .filter((target) => !assets.files.has(target))
      .map((target) => `${path} imports ${target}`)
  })
  assert.deepEqual(missing, [])
  assert.ok(modules.length > 30)
})

test('no test, no type and no file of the server is served', () => {
  for (const path of assets.files.keys()) assert.doesNotMatch(path, /\.test\.|\.d\.ts|pulse|assets|store|engine/)
  for (const [path, { body }] of modules)
    assert.doesNotMatch(body.toString(), /^(import|export) type|^interface /m, path)
})

test('what is zipped is the same', () => {
  for (const { body, zipped } of assets.files.values()) assert.ok(gunzipSync(zipped).equals(body))
})

test('the document has no script and no style of its own, and loads all that it needs at once', () => {
  const page = documentOf(assets)
  assert.doesNotMatch(page, /<style|<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=/i)
  for (const [, href] of page.matchAll(/<(?:link|script)[^>]*(?:href|src)="([^"]+)"/g)) {
    const path = href!.replace(`/assets/${assets.digest}/`, '')
    assert.ok(assets.files.has(path), href)
  }
  assert.doesNotMatch(page, /uplot/)
})

test('no markup is made from text', () => {
  const said = modules
    .filter(([path]) => path.startsWith('dashboard/'))
    .filter(([, { body }]) =>
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function/.test(
        body.toString(),
      ),
    )
  assert.deepEqual(
    said.map(([path]) => path),
    [],
  )
})
