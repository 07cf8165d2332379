import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ElementScanner, marks } from './element-scanner.ts'
import type { Cursor, Form } from './file-fault.ts'
import { detectForm } from './form.ts'

interface Scan {
  readonly form: Form | null
  readonly elements: readonly string[]
  readonly marks: readonly number[]
  readonly fault: string | null
}

/** Scans a text whose chunks end at the given offsets, with room for `capacity` elements at a time. */
function scan(source: string | Buffer, cuts: readonly number[] = [], capacity = 3): Scan {
  const bytes = Buffer.from(source as string)
  const begun = detectForm({ bytes, offset: 0, whole: true })
  if (!('form' in begun)) return { form: null, elements: [], marks: [], fault: begun.reason }
  const scanner = new ElementScanner(begun, { capacity, limits: { itemBytesMax: 1_000, depthMax: 5 } })
  const elements: string[] = []
  const found: number[] = []
  const drain = () => {
    for (let index = 0; index < scanner.found; index += 1) {
      const start = scanner.starts[index]!
      elements.push(bytes.toString('utf8', start, start + scanner.lengths[index]!))
      found.push(scanner.marks[index]!)
    }
    scanner.take()
  }
  const ends = [...cuts.filter((cut) => cut > begun.offset && cut < bytes.length), bytes.length].sort((a, b) => a - b)
  let from = begun.offset
  for (const end of ends) {
    // Each chunk is a copy with rubbish around it: only the bytes that were named may be looked at.
    const chunk = Buffer.concat([Buffer.from('"}\n'), bytes.subarray(from, end), Buffer.from('"]\n')])
    for (let at = 3; at < chunk.length - 3 && scanner.fault === null; ) {
      at = scanner.feed(chunk, at, chunk.length - 3)
      drain()
    }
    from = end
  }
  scanner.finish()
  drain()
  return { form: begun.form, elements, marks: found, fault: scanner.fault?.reason ?? null }
}

const elementsOf = (source: string) => scan(source).elements

describe('forms', () => {
  const a = '{"id":1}'
  const b = '{"id":2}'
  const cases: readonly (readonly [string, Form, readonly string[]])[] = [
    ['[]', 'array', []],
    [`[${a}]`, 'array', [a]],
    [` [ ${a} ,\n${b} ] \n`, 'array', [a, b]],
    [`\uFEFF[${a},null,${b}]`, 'array', [a, 'null', b]],
    ['[1,"a,]",true,[1,2],{}]', 'array', ['1', '"a,]"', 'true', '[1,2]', '{}']],
    [a, 'concatenated', [a]],
    [`${a}\n`, 'concatenated', [a]],
    [`${a}${b}`, 'concatenated', [a, b]],
    [`null${a}nullnull ${b}`, 'concatenated', ['null', a, 'null', 'null', b]],
    ['{\n "id": 1\n}\n{\n "id": 2\n}', 'concatenated', ['{\n "id": 1\n}', '{\n "id": 2\n}']],
    [`${a}\n{\n "id": 2\n}\n`, 'concatenated', [a, '{\n "id": 2\n}']],
    ['{\n "id": 1\n}\n{"id":2}\n', 'concatenated', ['{\n "id": 1\n}', b]],
    [`${a}\n${b}`, 'lines', [a, b]],
    [`\uFEFF${a}\r\n\r\n  ${b}\r\n\n`, 'lines', [a, b]],
    [`null\n${a}\n`, 'lines', ['null', a]],
    [`${a}\n${b}null${a}\n`, 'lines', [a, b, 'null', a]],
    [`{"id":1,"text":"cut\n${b}\n${a}\n`, 'lines', ['{"id":1,"text":"cut', b, a]],
    [`{"id":1,"a":{\n${b}}}\n${b}\n`, 'lines', ['{"id":1,"a":{', b, '}}', b]],
    [`what is this\n${b}\n`, 'lines', ['what is this', b]],
    [`"header"\n${b}\n`, 'lines', ['"header"', b]],
  ]
  for (const [source, form, elements] of cases) {
    test(JSON.stringify(source), () => {
      const result = scan(source)
      assert.deepEqual([result.form, result.elements, result.fault], [form, elements, null])
    })
  }
})

