import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { factsOf, isNewer } from '../catalogue/newness.ts'
import { defaultElementLimits, type Form, forms } from '../files/file-fault.ts'
import { FileWalk, type FoundItem } from '../files/file-walk.ts'
import { FileRepeats, type Repeat } from './file-repeats.ts'

/** Ids in no order, some of them again and again with other scores, and elements that are no items. */
const elements = Array.from({ length: 4_000 }, (_, index) => {
  if (index % 50 === 49) return 'null'
  const id = index % 3 === 0 ? 7 : 1 + ((index * 7_919) % 2_500)
  return JSON.stringify({ id, type: 'story', score: (index * 31) % 100 })
})

function written(context: TestContext, form: Form, texts: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-repeats-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  const content = { array: `[${texts.join(',')}]`, lines: texts.join('\n'), concatenated: texts.join('') }[form]
  writeFileSync(path, content)
  return { path, folder, limits: defaultElementLimits }
}

/** The repeats by index in the file, as one walk in groups of this size finds them. */
function walk(options: ReturnType<typeof written>, limit: number, from = 0): Map<number, Repeat['earlier']> {
  const found = new Map<number, Repeat['earlier']>()
  const walk = new FileWalk(options.path, null, options.limits)
  let repeats: FileRepeats | null = null
  for (let more = true; more; ) {
    const items: FoundItem[] = []
    const group = walk.next(limit, items)
    more = group.next !== null
    if (group.first < from) continue
    if (!repeats) {
      repeats = new FileRepeats(options)
      // As after a restart: nothing is known of what comes before the cursor.
      while (repeats.catchUp({ form: 'lines', offset: 0, index: group.first, ended: false }));
    }
    const once: Repeat[] = repeats.of(group, items)
    const again: Repeat[] = repeats.of(group, items)
    assert.deepEqual(again, once, 'a group that is asked for again has other repeats')
    for (const { position, earlier } of once) found.set(group.first + position, { ...earlier })
  }
  repeats?.close()
  walk.close()
  return found
}

for (const form of forms) {
  test(`${form}: each repeated id is given the newest of the elements before it, also after a restart`, (context) => {
    const options = written(context, form, elements)
    const expected = new Map<number, Repeat['earlier']>()
    const newest = new Map<number, Repeat['earlier']>()
    elements.forEach((text, index) => {
      const { id, type, score } = (JSON.parse(text) ?? {}) as { id?: number; type: 'story'; score: number }
      if (id === undefined) return
      const facts = factsOf({ hnId: id, type, score })
      const earlier = newest.get(id)
      if (earlier) expected.set(index, earlier)
      if (!earlier || isNewer(facts, earlier)) newest.set(id, { index, ...facts })
    })
    assert.deepEqual(walk(options, 100), expected)
    assert.deepEqual(walk(options, 1_000), expected)
    const late = new Map([...expected].filter(([index]) => index >= 2_300))
    assert.deepEqual(walk(options, 100, 2_300), late)
    assert.deepEqual(readdirSync(options.folder), ['file'], 'a temporary file was left')
  })
}

test('many copies of one id, each newer than the one before', (context) => {
  const copies = Array.from({ length: 60_000 }, (_, index) => JSON.stringify({ id: 5, type: 'story', score: index }))
  const found = walk(written(context, 'lines', copies), 1_000)
  assert.equal(found.size, copies.length - 1)
  assert.equal(found.get(59_999)?.index, 59_998)
})
