import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Ending, newFolder, type Running, removeFolders, resultIn, start, written } from './command-process.ts'
import { jobFolder } from './job/job-folder.ts'

/** Machines of a user's, whom nobody here has ever heard of. */
const machines = `
import { defineMachine, done, fail, implement } from 'sluice'
import { z } from 'zod'

const crate = defineMachine({
  name: 'crate', version: 1, initial: ['packing'], settled: ['closed', 'broken', 'burnt'], final: ['closed', 'burnt'],
  labels: ['collection'],
  data: z.object({ bottles: z.number().int(), collection: z.string().optional(), note: z.string().optional() }),
  states: { packing: 'Bottles go in.', waiting: 'For all of them.', closed: { purpose: 'Shut.', outcome: 'success' }, broken: { purpose: 'Glass everywhere.', outcome: 'failure' }, burnt: { purpose: 'Ashes.', outcome: 'neutral' } },
  transitions: {
    pack: { from: 'packing', to: 'waiting', on: 'done', processor: 'pack' },
    smash: { from: 'packing', to: 'broken', on: 'fail' },
    close: { from: 'waiting', to: 'closed', on: 'children' },
    mend: { from: 'broken', to: 'packing', on: 'action' },
    burn: { from: 'broken', to: 'burnt', on: 'action', warning: 'Nothing will be left.' },
    stop: { from: ['packing', 'waiting'], to: 'burnt', on: 'action' },
  },
})
const bottle = defineMachine({
  name: 'bottle', version: 1, parent: 'crate', initial: ['empty'], settled: ['filled', 'leaking'], final: ['filled', 'leaking'],
  data: z.object({ number: z.number() }),
  states: { empty: 'Thirsty.', filled: { purpose: 'Heavy.', outcome: 'success' }, leaking: { purpose: 'Wet.', outcome: 'failure' } },
  transitions: { fill: { from: 'empty', to: 'filled', on: 'done', processor: 'fill' }, leak: { from: 'empty', to: 'leaking', on: 'fail' } },
})
export default [
  implement(crate, { processors: { async pack({ data, spawn }) {
    if (data.bottles < 0) return fail('slippery', 'It fell \\u001b[31mdown\\nthe stairs')
    await spawn(Array.from({ length: data.bottles }, (_, number) => ({ machine: 'bottle', data: { number } })))
    return done()
  } } }),
  implement(bottle, { processors: { fill: ({ data }) => (data.number === 7 ? fail('cracked') : done()) } }),
]
`

const cwd = jobFolder()
written(cwd, 'machines.ts', machines)
const away = newFolder()
let server: Running
let url = ''

/** One word after another, against the server or on its store file. */
async function run(where: 'server' | 'store', words: readonly string[], answer?: string): Promise<Ending> {
  const place = where === 'server' ? ['--server', url] : ['--machines', 'machines.ts']
  const running = start(where === 'server' ? away : cwd, [...words, ...place])
  running.process.stdin?.end(answer)
  return running.ending
}

before(async () => {
  server = start(cwd, ['serve', '--listen', '127.0.0.1:0', '--machines', 'machines.ts', '--json'])
  const line = await server.told(/^\{.*\}\n/)
  url = (JSON.parse(line ?? 'null') as { url: string }).url
})
after(async () => {
  server.process.kill('SIGTERM')
  const { status, err } = await server.ending
  removeFolders()
  assert.equal(status, 0, err)
})

