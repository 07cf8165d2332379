import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sampleResources } from '../sample.ts'
import { FhirDesk } from './fhir-desk.ts'

async function open(t: TestContext, options: { readonly questionsMax?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-fhir-desk-'))
  const file = join(folder, 'resources.db')
  const desk = new FhirDesk({ file, ...options })
  t.after(async () => {
    await desk.stop().catch(() => {})
    await rm(folder, { recursive: true, force: true })
  })
  return { desk, folder, file }
}

const patient = (id: string, family: string) => JSON.stringify({ resourceType: 'Patient', id, name: [{ family }] })
const linesOf = (...texts: string[]) => texts.map((text, index) => ({ line: index + 1, text }))

test('checks, stores, re-indexes, searches and hands out', async (t) => {
  const { desk } = await open(t)
  await desk.start()
  const group = {
    source: 'a.ndjson',
    key: 'chunk 1',
    index: false,
    lines: linesOf(patient('p1', 'Müller'), '{', '{"resourceType":"Patient"}'),
  }
  const first = await desk.import(group)
  assert.deepEqual(first.verdicts, ['created', 'refused', 'created'])
  assert.deepEqual(
    first.refused.map(({ line, issues }) => [line, issues[0]?.code]),
    [[2, 'not_json']],
  )
  assert.deepEqual(await desk.import(group), first, 'once more is harmless, and told the same')
  assert.deepEqual(await desk.types(), [{ type: 'Patient', resources: 2, stale: 2 }])

  const { items } = await desk.ranges({ sizeMax: 10 })
  const { items: numbers } = await desk.ids({ range: items[0]!, limit: 10 })
  assert.deepEqual(await desk.reindex(numbers), ['changed', 'changed'])
  assert.deepEqual(await desk.reindex([...numbers, 99]), ['unchanged', 'unchanged', 'missing'])
  assert.deepEqual(await desk.types(), [{ type: 'Patient', resources: 2, stale: 0 }])
  const found = await desk.search({ type: 'Patient', param: 'name', value: 'mull', limit: 10 })
  assert.deepEqual(
    found.items.map(({ id, isIndexed }) => [id, isIndexed]),
    [['p1', true]],
  )
  const served = await desk.get('Patient', 'p1')
  assert.equal((JSON.parse(served!.json) as { meta: { versionId: string } }).meta.versionId, '1')
  assert.equal(await desk.get('Patient', 'p2'), null)
  assert.equal((await desk.read(numbers))[0]?.id, 'p1')

  const page = await desk.export({ type: 'Patient', limit: 10 })
  const lines = Buffer.from(page.bytes).toString().trimEnd().split('\n')
  assert.equal(page.resources, 2)
  assert.equal(lines.length, 2)
  assert.equal(page.next, null)
  // What was handed out and comes back is what is stored.
  const back = await desk.import({ source: 'b.ndjson', index: true, lines: linesOf(...lines) })
  assert.deepEqual(back.verdicts, ['unchanged', 'unchanged'])
  assert.deepEqual(
    await desk.check([patient('ok', 'x'), '[]']).then((all) => all.map((issues) => issues.length)),
    [0, 1],
  )
})

test('a whole sample comes to what its makers say, whether it is indexed at once or later', async (t) => {
  const found = []
  for (const index of [true, false]) {
    const { desk } = await open(t)
    const options = { count: 1_500, bad: 0.1, repeated: 0.05, changed: 0.05, withoutId: 0.05 }
    const kinds: string[] = []
    const lines = []
    for (const { bytes, kind } of sampleResources(options)) {
      if (kind === 'not_utf8') continue
      kinds.push(kind)
      lines.push({ line: kinds.length, text: bytes.toString() })
    }
    const { verdicts, refused } = await desk.import({ source: 'all', key: '1', index, lines })
    const expected = { new: 'created', repeated: 'unchanged', changed: 'updated' } as Record<string, string>
    assert.deepEqual(
      verdicts,
      kinds.map((kind) => expected[kind] ?? 'refused'),
    )
    assert.deepEqual(
      refused.map(({ issues }) => issues[0]?.code),
      kinds.filter((kind) => !(kind in expected)),
    )
    const { items } = await desk.ranges({ sizeMax: 1_000 })
    for (const range of items) {
      const numbers = await desk.ids({ range, limit: 1_000 })
      const verdict = index ? 'unchanged' : 'changed'
      assert.ok((await desk.reindex(numbers.items)).every((said) => said === verdict))
    }
    assert.ok((await desk.types()).every(({ stale }) => stale === 0))
    found.push(await desk.search({ type: 'Observation', param: 'code', value: '8867-4', limit: 1_000 }))
  }
  const ids = found.map(({ items }) => items.map(({ id }) => id))
  assert.ok(ids[0]!.length > 10)
  assert.deepEqual(ids[0], ids[1])
})

test('within one reading of a source the later line counts, between two the later reading', async (t) => {
  const { desk } = await open(t)
  const put = async (reading: string, line: number, family: string) => {
    const lines = [{ line, text: patient('p1', family) }]
    return (await desk.import({ source: 'a', reading, index: false, lines })).verdicts[0]
  }
  assert.deepEqual(
    [
      await put('first', 9, 'Nine'),
      await put('first', 5, 'Five'),
      await put('second', 5, 'Six'),
      await put('first', 9, 'Ten'),
    ],
    ['created', 'superseded', 'updated', 'updated'],
  )
  const lines = [{ line: 1, text: '{"resourceType":"Patient"}' }]
  const nameless = async (reading: string) =>
    (await desk.import({ source: 'a', reading, index: false, lines })).verdicts[0]
  assert.deepEqual(
    [await nameless('first'), await nameless('second')],
    ['created', 'unchanged'],
    'ids are the source\u2019s',
  )
})

test('verdicts are told by type, and another type than the one asked for is refused', async (t) => {
  const { desk } = await open(t)
  const list = JSON.stringify({ resourceType: 'List', id: 'l', status: 'current', mode: 'working' })
  const lines = linesOf(patient('a', 'A'), list, patient('a', 'A'), '{')
  const { types, verdicts } = await desk.import({ source: 's', index: false, lines })
  assert.deepEqual(types, { Patient: { created: 1, unchanged: 1 }, List: { created: 1 } })
  assert.deepEqual(verdicts, ['created', 'created', 'unchanged', 'refused'])
  const only = await desk.import({ source: 's', index: false, type: 'List', lines })
  assert.deepEqual(only.verdicts, ['refused', 'unchanged', 'refused', 'refused'])
  assert.deepEqual(only.refused[0]?.issues, [
    { path: 'Patient', code: 'wrong_type', message: 'The resource is of type Patient; List was expected.' },
  ])
})

test('numbers that are out of date are found among the others', async (t) => {
  const { desk } = await open(t)
  await desk.import({
    source: 's',
    index: true,
    lines: linesOf(patient('a', 'A'), patient('b', 'B'), patient('c', 'C')),
  })
  await desk.import({ source: 't', index: false, lines: linesOf(patient('b', 'Other'), patient('d', 'D')) })
  for (const type of ['Patient', null]) {
    const range = { type, from: 1, to: 10 }
    assert.deepEqual((await desk.ids({ range, limit: 10, stale: true })).items, [2, 4])
    assert.deepEqual(await desk.ids({ range, limit: 1, stale: true, after: 2 }), { items: [4], next: 4 })
    assert.deepEqual((await desk.ids({ range, limit: 10 })).items, [1, 2, 3, 4])
  }
  const served = await Promise.all(['a', 'b'].map((id) => desk.get('Patient', id)))
  assert.deepEqual(
    served.map((one) => one?.isIndexed),
    [true, false],
  )
})

test('a thread that ended is replaced at the next question, and nothing is lost with it', async (t) => {
  const { desk } = await open(t)
  await desk.import({ source: 'a', index: true, lines: linesOf(patient('p1', 'One')) })
  // Told behind the desk's back: for the desk its thread has died, with a question under way.
  const stopped = desk.ask('stop', null)
  const lost = desk.types()
  await stopped
  await assert.rejects(lost, { code: /internal|conflict/ })
  assert.deepEqual(await desk.types(), [{ type: 'Patient', resources: 1, stale: 0 }])
  const again = await desk.import({ source: 'a', index: true, lines: linesOf(patient('p1', 'One')) })
  assert.deepEqual(again.verdicts, ['unchanged'])
})

test('what is wrong with the file is said at the start', async (t) => {
  const { desk, file } = await open(t)
  await mkdir(file)
  await assert.rejects(desk.start(), /resources/)
  await rm(file, { recursive: true })
  await desk.start()
})

test('an error keeps its code and its words on the way', async (t) => {
  const { desk } = await open(t)
  const search = (param: string, value: string) => desk.search({ type: 'Patient', param, value, limit: 10 })
  await assert.rejects(search('colour', 'red'), { code: 'invalid', message: /no search parameter colour.*birthdate/ })
  await assert.rejects(search('birthdate', 'red'), { code: 'invalid', message: /A date is like/ })
  await assert.rejects(desk.export({ type: 'Patient', limit: 0 }), { code: 'invalid', message: /limit/ })
  await assert.rejects(desk.import({ source: '', index: false, lines: linesOf(patient('a', 'b')) }), {
    code: 'invalid',
    message: /source/,
  })
})

test('more questions than it takes are sent away; those before are answered', async (t) => {
  const { desk } = await open(t, { questionsMax: 3 })
  const asked = [1, 2, 3].map(() => desk.types())
  await assert.rejects(desk.types(), { code: 'conflict', message: /3 questions/ })
  assert.equal((await Promise.all(asked)).length, 3)
  await desk.types()
})

test('two desks share a file', async (t) => {
  const { desk, file } = await open(t)
  const other = new FhirDesk({ file })
  t.after(() => other.stop())
  const group = (from: number) => ({
    source: `from ${from}`,
    index: true,
    lines: Array.from({ length: 200 }, (_, line) => ({ line: line + 1, text: patient(`p${from + line}`, 'Both') })),
  })
  const answers = await Promise.all(
    [0, 100, 200, 300].flatMap((from) => [desk.import(group(from)), other.import(group(from))]),
  )
  assert.equal(answers.flatMap(({ verdicts }) => verdicts).filter((verdict) => verdict === 'created').length, 500)
  assert.deepEqual(await other.types(), [{ type: 'Patient', resources: 500, stale: 0 }])
})

test('once stopped it answers no more, and may be stopped again', async (t) => {
  const { desk } = await open(t)
  const asked = desk.types()
  await Promise.all([desk.stop(), desk.stop()])
  assert.deepEqual(await asked, [], 'what was asked before is answered')
  await assert.rejects(desk.types(), { code: 'conflict', message: /stopped/ })
  const never = new FhirDesk({ file: 'nowhere' })
  await never.stop()
})