describe('one bad element does not lose the others', () => {
  test('in an array, what lies between two commas', () => {
    assert.deepEqual(elementsOf('[{"id":1},{id:2},{"id":3} {"id":4},,nonsense,{"id":5},]'), [
      '{"id":1}',
      '{id:2}',
      '{"id":3} {"id":4}',
      '',
      'nonsense',
      '{"id":5}',
      '',
    ])
  })
  test('in lines, the rest of the line', () => {
    assert.deepEqual(elementsOf('{"id":1}\n{"id":2,"kids":[1}\n{"a":"x\n{"id":3},\n}\n{"id":4}\n'), [
      '{"id":1}',
      '{"id":2,"kids":[1}',
      '{"a":"x',
      '{"id":3}',
      ',',
      '}',
      '{"id":4}',
    ])
  })
  test('in concatenated objects, a balanced element or a scalar', () => {
    assert.deepEqual(elementsOf('{"id":1}{id:2}5 "a"true{"id":3}'), [
      '{"id":1}',
      '{id:2}',
      '5',
      '"a"',
      'true',
      '{"id":3}',
    ])
  })
})

describe('faults of the file', () => {
  const cases: readonly (readonly [string | Buffer, string, number])[] = [
    ['', 'empty file', 0],
    [' \n\t\r\n', 'only whitespace', 0],
    ['\uFEFF', 'only whitespace', 0],
    ['"text"', 'wrong type at the top', 0],
    ['"never closed', 'wrong type at the top', 0],
    ['12.5e3', 'wrong type at the top', 0],
    ['-1\n', 'wrong type at the top', 0],
    ['true', 'wrong type at the top', 0],
    ['false ', 'wrong type at the top', 0],
    ['<!DOCTYPE html><html></html>', 'not JSON: HTML', 0],
    ['<?xml version="1.0"?>', 'not JSON: XML', 0],
    ['id,type,by\n1,story,pg\n', 'not JSON: CSV', 0],
    ['"id","type"\n"1","story"\n', 'not JSON: CSV', 0],
    ['1,story,pg\n2,story,pg\n', 'not JSON: CSV', 0],
    ['Once upon a time', 'not JSON: plain text', 0],
    ['nothing at all', 'not JSON: plain text', 0],
    [Buffer.from([0x50, 0x4b, 3, 4, 0, 0]), 'not JSON: a zip archive', 0],
    [Buffer.from([0x1f, 0x8b, 8, 0]), 'not JSON: gzip', 0],
    [Buffer.from([0, 1, 2, 3, 4, 255]), 'not JSON: binary data', 0],
    [Buffer.from('\uFEFF[{"id":1}]', 'utf16le'), 'not JSON: text in UTF-16', 0],
    ['[', 'truncated', 0],
    ['[{"id":1},{"id":2}', 'truncated', 2],
    ['[{"id":1},{"id":2},', 'truncated', 2],
    ['[{"id":1},{"id":2', 'truncated', 1],
    ['[{"id":1},{"id":2,"by":"a', 'truncated', 1],
    ['{"id":1}{"id":2', 'truncated', 1],
    ['{"id":1}\n{"id":2}\n{"id', 'truncated', 2],
    ['[{"id":1},{"kids":[1}]', 'unbalanced', 1],
    ['[{"id":1}}]', 'unbalanced', 0],
    ['{"id":1}{"kids":[1}]', 'unbalanced', 1],
    ['[{"id":1}] x', 'more after the array', 1],
    ['[{"id":1}][{"id":2}]', 'more after the array', 1],
    ['{"id":1},{"id":2}', 'comma between elements', 1],
    ['{"id":1}{"id":2} <br>', 'text between elements', 2],
    ['{"id":1}\0{"id":2}', 'NUL byte', 1],
  ]
  for (const [source, reason, count] of cases) {
    test(`${reason}: ${JSON.stringify(source.toString())}`, () => {
      const result = scan(source)
      assert.deepEqual([result.fault, result.elements.length], [reason, count])
    })
  }

  test('a fault says where and how much came before', () => {
    const bytes = Buffer.from('[{"id":1},{"id":2}] x')
    const scanner = new ElementScanner(detectForm({ bytes, offset: 0, whole: true }) as Cursor, { capacity: 8 })
    scanner.feed(bytes, 1, bytes.length)
    assert.deepEqual(scanner.fault, {
      reason: 'more after the array',
      message: 'The array has ended, but "x" follows at byte 20. 2 complete elements came before.',
      offset: 20,
      elements: 2,
    })
  })
})

