import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { newFolder, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

after(removeFolders)

describe('words', () => {
  test('--version and --help answer on standard output', async () => {
    const cwd = newFolder()
    const version = await sluice(cwd, '--version')
    assert.match(version.out, /^\d+\.\d+\.\d+\n$/)
    assert.equal(version.status, 0)
    const help = await sluice(cwd, 'upload', 'run', '--help')
    assert.match(help.out, /Usage: sluice upload run \[options\] <file>[\s\S]*Exit status/)
    assert.equal(help.status, 0)
    assert.equal((await sluice(cwd, 'upload', 'run', '-h')).out, help.out)
  })

  const wrong: readonly [words: readonly string[], sentence: RegExp][] = [
    [['zzz'], /^Unknown command 'zzz'\.\n$/],
    [['upload', 'rum', 'x'], /^Unknown command 'rum' \(Did you mean run\?\)\n$/],
    [['upload', 'run', 'x', '--jsn'], /^Unknown option '--jsn' \(Did you mean --json\?\)\n$/],
    [['upload', 'run'], /^Missing required argument 'file'\.\n$/],
    [['upload', 'run', 'x', '--max-size', 'big'], /^Option '--max-size <size>' .*A size such as 10GiB/],
    [['upload', 'show', 'one'], /'one' is invalid for argument 'id'\. A whole number, 0 or above, was expected\.\n$/],
    [['upload', 'sample', 'x'], /^Required option '--items <count>' not specified\.\n$/],
  ]
  for (const [words, sentence] of wrong) {
    test(`sluice ${words.join(' ')} is refused in one sentence`, async () => {
      const { status, out, err } = await sluice(newFolder(), ...words)
      assert.match(err, sentence)
      assert.equal(err.split('\n').length, 2)
      assert.equal(out, '')
      assert.equal(status, 2)
    })
  }

  test('with --json a refusal is an object on standard output as well', async () => {
    const ended = await sluice(newFolder(), 'zzz', '--json')
    const error = "Unknown command 'zzz'."
    assert.deepEqual(resultIn(ended), { error, code: 'invalid', exit: 2 })
    assert.deepEqual([ended.err, ended.status], [`${error}\n`, 2])
  })

  test('an old Node is told so in one sentence', async () => {
    const old = 'data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "22.4.1" } })'
    const { status, err } = await start(newFolder(), ['--version'], ['--import', old]).ending
    assert.equal(err, 'Sluice needs Node 24 or newer; this is Node 22.4.1.\n')
    assert.equal(status, 2)
  })
})

test('the library tells an old Node so, before anything else fails', async () => {
  const old = 'data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "20.20.2" } })'
  const library = new URL('../index.ts', import.meta.url).href
  const running = promisify(execFile)(process.execPath, [
    '--import',
    old,
    '--input-type=module',
    '-e',
    `import '${library}'`,
  ])
  await assert.rejects(running, /Error: Sluice needs Node 24 or newer; this is Node 20\.20\.2\.\n/)
})

describe('workflow', () => {
  test('what is exported can be imported and linted; what is no workflow is refused', async () => {
    const cwd = newFolder()
    const exported = await sluice(cwd, 'workflow', 'export')
    assert.equal(exported.status, 0, exported.err)
    const file = written(cwd, 'machines.json', exported.out)
    const imported = await sluice(cwd, 'workflow', 'import', file)
    assert.equal(imported.status, 0, imported.err)
    assert.match(
      imported.out,
      /^Machine upload_batch, version \d+: it can be imported\.\n {2}states +initial_state, uploaded/,
    )
    assert.match(imported.out, /UploadBatchInitProcessor/)
    const facts = resultIn(await sluice(cwd, 'workflow', 'import', file, '--json')) as { machines: { name: string }[] }
    assert.deepEqual(
      facts.machines.map(({ name }) => name),
      ['upload_batch', 'upload_item'],
    )
    const linted = await sluice(cwd, 'workflow', 'lint', file)
    assert.match(linted.out, /(findings?\.|Nothing is odd in it\.)\n$/)

    const broken = await sluice(cwd, 'workflow', 'import', written(cwd, 'broken.json', '{"workflows": [{}]}'))
    assert.equal(broken.status, 2)
    assert.match(broken.err, /^[^\n]*workflows\[0\][^\n]*\n$/)
    const none = await sluice(cwd, 'workflow', 'lint', written(cwd, 'none.json', '{'))
    assert.equal(none.status, 2)
    assert.match(none.err, /^none\.json is not JSON: /)
  })
})
