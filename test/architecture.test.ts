import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  clockComplaints,
  cycles,
  dependencyComplaints,
  doorComplaints,
  type Exception,
  fetchComplaints,
  importsOf,
  layerComplaints,
  lengthComplaints,
  linesMax,
  nameComplaints,
  publicNameComplaints,
  type Source,
  threadComplaints,
  wordComplaints,
  zoneOf,
} from './architecture.ts'

/** Sources that read time or chance themselves. Each says why it cannot be handed a Clock. */
const clockExceptions: readonly Exception[] = [
  {
    path: 'src/http/secret.ts',
    what: 'randomBytes',
    reason: 'Tokens and session ids must not be foreseeable, as what a clock gives out is in a simulation.',
  },
]

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const sources: readonly Source[] = globSync('{src,test,workflows,examples,bench,scripts}/**/*.ts', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})
  .map((path) => ({ path: path.replaceAll('\\', '/'), text: read(path) }))
  .sort((one, other) => (one.path < other.path ? -1 : 1))
const manifest = JSON.parse(read('package.json')) as {
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  exports: Record<string, string | Record<string, string>>
}

describe('the repository keeps its rules', () => {
  test('there is something to check', () => assert.ok(sources.length > 5))
  test('each folder imports only what it may see', () => assert.deepEqual(layerComplaints(sources), []))
  test('what is published imports only what is installed with it', () => {
    const installed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }))
    assert.deepEqual(dependencyComplaints(sources, installed), [])
  })
  test('workflows and examples import the package by its public name only', () => {
    assert.deepEqual(publicNameComplaints(sources), [])
  })
  test('no imports go in a circle at run time', () => assert.deepEqual(cycles(sources, ['runtime', 'thread']), []))
  test('no imports go in a circle, types included', () => {
    assert.deepEqual(cycles(sources, ['runtime', 'thread', 'type']), [])
  })
  test('time and chance come from the clock', () => assert.deepEqual(clockComplaints(sources, clockExceptions), []))
  test('a thread is found in dist/ too', () => assert.deepEqual(threadComplaints(sources), []))
  test('root and engine fetch nothing', () => assert.deepEqual(fetchComplaints(sources), []))
  test('state is written by create, claim, commit and purge alone', () => assert.deepEqual(doorComplaints(sources), []))
  test('no enum, no any', () => assert.deepEqual(wordComplaints(sources), []))
  test('files are kebab-case and named after a noun', () => assert.deepEqual(nameComplaints(sources), []))
  test(`no source is longer than ${linesMax} lines`, () => assert.deepEqual(lengthComplaints(sources), []))
  test('every subpath of the package leads to a source', () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? target : (target['sluice-source'] ?? 'no sluice-source'),
    )
    assert.deepEqual(
      targets.filter((target) => !existsSync(new URL(target, root))),
      [],
    )
  })
  test('the lockfile works behind any mirror', () => {
    assert.doesNotMatch(read('package-lock.json'), /"resolved"/)
    assert.doesNotMatch(read('.npmrc'), /:\/\//)
  })
})