for (const where of ['server', 'store'] as const) {
  describe(`on a ${where}`, () => {
    test('submit, watch, show, list, history, explain and report tell the same story', async () => {
      const key = `story-${where}`
      const made = await run(where, [
        'submit',
        'crate',
        '{"bottles": 10, "note": "\\u001b]0;x\\u0007"}',
        '--key',
        key,
        '--json',
      ])
      const { id } = resultIn(made) as { id: number }
      const again = resultIn(
        await run(where, ['submit', 'crate', '{"bottles": 10, "note": "\\u001b]0;x\\u0007"}', '--key', key, '--json']),
      )
      assert.deepEqual(again, { id, existing: true })

      const watched = await run(where, ['watch', String(id)])
      // One of its children failed.
      assert.equal(watched.status, 1, watched.err)
      assert.match(watched.out, new RegExp(`^crate ${id} is closed\\.\nChildren: `))

      const shown = await run(where, ['show', String(id)])
      assert.match(shown.out, /bottle +filled +9\n +leaking +1\n/)
      assert.match(shown.out, /note +\\x1b\]0;x\\x07/)
      assert.equal(
        (resultIn(await run(where, ['show', String(id), '--json'])).entity as { state: string }).state,
        'closed',
      )

      const listed = await run(where, ['list', '--parent', String(id), '--state', 'leaking'])
      assert.match(listed.out, /^id +machine +state[^\n]*\n\d+ +bottle +leaking +[^\n]*cracked\n$/)
      const failed = await run(where, ['list', '--parent', String(id), '--outcome', 'failure,attention'])
      assert.equal(failed.out, listed.out)
      const page = await run(where, ['list', '--parent', String(id), '--limit', '4'])
      assert.equal(page.out.split('\n').length, 6)
      assert.match(page.err, /^There may be more: sluice list .*--after \d+\n$/)

      const history = await run(where, ['history', String(id)])
      assert.match(history.out, /· → packing[\s\S]*packing → waiting[\s\S]*waiting → closed/)
      assert.match((await run(where, ['explain', String(id)])).out, new RegExp(`^crate ${id} is closed`))
      const report = await run(where, ['report', String(id)])
      assert.equal(report.status, 1)
      assert.match(report.out, /Why they failed\n +1 +cracked\n/)
      assert.match((await run(where, ['status'])).out, /crate \(version 1\)[\s\S]* closed +\d/)
    })

    test('what fails exits so, can be resumed, and asks before it is burnt', async () => {
      const failed = await run(where, ['submit', 'crate', '{"bottles": -1}', '--wait'])
      assert.equal(failed.status, 2, failed.err)
      assert.match(failed.out, /^crate \d+ is broken: slippery: It fell \\x1b\[31mdown\\x0athe stairs\.\n$/)
      const id = /^crate (\d+)/.exec(failed.out)?.[1] as string
      assert.match((await run(where, ['show', id])).out, /error +It fell \\x1b\[31mdown\\x0athe stairs/)

      assert.equal((await run(where, ['resume', id, '--reason', 'try again'])).status, 0)
      assert.equal((await run(where, ['watch', id, '--quiet'])).status, 2)
      assert.match((await run(where, ['history', id])).out, /mend[^\n]*try again/)

      const declined = await run(where, ['act', 'burn', id], 'n\n')
      assert.equal(declined.status, 5)
      assert.match(
        declined.err,
        new RegExp(`^Nothing will be left\\. burn ${id} all the same\\? \\[y/N\\] Nothing was done\\.\n$`),
      )
      const silent = await run(where, ['act', 'burn', id])
      assert.equal(silent.status, 5)
      const agreed = await run(where, ['act', 'burn', id, '--reason', 'cold'], 'yes\n')
      assert.equal(agreed.status, 0, agreed.err)
      assert.equal(agreed.out, `${id} is burnt.\n`)
      const refused = await run(where, ['cancel', id])
      assert.deepEqual([refused.status, refused.out], [5, ''])
      assert.match(refused.err, new RegExp(`^crate ${id} is burnt; there is no way to cancel it now\\.\n$`))
    })

    test('a hold keeps a collection back until it is released; what waits can be cancelled', async () => {
      const hold = resultIn(await run(where, ['hold', '--collection', where, '--reason', 'stocktaking', '--json'])) as {
        id: number
      }
      const { id } = resultIn(
        await run(where, ['submit', 'crate', JSON.stringify({ bottles: 1, collection: where }), '--json']),
      ) as { id: number }
      assert.match((await run(where, ['explain', String(id)])).out, /stocktaking/)
      assert.match(
        (await run(where, ['holds'])).out,
        new RegExp(`^${hold.id} +collection ${where} +by [^\n]* stocktaking\n`, 'm'),
      )
      const cancelled = await run(where, ['cancel', String(id), '--json'])
      assert.equal((resultIn(cancelled) as { action: string }).action, 'stop')
      assert.equal((await run(where, ['release', String(hold.id)])).out, `Hold ${hold.id} is released.\n`)
      assert.match((await run(where, ['holds', '--past'])).out, / ended .* stocktaking\n/)
      assert.equal((await run(where, ['release', String(hold.id)])).status, 4)
      const empty = await run(where, ['hold', '--reason', 'x'])
      assert.deepEqual(
        [empty.status, empty.err],
        [2, 'Say what is held: --collection, --label, --machine, --state, --parent or --entity.\n'],
      )
    })

    test('labels have names, ids and times are no counts, and a child is shown under its parent', async () => {
      const data = JSON.stringify({ bottles: 1, collection: `shelf-${where}` })
      const { id } = resultIn(await run(where, ['submit', 'crate', data, '--json'])) as { id: number }
      await run(where, ['watch', String(id)])
      const listed = await run(where, ['list', '--collection', `shelf-${where}`])
      assert.match(
        listed.out,
        new RegExp(`^${id} +crate +closed +collection=shelf-${where} +\\d{4}-\\d\\d-\\d\\dT[^ ]+Z\n`, 'm'),
      )
      const [child] = (
        resultIn(await run(where, ['list', '--parent', String(id), '--json'])) as { entities: { id: number }[] }
      ).entities as [{ id: number }]
      const shown = await run(where, ['show', String(child.id)])
      assert.match(shown.out, new RegExp(`^  parent +${id}$`, 'm'))
      const columns = shown.out
        .split('\n')
        .flatMap((line) => /^ {2}(?:machine|parent|lane) +/.exec(line)?.[0].length ?? [])
      assert.deepEqual([columns.length, new Set(columns).size], [3, 1], shown.out)
      const explained = await run(where, ['explain', String(id)])
      assert.match(explained.out, /^ {2}since +\d{4}-\d\d-\d\dT[^ ]+Z$/m)
      assert.doesNotMatch(explained.out, /\d,\d{3}/)
      assert.match((await run(where, ['status'])).out, /; 1 worker; /)
    })

    test('who stops watching is told how to go on, and the entity goes on', async () => {
      const hold = resultIn(
        await run(where, ['hold', '--label', `collection=w-${where}`, '--reason', 'wait', '--json']),
      ) as {
        id: number
      }
      const data = JSON.stringify({ bottles: 1, collection: `w-${where}` })
      const { id } = resultIn(await run(where, ['submit', 'crate', data, '--json'])) as { id: number }
      const place = where === 'server' ? ['--server', url] : ['--machines', 'machines.ts']
      const watching = start(where === 'server' ? away : cwd, ['watch', String(id), ...place])
      await watching.heard(/packing/)
      watching.process.kill('SIGINT')
      const { status, out } = await watching.ending
      assert.equal(status, 130)
      assert.match(out, new RegExp(`^crate ${id} is packing\\.\nGo on watching by: sluice watch ${id} `))
      await run(where, ['release', String(hold.id)])
      assert.equal((await run(where, ['watch', String(id)])).status, 0)
    })

    test('an act on many counts, asks, and tells how everybody took it', async () => {
      for (let count = 0; count < 3; count += 1) {
        await run(where, [
          'submit',
          'crate',
          JSON.stringify({ bottles: -1, collection: `many-${where}` }),
          '--wait',
          '--quiet',
        ])
      }
      const filter = [
        '--filter',
        'machine=crate',
        '--filter',
        `collection=many-${where}`,
        '--filter',
        'state=broken,closed',
      ]
      const declined = await run(where, ['act', 'burn', ...filter], 'n\n')
      assert.equal(declined.status, 5)
      assert.match(
        declined.err,
        /^3 entities match\. Nothing will be left\. burn them all\? \[y\/N\] Nothing was done\.\n$/,
      )
      const asked = await run(where, ['act', 'burn', ...filter, '--yes', '--reason', 'all of them'])
      assert.equal(asked.status, 0, asked.err)
      assert.match(asked.out, /^Walk \d+: everybody was asked\.\n +done +3\n/)
      assert.match((await run(where, ['act', 'burn', ...filter, '--yes'])).out, /^Nothing matches/)
    })

    test('counts are checked, machines are drawn', async () => {
      assert.match((await run(where, ['check', '--all'])).out, /^All counts are right \(\d+ looked at\)\.\n$/)
      assert.match((await run(where, ['repair'])).out, /^All counts are right/)
      assert.match((await run(where, ['diagram', 'crate'])).out, /stateDiagram-v2[\s\S]*packing --> waiting/)
      assert.match((await run(where, ['diagram', 'creat'])).err, /^There is no machine creat\. Known: /)
    })

    test('what is mistyped is refused in one sentence', async () => {
      const wrong: readonly [words: readonly string[], status: number, sentence: RegExp][] = [
        [['show', '987654321'], 4, /^There is no entity 987654321\.\n$/],
        [['submit', 'creat', '{}'], 4, /creat/],
        [['submit', 'crate', '{'], 2, /^The data must be JSON, @FILE or - for standard input: /],
        [['submit', 'crate', '{"bottles": "many"}'], 2, /bottles/],
        [['list', '--machine', 'crate', '--state', 'odd'], 2, /odd/],
        [['act', 'burn'], 2, /^Name the entities, or all that match/],
        [['act', 'burn', '1', '--filter', 'stat=x'], 2, /FIELD=VALUE was expected/],
        [['list', '--settled', '--open'], 2, /nothing is both/],
        [['list', '--machine', 'nope'], 2, /^There is no machine nope here\. Known: .*bottle, .*crate/],
        [['list', '--limit', '0'], 2, /--limit.* from 1 to 1,000 was expected\.$/m],
        [['submit', 'bottle', '{"number": 1}'], 5, /^bottle is a child of crate, whose processor makes it\./],
      ]
      for (const [words, status, sentence] of wrong) {
        const ending = await run(where, words)
        assert.match(ending.err, sentence, words.join(' '))
        assert.equal(ending.err.split('\n').length, 2)
        assert.deepEqual([ending.status, ending.out], [status, ''], words.join(' '))
        const told = resultIn(await run(where, [...words, '--json'])) as { error: string; code: string; exit: number }
        assert.deepEqual([`${told.error}\n`, told.exit], [ending.err, status])
        assert.match(told.code, /^[a-z_]+$/)
      }
    })
  })
}

describe('watching all', () => {
  test('every change is told, until Ctrl-C', async () => {
    // From the beginning of the feed on, so that nothing depends on who was there first.
    const watching = start(away, ['watch', '--server', url, '--json', '--after', '0'])
    const plain = start(away, ['watch', '--server', url])
    await plain.heard(/Ctrl-C ends it/)
    const { id } = resultIn(await run('server', ['submit', 'crate', '{"bottles": 0}', '--json'])) as { id: number }
    await plain.told(new RegExp(`Z  ${id}  waiting → closed`))
    await watching.told(new RegExp(`"entity":${id},[^\n]*"to":"closed"`))
    for (const running of [watching, plain]) {
      running.process.kill('SIGINT')
      assert.equal((await running.ending).status, 0)
    }
  })
})

describe('tokens', () => {
  test('made once, shown once, kept as a digest; whoever has none is turned away', async () => {
    const made = await run('server', ['token', 'create', '--name', 'ann', '--role', 'admin'])
    assert.match(made.out, /^slc_[\w-]{43}\n$/)
    const tokens = readFileSync(join(cwd, 'sluice-server', 'tokens.json'), 'utf8')
    assert.ok(!tokens.includes(made.out.trim()))
    const without = await run('server', ['status'])
    assert.deepEqual([without.status, without.out], [3, ''])
    written(away, 'token', made.out)
    const list = await run('server', ['token', 'list', '--token-file', 'token'])
    assert.match(list.out, /ann +admin +all /)
    const byVariable = start(away, ['status', '--server', url], [], { SLUICE_TOKEN: made.out.trim() })
    assert.equal((await byVariable.ending).status, 0)
    const wrong = start(away, ['status', '--server', url], [], { SLUICE_TOKEN: `slc_${'A'.repeat(43)}` })
    assert.equal((await wrong.ending).status, 3)
    // Here, on the file itself, nobody is asked.
    const revoked = start(cwd, ['token', 'revoke', 'ann'])
    assert.equal((await revoked.ending).status, 0)
    const twice = start(cwd, ['token', 'revoke', 'ann'])
    assert.deepEqual((await twice.ending).err, 'There is no token ann.\n')
  })

  test('a server and a store at once are refused', async () => {
    const both = start(cwd, ['status', '--server', url, '--store', 'sluice.db'])
    assert.match((await both.ending).err, /^Name a server or a store, not both/)
  })
})

test('who looks without the machines is told what cannot be known, not that there is nothing', async () => {
  const submitted = await run('server', ['submit', 'crate', '{"bottles": 10}', '--wait', '--json'])
  const { id } = resultIn(submitted).entity as { id: number }
  const look = (...words: readonly string[]) => start(cwd, words).ending
  const unknown = (name: string) => new RegExp(`Which outcome a state of .*${name}@1 is, is not known here.*--machines`)
  const watched = await look('watch', String(id))
  assert.equal(watched.status, 1)
  assert.match(watched.err, unknown('crate'))
  assert.match((await look('list', '--outcome', 'success')).err, unknown('crate'))
  assert.match((await look('list', '--parent', String(id), '--outcome', 'failure')).err, unknown('bottle'))
  assert.match((await look('explain', String(id))).out, /does not know machine crate@1, so it cannot tell/)
  const known = await run('store', ['list', '--parent', String(id), '--outcome', 'failure'])
  assert.deepEqual([known.err, /leaking/.test(known.out)], ['', true])
})
