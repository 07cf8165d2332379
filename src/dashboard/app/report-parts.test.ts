import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { reportParts } from './report-parts.ts'

test('numbers at the top are figures; numbers under a name are counts; rows are tables', () => {
  assert.deepEqual(
    reportParts({
      lines: 5,
      refusedBy: { bad_id: 2, structure: 3 },
      types: { Patient: { created: 1 }, Condition: { created: 2 } },
      files: [
        { file: 'a', lines: 3 },
        { file: 'b', refused: 1 },
      ],
      notes: ['one', 2],
      none: [],
    }),
    [
      { kind: 'figures', title: '', figures: [['lines', 5]] },
      {
        kind: 'counts',
        title: 'refusedBy',
        counts: [
          ['bad_id', 2],
          ['structure', 3],
        ],
      },
      {
        kind: 'table',
        title: 'types',
        columns: ['name', 'created'],
        rows: [
          { name: 'Patient', created: 1 },
          { name: 'Condition', created: 2 },
        ],
        more: 0,
      },
      {
        kind: 'table',
        title: 'files',
        columns: ['file', 'lines', 'refused'],
        rows: [
          { file: 'a', lines: 3 },
          { file: 'b', refused: 1 },
        ],
        more: 0,
      },
      { kind: 'list', title: 'notes', items: ['one', '2'], more: 0 },
    ],
  )
})

test('a report that is one value is one figure', () => {
  assert.deepEqual(reportParts('all is counted'), [
    { kind: 'figures', title: '', figures: [['result', 'all is counted']] },
  ])
})

test('a long table says how much more there is', () => {
  const [part] = reportParts({ files: Array.from({ length: 250 }, (_, index) => ({ index })) })
  assert.equal(part?.kind === 'table' && part.rows.length + part.more, 250)
})

test('any JSON gives parts, and not too many', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      for (const part of reportParts(value)) {
        if (part.kind === 'table') assert.ok(part.rows.length <= 100 && part.columns.length <= 12)
      }
    }),
  )
})
