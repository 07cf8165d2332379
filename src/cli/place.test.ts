import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newFolder, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

after(removeFolders)

describe('--folder is the folder that holds all, for every command', () => {
  const cwd = newFolder()
  before(async () => {
    written(cwd, 'items.json', '[{"id":1,"type":"story","title":"First"},{"id":2,"type":"song"}]')
    mkdirSync(join(cwd, 'ndjson'))
    written(cwd, 'ndjson/Patient.ndjson', '{"resourceType":"Patient","id":"a"}\n')
    const uploaded = await sluice(cwd, 'upload', 'run', 'items.json', '--folder', 'data/here', '--json')
    assert.equal(uploaded.status, 1, uploaded.err)
    const params = '{"inputs":[{"folder":"ndjson"}]}'
    const imported = await sluice(
      cwd,
      'job',
      'run',
      'fhir-import',
      '--params',
      params,
      '--folder',
      'data/here',
      '--json',
    )
    assert.equal(imported.status, 0, imported.err)
  })

  test('nothing lies outside of it', () => {
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'items.json', 'ndjson'])
    assert.deepEqual(
      readdirSync(join(cwd, 'data', 'here'))
        .filter((name) => !/-(wal|shm)$/.test(name))
        .sort(),
      ['sluice-jobs', 'sluice-upload', 'sluice.db'],
    )
  })

  for (const words of [
    ['status'],
    ['list'],
    ['show', '1'],
    ['upload', 'show', '1'],
    ['upload', 'errors', '1'],
    ['upload', 'search', '--type', 'story'],
    ['upload', 'thread', '1'],
    ['upload', 'rebuild-index'],
    ['job', 'list'],
    ['doctor'],
    ['migrate', '--dry-run'],
  ]) {
    test(`sluice ${words.join(' ')} finds it by option and by variable`, async () => {
      const typed = await sluice(cwd, ...words, '--folder', 'data/here')
      assert.equal(typed.status, 0, typed.err)
      assert.doesNotMatch(typed.out, /Nothing was found|There are no (such|jobs)/)
      const running = start(cwd, words, [], { SLUICE_FOLDER: 'data/here' })
      running.process.stdin?.end()
      assert.equal((await running.ending).status, 0)
    })
  }

  test('the folder of a family is refused, with what to name instead', async () => {
    for (const [words, folder] of [
      [['upload', 'search'], 'data/here/sluice-upload'],
      [['upload', 'run', 'items.json'], 'data/here/sluice-upload'],
      [['status'], 'data/here/sluice-upload'],
      [['job', 'list'], 'data/here/sluice-jobs'],
      [['job', 'run', 'fhir-import', '--params', '{"inputs":[]}'], 'data/here/sluice-jobs'],
    ] as const) {
      const ended = await sluice(cwd, ...words, '--folder', folder)
      assert.equal(ended.status, 2, words.join(' '))
      assert.match(ended.err, /^--folder names the folder that holds [^\n]*: --folder data\/here\.\n$/)
      assert.ok(!existsSync(join(cwd, folder, 'sluice.db')))
    }
  })

  test('a wrong folder is not taken for an empty one, and not made', async () => {
    for (const words of [['upload', 'search'], ['upload', 'thread', '1'], ['job', 'list'], ['status']]) {
      const ended = await sluice(cwd, ...words, '--folder', 'elsewhere')
      assert.equal(ended.status, 4, words.join(' '))
      assert.match(ended.err, /^There is no store at elsewhere\/sluice\.db\. Name its folder by --folder, [^\n]*\n$/)
    }
    const ended = await sluice(cwd, 'upload', 'search', '--store', 'data/here/sluice.db')
    assert.equal(ended.status, 4)
    assert.match(ended.err, /^There are no uploads in [^\n]*\. Name the folder that has them by --folder\.\n$/)
    assert.ok(!existsSync(join(cwd, 'elsewhere')) && !existsSync(join(cwd, 'sluice-upload')))
  })
})

describe('the address of a store', () => {
  test('is the same for an option and for the variable', async () => {
    const cwd = newFolder()
    written(cwd, 'items.json', '[{"id":1,"type":"story"}]')
    assert.equal((await sluice(cwd, 'upload', 'run', 'items.json', '--store', 'sqlite:own.db', '--quiet')).status, 0)
    assert.ok(existsSync(join(cwd, 'own.db')) && !existsSync(join(cwd, 'sluice.db')))
    const running = start(cwd, ['upload', 'show', '1', '--json'], [], { SLUICE_STORE: 'own.db' })
    running.process.stdin?.end()
    assert.equal(resultIn(await running.ending).state, 'completed')
    for (const words of [['status'], ['upload', 'show', '1'], ['job', 'list'], ['serve'], ['migrate']]) {
      const ended = await sluice(cwd, ...words, '--store', 'mysql://u:s3cret@h/d')
      assert.equal(ended.status, 2, words.join(' '))
      assert.match(ended.err, /mysql:\/\/u:\*\*\*@h\/d \(expected FILE, sqlite:FILE, memory: or postgres:/)
    }
  })

  test('memory: works, says what cannot be done with it, and leaves nothing behind', async () => {
    const cwd = newFolder()
    written(cwd, 'items.json', '[{"id":1,"type":"story"}]')
    const ended = await sluice(cwd, 'upload', 'run', 'items.json', '--store', 'memory:', '--json')
    assert.equal(resultIn(ended).completed, 1, ended.err)
    for (const words of [['status'], ['upload', 'show', '1'], ['job', 'list'], ['migrate']]) {
      const refused = await sluice(cwd, ...words, '--store', 'memory:')
      assert.equal(refused.status, 2, words.join(' '))
      assert.match(refused.err, /^A store in memory [^\n]*\n$/)
    }
    assert.equal((await sluice(cwd, 'doctor', '--store', 'memory:')).status, 0)
    assert.deepEqual(readdirSync(cwd), ['items.json'])
  })
})
