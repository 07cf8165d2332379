import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { newFolder, removeFolders, resultIn, sluice, written } from './command-process.ts'
import { jobFolder } from './job/job-folder.ts'

after(removeFolders)

interface Findings {
  readonly well: boolean
  readonly findings: readonly { readonly what: string; readonly verdict: string; readonly sentence: string }[]
}

describe('doctor', () => {
  test('a new folder and a store in use are well; looking leaves nothing behind', async () => {
    const cwd = newFolder()
    const empty = await sluice(cwd, 'doctor')
    assert.equal(empty.status, 0, empty.out)
    assert.match(empty.out, /^ok +program +Sluice \d.* on Node \d.* with SQLite 3\.[\s\S]*All is well\.\n$/)
    assert.deepEqual(readdirSync(cwd), [])
    written(cwd, 'items.json', '[{"id":1,"type":"story"}]')
    await sluice(cwd, 'upload', 'run', 'items.json', '--quiet')
    const { well, findings } = resultIn(await sluice(cwd, 'doctor', '--full', '--json')) as unknown as Findings
    assert.ok(well, JSON.stringify(findings))
    assert.match(findings.find(({ what }) => what === 'store')?.sentence ?? '', /every page read/)
  })

  test('machines are checked on request: a settled state without outcome is a note, an unsound machine is trouble', async () => {
    const cwd = jobFolder()
    const machine = (name: string, more: string) => `implement(defineMachine({
      name: '${name}', version: 1, initial: ['a'], settled: ['b'], final: ['b'], states: { a: 'A.', b: 'B.' },
      transitions: { go: { from: 'a', to: 'b', on: 'action' }, ${more} } }))`
    const module = (...machines: readonly string[]) =>
      `import { defineMachine, implement } from 'sluice'\nexport default [${machines.join(',')}]\n`
    written(cwd, 'sound.ts', module(machine('silent', '')))
    written(cwd, 'unsound.ts', module(machine('endless', "turn: { from: 'b', to: 'a', on: 'time' }")))
    const asked = async (file: string) => {
      const ended = await sluice(cwd, 'doctor', '--machines', file, '--json')
      const { findings } = resultIn(ended) as unknown as Findings
      return { status: ended.status, found: findings.filter(({ what }) => what === 'machines') }
    }
    const sound = await asked('sound.ts')
    assert.equal(sound.status, 0)
    assert.equal(sound.found[0]?.verdict, 'note')
    assert.match(sound.found[0]?.sentence ?? '', /^In machine silent, no outcome is declared for b/)
    assert.equal((await asked('unsound.ts')).status, 1)
  })

  test('a damaged store and tokens that others can read are told', async () => {
    const cwd = newFolder()
    await sluice(cwd, 'token', 'create', '--name', 'a', '--role', 'admin')
    chmodSync(join(cwd, 'sluice-server', 'tokens.json'), 0o644)
    written(cwd, 'items.json', '[{"id":1,"type":"story"}]')
    await sluice(cwd, 'upload', 'run', 'items.json', '--quiet')
    const file = openSync(join(cwd, 'sluice.db'), 'r+')
    for (let page = 2; page < 8; page += 1) writeSync(file, Buffer.alloc(2_000, 0x55), 0, 2_000, page * 8_192)
    const ended = await sluice(cwd, 'doctor', '--full', '--json')
    assert.equal(ended.status, 1)
    const { findings } = resultIn(ended) as unknown as Findings
    const troubles = findings.filter(({ verdict }) => verdict === 'trouble').map(({ what }) => what)
    assert.ok(troubles.includes('store') && troubles.includes('tokens'), JSON.stringify(findings))
  })
})

test('bench tells its figures and leaves nothing behind', async () => {
  const cwd = newFolder()
  const figures = resultIn(await sluice(cwd, 'bench', '--entities', '2000', '--folder', '.', '--json'))
  for (const name of ['submittedPerSecond', 'settledPerSecond', 'movesPerSecond', 'peakRssMiB']) {
    assert.ok((figures[name] as number) > 0, `${name} in ${JSON.stringify(figures)}`)
  }
  assert.deepEqual(readdirSync(cwd), [])
  const none = await sluice(cwd, 'bench', '--entities', '0')
  assert.deepEqual([none.status, none.err], [2, '--entities must be 1 to 1,000,000; it was 0.\n'])
})

test('the guide has every command that there is', async () => {
  const { out } = await sluice(newFolder(), '--help')
  const names = [...out.matchAll(/^ {2}([a-z]+)(?= [[<]| {2,}\S)/gm)].map(([, name]) => name)
  assert.ok(names.length > 25, names.join(' '))
  const guide = readFileSync(new URL('../../docs/guides/cli.md', import.meta.url), 'utf8')
  for (const name of names) assert.match(guide, new RegExp(`sluice ${name}\\b`), name)
})

describe('completion', () => {
  test('bash completes commands, their commands and their options', async () => {
    const { out: script } = await sluice(newFolder(), 'completion', 'bash')
    const complete = (...words: readonly string[]): readonly string[] => {
      const line = `${script}\nCOMP_WORDS=(sluice ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', line], { encoding: 'utf8' }).trim().split('\n')
    }
    assert.deepEqual(complete('wor'), ['worker', 'workflow'])
    assert.deepEqual(complete('upload', 'r'), ['run', 'retry', 'rebuild-index'])
    assert.deepEqual(complete('upload', 'run', 'file', '--coll'), ['--collection'])
    assert.deepEqual(complete('token', 'create', '--na'), ['--name'])
    assert.deepEqual(complete('show', ''), [''])
  })

  for (const [shell, mark] of [
    ['zsh', /compdef _sluice sluice/],
    ['fish', /complete -c sluice -f .* -a upload /],
  ] as const) {
    test(`${shell} gets a script of its own`, async () => {
      const { status, out } = await sluice(newFolder(), 'completion', shell)
      assert.equal(status, 0)
      assert.match(out, mark)
    })
  }

  test('other shells are refused', async () => {
    const { status, err } = await sluice(newFolder(), 'completion', 'tcsh')
    assert.equal(status, 2)
    assert.match(err, /One of bash, zsh, fish was expected/)
  })
})
