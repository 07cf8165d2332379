import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { badItems } from './fixtures/bad-items.ts'
import { oddItems } from './fixtures/odd-items.ts'
import { itemTypes, parseItem } from './hn-item.ts'

describe('odd but sound items', () => {
  for (const { name, json, item, warnings = [] } of oddItems) {
    test(name, () => {
      for (const source of [json, Buffer.from(json)]) {
        const parsed = parseItem(source)
        assert.ok(parsed.item, JSON.stringify(parsed.fault))
        assert.deepEqual(parsed.item, item)
        assert.equal(parsed.warnings.length, warnings.length)
        for (const [index, pattern] of warnings.entries()) assert.match(parsed.warnings[index]!, pattern)
      }
    })
  }
})

describe('bad items', () => {
  for (const { json, reason, message, hnId } of badItems) {
    test(`${reason}: ${JSON.stringify(json.toString().slice(0, 80))}`, () => {
      const { fault } = parseItem(json)
      assert.deepEqual([fault?.reason, fault?.hnId], [reason, hnId])
      assert.match(fault!.message, message)
      assert.ok(reason.length <= 60)
    })
  }
})

test('a time is in the future when it is more than a day from now', () => {
  const nowMs = 1_700_000_000_000
  const warningsAt = (time: number) => {
    const parsed = parseItem(`{"id":1,"type":"job","time":${time}}`, { nowMs })
    assert.ok(parsed.item)
    return parsed.warnings
  }
  assert.deepEqual(warningsAt(1_700_086_400), [])
  assert.match(String(warningsAt(1_700_086_401)), /future/)
})

test('no key touches a prototype', () => {
  parseItem('{"id":1,"type":"job","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
  const { item } = parseItem('{"id":1,"type":"job","constructor":{"prototype":{"polluted":1}}}')
  assert.equal(Object.getPrototypeOf(item), Object.prototype)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('every sound item is read as it was written', () => {
  const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  const number = fc.maxSafeInteger()
  const item = fc.record(
    {
      hnId: id,
      type: fc.constantFrom(...itemTypes),
      by: fc.string({ unit: 'grapheme' }),
      time: fc.integer({ min: 1, max: 1_700_000_000 }),
      text: fc.string({ unit: 'binary' }),
      url: fc.webUrl(),
      score: number,
      title: fc.string(),
      descendants: number,
      kids: fc.array(id, { maxLength: 5 }),
      poll: id,
      parts: fc.array(id, { maxLength: 5 }),
      deleted: fc.boolean(),
      dead: fc.boolean(),
    },
    { requiredKeys: ['hnId', 'type'] },
  )
  fc.assert(
    fc.property(item, (item) => {
      const { hnId, ...rest } = item
      for (const written of [item, { id: hnId, ...rest }]) {
        const parsed = parseItem(Buffer.from(JSON.stringify(written)))
        assert.deepEqual(parsed, { item: JSON.parse(JSON.stringify(item)), warnings: [] })
      }
    }),
  )
})

test('any bytes and any JSON are read or refused, never thrown at', () => {
  const field = fc.constantFrom('id', 'hnId', 'type', 'kids', 'parent', 'time', 'by', '__proto__', 'parts', 'dead')
  const source = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc.dictionary(field, fc.jsonValue({ maxDepth: 1 })).map((value) => Buffer.from(JSON.stringify(value))),
  )
  fc.assert(
    fc.property(source, (bytes) => {
      const parsed = parseItem(bytes)
      if (parsed.item === undefined) {
        assert.ok(parsed.fault.reason.length <= 60 && parsed.fault.message.length <= 400)
      } else {
        const value = JSON.parse(bytes.toString())
        assert.equal(parsed.item.hnId, value.hnId ?? value.id)
      }
    }),
    { numRuns: 500 },
  )
})
