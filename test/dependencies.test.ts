import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type LockedPackage,
  type LockedPackages,
  licenceComplaints,
  nameOf,
  rangeComplaints,
  scriptComplaints,
  sourceComplaints,
} from './dependencies.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const json = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const { packages } = json('package-lock.json') as { packages: LockedPackages }
const { allowScripts, files, scripts } = json('package.json') as {
  allowScripts: Readonly<Record<string, boolean>>
  files: readonly string[]
  scripts: Readonly<Record<string, string>>
}
const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name])

describe('what is installed', () => {
  test('there is something to check', () => assert.ok(Object.keys(packages).length > 50))
  test('comes from the registry, pinned by checksum', () => assert.deepEqual(sourceComplaints(packages), []))
  test('is pinned by version', () => assert.deepEqual(rangeComplaints(packages), []))
  test('has a licence that may be passed on', () => assert.deepEqual(licenceComplaints(packages), []))
  test('runs nothing at install but what is allowed', () => {
    assert.deepEqual(scriptComplaints(packages, allowed), [])
    assert.deepEqual(allowed, ['node'])
    // npm that knows the setting refuses what is not allowed.
    assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^strict-allow-scripts=true$/m)
  })

  test('the lockfile is right about install scripts', () => {
    const scripted = Object.keys(packages).filter((path) => {
      if (path === '' || !existsSync(join(root, path, 'package.json'))) return false
      const installed = json(join(path, 'package.json')) as { scripts?: Readonly<Record<string, string>> }
      const runs = ['preinstall', 'install', 'postinstall'].some((name) => installed.scripts?.[name] !== undefined)
      return runs || existsSync(join(root, path, 'binding.gyp'))
    })
    assert.deepEqual(scripted.map(nameOf), ['node'])
  })
})

describe('what is packed', () => {
  test('is built first', () => assert.equal(scripts.prepack, 'npm run -s build'))

  test('has every file that the README leads to', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const links = [...readme.matchAll(/\]\(([^)#]+)[^)]*\)/g)].flatMap(([, path = '']) =>
      path.includes('://') ? [] : [path],
    )
    assert.ok(links.length > 20)
    const patterns = files.map((file) => new RegExp(`^${file.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}(/|$)`))
    for (const path of links) {
      assert.ok(existsSync(join(root, path)), `README.md leads to ${path}, which is not there.`)
      assert.ok(
        patterns.some((pattern) => pattern.test(path)),
        `README.md leads to ${path}, which is not packed.`,
      )
    }
  })
})

/** The rules are worth something only if they can complain. */
describe('a rule complains', () => {
  const good: LockedPackage = { version: '1.0.0', integrity: `sha512-${'a'.repeat(86)}==`, license: 'MIT' }
  const one = (changes: Partial<LockedPackage>) => ({ 'node_modules/@a/b': { ...good, ...changes } })

  test('but not when all is well', () => {
    assert.deepEqual(
      [...sourceComplaints(one({})), ...licenceComplaints(one({})), ...scriptComplaints(one({}), [])],
      [],
    )
  })

  test('when a package does not come from the registry', () => {
    const { integrity, ...bare } = good
    assert.equal(sourceComplaints({ 'node_modules/a': bare }).length, 1)
    assert.equal(sourceComplaints(one({ integrity: 'sha1-abc' })).length, 1)
    assert.equal(sourceComplaints(one({ resolved: 'git+ssh://git@host/a.git#abc' })).length, 1)
    assert.equal(sourceComplaints(one({ link: true })).length, 1)
    assert.equal(sourceComplaints(one({ version: 'main' })).length, 1)
  })

  test('when a range, a tag or an address stands for a version', () => {
    for (const range of ['^1.0.0', 'latest', '*', 'git+https://host/a', 'file:../a', 'npm:other@1.0.0']) {
      assert.equal(rangeComplaints({ '': { dependencies: { a: range } } }).length, 1, range)
      assert.equal(rangeComplaints({ '': { devDependencies: { a: range } } }).length, 1, range)
    }
  })

  test('when something runs at install that is not allowed, or is allowed for nothing', () => {
    assert.deepEqual(scriptComplaints(one({ hasInstallScript: true }), []), ['@a/b has an install script.'])
    assert.deepEqual(scriptComplaints(one({ hasInstallScript: true }), ['@a/b']), [])
    assert.equal(scriptComplaints(one({ hasInstallScript: true }), ['@a/c']).length, 2)
  })

  test('when a licence cannot be passed on', () => {
    assert.equal(licenceComplaints(one({ license: 'GPL-3.0' })).length, 1)
    assert.equal(licenceComplaints(one({ license: 'MPL-2.0' })).length, 1)
    assert.equal(licenceComplaints(one({ license: 'MPL-2.0', dev: true })).length, 0)
    assert.equal(licenceComplaints(one({ license: 'GPL-2.0 OR MIT' })).length, 0)
  })
})
