import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { plant } from './planted/bug.ts'
import { bugs } from './planted/bugs.ts'
import { byFile, complaintOf, run } from './planted/run.ts'

/** The harness counts as proven with so many; more are welcome. */
const bugsMin = 169

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

describe('the list of planted bugs', () => {
  test(`has ${bugsMin} and more, each with a name of its own`, () => {
    assert.ok(bugs.length >= bugsMin, `${bugs.length} are listed`)
    assert.equal(new Set(bugs.map((bug) => bug.name)).size, bugs.length)
  })

  for (const bug of bugs) {
    test(`${bug.name} fits its source`, () => assert.notEqual(plant(bug, read(bug.file)), read(bug.file)))
  }

  test('a bug that does not fit its source, or fits it twice, is refused', () => {
    const [bug] = bugs
    assert.ok(bug)
    for (const source of ['', `${bug.find}\n${bug.find}`]) assert.throws(() => plant(bug, source), /is stale/)
  })
})

// Each run is a process of its own, two at a time.
describe('planted bugs', { concurrency: 2 }, () => {
  let caught = 0
  after(() => console.log(`${caught} of ${bugs.length} planted bugs caught`))

  for (const [file, tests] of byFile(bugs.map((bug) => bug.caughtBy))) {
    test(`without a bug, what catches them in ${file} passes`, async () => {
      const { endings, exit, output } = await run(file, tests, null)
      assert.deepEqual(
        endings.filter((ending) => !ending.passed),
        [],
        output,
      )
      assert.ok(
        endings.length >= tests.length,
        `of ${tests.length} tests that catch bugs, ${endings.length} were found`,
      )
      assert.equal(exit, 0, output)
    })
  }

  for (const bug of bugs) {
    test(`${bug.name}: caught by ${bug.caughtBy.layer}`, async () => {
      assert.equal(complaintOf(bug, await run(bug.caughtBy.file, [bug.caughtBy.test], bug)), null)
      caught += 1
    })
  }
})