test('in a long text, backslashes before a quote count in pairs', () => {
  const long = 'y'.repeat(200)
  const elements = ['', '\\\\', '\\"', '\\\\\\"', `\\\\\\"${long}\\\\`].map((end) => `{"text":"${long}${end}"}`)
  for (const element of elements) JSON.parse(element)
  const source = `[${elements.join(',')}]`
  for (let cut = 2; cut < source.length; cut += 1) assert.deepEqual(scan(source, [cut]).elements, elements)
})

test('in lines, a long text that is never closed ends with its line', () => {
  const broken = `{"text":"${'y'.repeat(200)}`
  assert.deepEqual(elementsOf(`{"id":1}\n${broken}\n${broken}"}\n{"id":2}\n`), [
    '{"id":1}',
    broken,
    `${broken}"}`,
    '{"id":2}',
  ])
})

describe('marks', () => {
  const markOf = (element: string) => scan(`[${element}]`).marks[0]!
  test('the keys of the element itself, not those below it or in its texts', () => {
    assert.equal(markOf('{"id":1,"type":"story"}'), marks.id | marks.type)
    assert.equal(markOf('{"by":"id","hnId":1}'), marks.id)
    assert.equal(markOf('{"a":{"id":1,"type":2},"b":["id","type"]}'), 0)
    assert.equal(markOf('{"by":"type","text":"\\",\\"id\\":1"}'), 0)
    assert.equal(markOf('{"kids":[1,2],"type":"job"}'), marks.type)
    assert.equal(markOf('["id","type"]'), 0)
  })
  test('a key written with escapes may be any key', () => {
    assert.equal(markOf('{"\\u0069d":1}'), marks.id | marks.type)
  })
  test('too deep and too long', () => {
    assert.equal(markOf('[[[[[1]]]]]'), 0)
    assert.equal(markOf('[[[[[[1]]]]]]'), marks.tooDeep)
    assert.equal(markOf('"'.padEnd(999, 'x').concat('"')), 0)
    assert.equal(markOf('"'.padEnd(1_000, 'x').concat('"')), marks.tooLong)
  })
})

describe('properties', () => {
  const cutsOf = fc.array(fc.nat(400), { maxLength: 30 })
  const space = fc.constantFrom('', ' ', '\t', '\r\n', ' \n ')

  test('an array: the elements are those that JSON.parse sees', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 12 }),
        cutsOf,
        fc.boolean(),
        (values, cuts, pretty) => {
          const source = JSON.stringify(values, null, pretty ? 2 : 0)
          const result = scan(source, cuts)
          assert.equal(result.fault, null)
          assert.deepEqual(
            result.elements.map((text) => JSON.parse(text)),
            JSON.parse(source),
          )
          for (const [index, value] of values.entries()) {
            const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
            const hasId = isObject && (Object.hasOwn(value, 'id') || Object.hasOwn(value, 'hnId'))
            if (hasId) assert.ok((result.marks[index]! & marks.id) !== 0)
          }
        },
      ),
    )
  })

  test('objects and nulls, with any space or nothing between, one in each line or not', () => {
    const value = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), fc.constant(null))
    fc.assert(
      fc.property(fc.array(fc.tuple(value, space), { minLength: 1, maxLength: 12 }), cutsOf, (parts, cuts) => {
        const source = parts.map(([value, space]) => JSON.stringify(value) + space).join('')
        const result = scan(source, cuts)
        assert.deepEqual(
          result.elements,
          parts.map(([value]) => JSON.stringify(value)),
        )
        assert.equal(result.fault, null)
      }),
    )
  })

  test('rubbish made of the bytes that matter: every split gives the same elements, marks and fault', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '\n',
        ' ',
        'null',
        'nul',
        '1',
        'true',
        'x',
        '\0',
        '{"id":1}',
        '"type"',
        '"hnId":2',
        'y'.repeat(90),
        `"${'y'.repeat(90)}\\\\"`,
        `"${'y'.repeat(90)}\\"`,
        '\\"',
      ],
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 40 }),
        fc.array(fc.nat(600), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (pieces, cuts, capacity) => {
          for (const prefix of ['', '[', '{"id":1}\n', '{"id":1}{']) {
            const source = prefix + pieces.join('')
            assert.deepEqual(scan(source, cuts, capacity), scan(source))
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test('an array that ends early is always at fault', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 6 }), fc.nat(), (values, cut) => {
        const source = JSON.stringify(values)
        const result = scan(Buffer.from(source).subarray(0, 1 + (cut % (Buffer.byteLength(source) - 1))))
        assert.equal(result.fault, 'truncated')
      }),
    )
  })
})