/** The rules are worth something only if they can complain: each is shown sources that break it. */
describe('a rule complains', () => {
  const source = (path: string, text: string): Source => ({ path, text })
  const layer = (path: string, text: string) => layerComplaints([source(path, text)])

  test('imports are found in every form, and only in code', () => {
    const text = `
      import { a } from './a.ts'
      import type { B } from './b.ts'
      import type from './type.ts'
      import {
        type C,
        c,
      } from "./c.ts"
      import './d.ts'
      export * from './e.ts'
      export type { F } from './f.ts'
      // import './comment.ts'
      const words = 'import x from "./text.ts"' + \`from './template.ts'\` + /from '.\\/regex.ts'/.source
      const g = await import('./g.ts')
      const thread = new Worker(new URL('./h.ts', import.meta.url))
      const either = new URL(built ? './i.js' : './i.ts', import.meta.url)
      const page = new URL('https://example.org/x.ts')
      list.from('./method.ts')
    `
    assert.deepEqual(
      importsOf(source('src/x.ts', text)).map(({ specifier, kind }) => `${kind} ${specifier}`),
      [
        'runtime ./a.ts',
        'type ./b.ts',
        'runtime ./type.ts',
        'runtime ./c.ts',
        'runtime ./d.ts',
        'runtime ./e.ts',
        'type ./f.ts',
        'runtime ./g.ts',
        'thread ./h.ts',
        'thread ./i.ts',
      ],
    )
  })

  test('zones are told by path', () => {
    const paths = [
      'src/index.ts',
      'src/entity.ts',
      'src/engine/a.ts',
      'src/store/sqlite/x/y.ts',
      'src/store/a.ts',
      'src/new/a.ts',
    ]
    assert.deepEqual(paths.map(zoneOf), ['front', 'root', 'engine', 'store/sqlite', null, null])
  })

  test('when a folder imports what it must not see', () => {
    const forbidden: readonly (readonly [path: string, specifier: string, complaint: RegExp])[] = [
      ['src/entity.ts', './engine/worker.ts', /root does not see engine/],
      ['src/entity.ts', './index.ts', /root does not see front/],
      ['src/entity.ts', './store/memory/index.ts', /root does not see store\/memory/],
      ['src/entity.ts', 'node:fs', /never reaches outside/],
      ['src/entity.ts', 'fastify', /zod and pino only/],
      ['src/engine/worker.ts', '../store/sqlite/index.ts', /engine does not see store\/sqlite/],
      ['src/engine/worker.ts', 'node:fs/promises', /never reaches outside/],
      ['src/engine/worker.ts', 'node:sqlite', /never reaches outside/],
      ['src/engine/worker.ts', 'node:timers/promises', /never reaches outside/],
      ['src/store/memory/index.ts', '../../engine/worker.ts', /does not see engine/],
      ['src/store/memory/index.ts', '../sqlite/index.ts', /does not see store\/sqlite/],
      ['src/store/memory/index.ts', 'node:sqlite', /driver belongs to its store/],
      ['src/store/sqlite/index.ts', 'postgres', /driver belongs to its store/],
      ['src/store/sqlite/index.ts', 'knex', /its driver, zod and pino only/],
      ['src/http/server.ts', '../engine/worker.ts', /http does not see engine/],
      ['src/http/server.ts', '../store/sqlite/index.ts', /http does not see store\/sqlite/],
      ['src/http/server.ts', 'node:sqlite', /driver belongs to its store/],
      ['src/dashboard/page.ts', '../http/server.ts', /dashboard does not see http/],
      ['src/index.ts', './testing/index.ts', /front does not see testing/],
      ['src/index.ts', './cli/main.ts', /front does not see cli/],
      ['src/cli/main.ts', '../testing/index.ts', /cli does not see testing/],
      ['src/testing/index.ts', '../cli/main.ts', /testing does not see cli/],
      ['src/engine/worker.ts', 'sluice', /by their path/],
      ['src/engine/worker.ts', '../../bench/main.ts', /stay inside src/],
      ['src/engine/worker.ts', './worker.test.ts', /nothing imports a test/],
      ['src/engine/worker.ts', '../clock.js', /with \.ts/],
    ]
    for (const [path, specifier, complaint] of forbidden) {
      const complaints = layer(path, `import { x } from '${specifier}'`)
      assert.equal(complaints.length, 1, `${path} importing ${specifier}: ${complaints}`)
      assert.match(complaints[0]!, complaint)
      assert.ok(complaints[0]!.includes(path) && complaints[0]!.includes(specifier), 'it names file and import')
    }
    assert.match(layer('src/plugins/a.ts', '')[0]!, /no rule names/)
    assert.match(layer('src/store/mongo/a.ts', '')[0]!, /no rule names/)
    assert.match(layer('src/store/codec.ts', '')[0]!, /no rule names/)
  })

  test('but not when it imports what it may see', () => {
    const allowed: readonly (readonly [path: string, specifier: string])[] = [
      ['src/entity.ts', './machine.ts'],
      ['src/entity.ts', 'node:crypto'],
      ['src/entity.ts', 'zod'],
      ['src/engine/worker.ts', '../store.ts'],
      ['src/engine/worker.ts', './executor.ts'],
      ['src/engine/worker.ts', 'node:worker_threads'],
      ['src/store/sqlite/index.ts', 'node:sqlite'],
      ['src/store/sqlite/index.ts', '../../store.ts'],
      ['src/store/sqlite/index.ts', 'node:fs'],
      ['src/index.ts', './engine/engine.ts'],
      ['src/http/server.ts', '../control.ts'],
      ['src/http/server.ts', 'fastify'],
      ['src/cli/main.ts', '../store/sqlite/index.ts'],
      ['src/testing/index.ts', '../engine/engine.ts'],
      ['src/testing/index.ts', '../store/memory/index.ts'],
      ['src/entity.test.ts', './testing/index.ts'],
      ['test/crash.test.ts', '../src/cli/main.ts'],
      ['bench/main.ts', '../src/testing/index.ts'],
    ]
    for (const [path, specifier] of allowed) assert.deepEqual(layer(path, `import { x } from '${specifier}'`), [])
  })

  test('when published code needs a development dependency', () => {
    const text = `import fc from 'fast-check'\nimport { z } from 'zod/mini'\nimport x from '@scope/name/sub'`
    assert.deepEqual(dependencyComplaints([source('src/testing/index.ts', text)], new Set(['zod', '@scope/name'])), [
      'src/testing/index.ts imports fast-check, which is no dependency or peer of the package.',
    ])
    assert.deepEqual(dependencyComplaints([source('src/a.test.ts', text)], new Set()), [])
  })

  test('when a workflow or an example goes behind the public name', () => {
    const bad = (path: string, specifier: string) =>
      publicNameComplaints([source(path, `import x from '${specifier}'`)])
    assert.equal(bad('workflows/ingest/job.ts', '../../src/machine.ts').length, 1)
    assert.equal(bad('workflows/ingest/job.test.ts', '../../src/testing/index.ts').length, 1)
    assert.equal(bad('workflows/ingest/job.ts', '../upload/batch.ts').length, 1)
    assert.equal(bad('examples/hello.ts', '../src/index.ts').length, 1)
    assert.equal(bad('workflows/ingest/job.ts', 'sluice/testing').length, 1)
    assert.deepEqual(bad('workflows/ingest/job.test.ts', 'sluice/testing'), [])
    for (const specifier of ['sluice', 'sluice/sqlite', './criteria.ts', 'node:fs', 'zod']) {
      assert.deepEqual(bad('workflows/ingest/job.ts', specifier), [])
    }
  })

  test('when a thread would be lost in dist/', () => {
    const named = (name: string) =>
      threadComplaints([source('src/a.ts', `new Worker(new URL(${name}, import.meta.url))`)])
    assert.match(named(`'./b.ts'`)[0]!, /b\.ts to a thread/)
    assert.deepEqual(named(`unbuilt ? './b.ts' : './b.js'`), [])
  })

  test('when imports go in a circle', () => {
    const circle = [
      source('src/b.ts', `import { c } from './c.ts'`),
      source('src/c.ts', `import type { A } from './a.ts'\nexport { d } from './d.ts'`),
      source('src/a.ts', `import { b } from './b.ts'`),
      source('src/d.ts', `import { b } from './b.ts'`),
    ]
    assert.deepEqual(cycles(circle, ['runtime']), ['src/b.ts → src/c.ts → src/d.ts → src/b.ts'])
    assert.deepEqual(cycles(circle, ['runtime', 'type']), [
      'src/a.ts → src/b.ts → src/c.ts → src/a.ts',
      'src/b.ts → src/c.ts → src/d.ts → src/b.ts',
    ])
    assert.deepEqual(cycles([source('src/a.ts', `import './a.ts'`)], ['runtime']), ['src/a.ts → src/a.ts'])
    const thread = [
      source('src/a.ts', `new Worker(new URL('./b.ts', import.meta.url))`),
      source('src/b.ts', `import './a.ts'`),
    ]
    assert.equal(cycles(thread, ['runtime', 'thread']).length, 1)
  })

  test('when time or chance is taken past the clock', () => {
    const said = (text: string) => clockComplaints([source('src/engine/a.ts', text)], [])
    for (const text of [
      'const now = Date.now()',
      'const now = Date\n  .now',
      'const date = new Date()',
      'setTimeout(run, 5)',
      'const timer = globalThis.setInterval',
      'const chance = Math.random',
      'performance.now()',
      'crypto.randomUUID()',
      `import { randomBytes } from 'node:crypto'`,
      'const text = `at $' + '{Date.now()}`',
    ]) {
      assert.equal(said(text).length, 1, text)
    }
    for (const text of [
      '// Date.now() is never called',
      `throw new Error('Date.now() is not allowed')`,
      'new Date(entity.createdAt).toISOString()',
      'clock.setTimeout(run, 5)',
      'clock.now()',
    ]) {
      assert.deepEqual(said(text), [], text)
    }
    const timer = source('src/store/sqlite/thread.ts', 'setTimeout(renew, 5)')
    const exception = {
      path: timer.path,
      what: 'setTimeout',
      reason: 'A thread of its own has no engine to hand it a clock.',
    }
    assert.deepEqual(clockComplaints([timer], [exception]), [])
    assert.match(clockComplaints([], [exception])[0]!, /not needed/)
    assert.deepEqual(clockComplaints([source('src/clock.ts', 'Date.now()'), source('test/a.ts', 'Date.now()')], []), [])
  })

  test('when root or engine fetches', () => {
    assert.equal(fetchComplaints([source('src/engine/a.ts', 'await fetch(url)')]).length, 1)
    assert.equal(fetchComplaints([source('src/a.ts', 'await globalThis.fetch(url)')]).length, 1)
    assert.deepEqual(
      fetchComplaints([source('src/http/a.ts', 'await fetch(url)'), source('src/a.ts', 'row.fetch(1)')]),
      [],
    )
  })

  test('when state is written past the door', () => {
    const said = (path: string, sql: string) => doorComplaints([source(path, `run(\`${sql}\`)`)])
    for (const sql of [
      'UPDATE entity SET line = 1, state = 2 WHERE id = 3',
      'update entity set state=2',
      'INSERT INTO history (entity) VALUES (1)',
      'DELETE FROM entity WHERE id = 1',
      'UPDATE entity SET $' + '{columns} WHERE id = 1',
    ]) {
      assert.equal(said('src/store/sqlite/leases.ts', sql).length, 1, sql)
      assert.deepEqual(said('src/store/sqlite/alike.ts', sql), [])
    }
    assert.deepEqual(said('src/store/sqlite/leases.ts', 'UPDATE entity SET epoch = epoch + 1'), [])
    assert.equal(doorComplaints(sources.filter(({ path }) => !/sqlite|postgres/.test(path))).length, 0)
  })

  test('when a source says enum or any', () => {
    const said = (text: string) => wordComplaints([source('src/a.ts', text)])
    for (const text of [
      'enum Color { red }',
      'const enum Color { red }',
      'let x: any',
      'x as any',
      'type L = Array<any>',
      '(a: any[]) => 1',
    ]) {
      assert.equal(said(text).length, 1, text)
    }
    for (const text of [
      '// any',
      `'any enum Color'`,
      'Promise.any(list)',
      'const rules = { any: 1, enum: 2 }',
      'z.enum(list)',
    ]) {
      assert.deepEqual(said(text), [], text)
    }
  })

  test('when a file is badly named or too long', () => {
    const named = (path: string) => nameComplaints([source(path, '')]).length
    assert.equal(named('src/workChunk.ts'), 1)
    assert.equal(named('src/Work.test.ts'), 1)
    assert.equal(named('src/engine/utils.ts'), 1)
    assert.equal(named('src/common/entity.ts'), 1)
    assert.equal(named('src/types.ts'), 1)
    assert.equal(named('src/store/sqlite/claim-plan.test.ts'), 0)
    assert.equal(lengthComplaints([source('src/a.ts', 'x\n'.repeat(linesMax))]).length, 0)
    assert.match(lengthComplaints([source('src/a.ts', 'x\n'.repeat(linesMax + 1))])[0]!, /has 501 lines/)
  })
})
