import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compareDiagram,
  compareEdges,
  comparisonReport,
  type Deviation,
  parseDeviations,
  parseMermaid,
  parseTransitionHeadings,
  parseTransitionList,
  readLabel,
  stateName,
} from './diagram.ts'
import { isSluiceError } from './errors.ts'

const invalid = (pattern: RegExp) => (error: unknown) => isSluiceError(error, 'invalid') && pattern.test(error.message)

test('names of states are lower_snake of whatever the source wrote', () => {
  const written = ['UpdateReporting', 'IN_PROGRESS', 'DELETED', 'Automatic Cleanup', 'update-reporting', 'HNItem', 'a1']
  assert.deepEqual(written.map(stateName), [
    'update_reporting',
    'in_progress',
    'deleted',
    'automatic_cleanup',
    'update_reporting',
    'hn_item',
    'a1',
  ])
  for (const name of written.map(stateName)) assert.equal(stateName(name), name, 'a name is its own name')
})

test('a label names the transition, what runs on it, and its cause', () => {
  assert.deepEqual(readLabel('validate (read + valid) [done]'), {
    name: 'validate',
    parts: ['read', 'valid'],
    cause: 'done',
  })
  assert.deepEqual(readLabel('auto_upload (UploadBatchInitProcessor)'), {
    name: 'auto_upload',
    parts: ['UploadBatchInitProcessor'],
    cause: null,
  })
  assert.equal(readLabel('on poll (count chunks)'), null)
})

describe('a Mermaid diagram', () => {
  test('gives title, states, edges, beginnings and ends', () => {
    const diagram = parseMermaid(`
---
title: A job
---
stateDiagram-v2
  direction LR
  %% a remark
  state "WAITING" as waiting
  waiting : Not yet begun.
  [*] --> waiting : on create
  waiting --> RUNNING: start\\n at once
  note left of RUNNING
    waiting --> lost : inside a note this is prose
  end note
  note right of RUNNING : short
  RUNNING-->DONE
  DONE --> [*]
  class DONE settled
`)
    assert.deepEqual(diagram, {
      title: 'A job',
      states: ['waiting', 'running', 'done'],
      edges: [
        { from: 'waiting', to: 'running', label: 'start at once' },
        { from: 'running', to: 'done', label: '' },
      ],
      initial: ['waiting'],
      final: ['done'],
    })
  })

  test('loses its choice nodes, and each edge keeps the guard that it passed', () => {
    const { states, edges } = parseMermaid(`stateDiagram-v2
      state first <<choice>>
      a --> first : on poll
      first --> b : if good
      first --> second : if unsure
      second --> a : still unsure
      second --> c
      state second <<choice>>`)
    assert.deepEqual(states, ['a', 'b', 'c'])
    assert.deepEqual(edges, [
      { from: 'a', to: 'b', label: 'on poll', guard: 'if good' },
      { from: 'a', to: 'a', label: 'on poll', guard: 'if unsure, still unsure' },
      { from: 'a', to: 'c', label: 'on poll', guard: 'if unsure' },
    ])
  })

  test('may begin and end through a choice', () => {
    const { initial, final, edges } = parseMermaid(`stateDiagram-v2
      state kind <<choice>>
      [*] --> kind
      kind --> a : small
      kind --> b : large
      a --> [*]`)
    assert.deepEqual({ initial, final, edges }, { initial: ['a', 'b'], final: ['a'], edges: [] })
  })

  test('a choice that is used under another name needs an alias', () => {
    const text = `stateDiagram-v2
      state do_report <<choice>>
      a --> do_reduction
      do_reduction --> b : success`
    assert.throws(() => parseMermaid(text), invalid(/do_report has no way in or no way out/))
    const { states, edges } = parseMermaid(text, { do_report: 'do_reduction' })
    assert.deepEqual(states, ['a', 'b'])
    assert.deepEqual(edges, [{ from: 'a', to: 'b', label: '', guard: 'success' }])
  })

  test('is refused with the line that is not understood', () => {
    assert.throws(() => parseMermaid('flowchart LR\n a --> b'), invalid(/Line 1 .*stateDiagram-v2/))
    assert.throws(() => parseMermaid(''), invalid(/stateDiagram-v2/))
    assert.throws(() => parseMermaid('stateDiagram-v2\n a -> b'), invalid(/Line 2 .*a -> b/))
    assert.throws(() => parseMermaid('stateDiagram-v2\n state a {\n b --> c\n }'), invalid(/Line 2/))
    assert.throws(() => parseMermaid('stateDiagram-v2\n note left of a\n a --> b'), invalid(/end note/))
    assert.throws(() => parseMermaid('---\ntitle: endless'), invalid(/front matter/))
    const circle = 'stateDiagram-v2\n state x <<choice>>\n state y <<choice>>\n a --> x\n x --> y\n y --> x'
    assert.throws(() => parseMermaid(circle), invalid(/circle: x, y, x/))
  })
})

test('a transition list is read bullet by bullet; what is indented below only explains', () => {
  const diagram = parseTransitionList(`### State Transitions
- (None) --> Pending
  - status = Pending --> nothing
- Held  --> UpdateReporting (admin function)
`)
  assert.deepEqual(diagram, {
    title: null,
    states: ['pending', 'held', 'update_reporting'],
    edges: [{ from: 'held', to: 'update_reporting', label: 'admin function' }],
    initial: ['pending'],
    final: [],
  })
  assert.throws(() => parseTransitionList('- Pending -> Held'), invalid(/Line 1 .*Pending -> Held/))
  assert.throws(() => parseTransitionList('Pending --> Held'), invalid(/Line 1/))
})

test('transition headings are picked out of a document by their noun', () => {
  const text = `# Details
## Job: Held --> Pending (Admin Action)
Some prose: Job: a --> b
### Job: Downloading --> Failed (downloading)
## Job: Completed --> DELETED (Automated Task)
# DELETE /jobs/jid0001/lock
## Batch: Failed --> UpdateReporting (Admin Action)
### Batch: Pending to Held
## Batch: Acquire Pending Batch
## Batch: API Call Triggers the Creation of a Batch
## Batch: Completed --> Automatic Cleanup
`
  const edges = (noun: string, aliases = {}) =>
    parseTransitionHeadings(text, noun, aliases).edges.map(({ from, to, label }) => `${from} ${to} ${label}`.trim())
  assert.deepEqual(edges('Job'), [
    'held pending Admin Action',
    'downloading failed downloading',
    'completed deleted Automated Task',
  ])
  assert.deepEqual(edges('Batch', { automatic_cleanup: 'deleted' }), [
    'failed update_reporting Admin Action',
    'pending held',
    'completed deleted',
  ])
  assert.throws(() => edges('Chunk'), invalid(/Chunk: From --> To/))
})

describe('deviations', () => {
  test('are the rows of one table', () => {
    const rows = parseDeviations(`# Deviations
| word | means |
|---|---|
| missing | drawn only |

| diagram | edge | what | reason |
|---|---|---|---|
| 000-job | \`queued --> cancelled\` | extra | Cancel works from every non-final state. |
| 003-upload-batch | \`uploaded --> failed : fail\` | extra | A processor fails by itself. |
| 004-job | \`[*] --> failed\` | missing | Pending first. |
`)
    assert.deepEqual(rows, [
      {
        diagram: '000-job',
        from: 'queued',
        to: 'cancelled',
        what: 'extra',
        reason: 'Cancel works from every non-final state.',
      },
      {
        diagram: '003-upload-batch',
        from: 'uploaded',
        to: 'failed',
        name: 'fail',
        what: 'extra',
        reason: 'A processor fails by itself.',
      },
      { diagram: '004-job', from: '[*]', to: 'failed', what: 'missing', reason: 'Pending first.' },
    ])
  })

  test('must be complete', () => {
    const table = (row: string) => `| diagram | edge | what | reason |\n|---|---|---|---|\n${row}`
    assert.deepEqual(parseDeviations(table('')), [])
    assert.throws(() => parseDeviations('no table'), invalid(/columns/))
    assert.throws(() => parseDeviations(table('| x | a to b | extra | Why. |')), invalid(/Line 3 .*second cell/))
    assert.throws(
      () => parseDeviations(table('| x | a --> b | changed | Why. |')),
      invalid(/neither missing nor extra/),
    )
    assert.throws(() => parseDeviations(table('| x | a --> b | extra | |')), invalid(/reason/))
  })
})

describe('a comparison', () => {
  const machine = {
    initial: ['a'],
    settled: ['c', 'd'],
    edges: [
      { name: 'go', from: 'a', to: 'b' },
      { name: 'end', from: 'b', to: 'c' },
      { name: 'fail', from: 'b', to: 'd' },
      { name: 'mark_failed', from: 'b', to: 'd' },
    ],
  }
  const diagram = parseMermaid(`stateDiagram-v2
    [*] --> a
    a --> b : go
    b --> c : end [done]
    b --> d : mark_failed [action]
    c --> [*]
    d --> [*]`)
  const deviation = (what: Deviation['what'], from: string, to: string, name?: string): Deviation => ({
    diagram: 'x',
    from,
    to,
    ...(name ? { name } : {}),
    what,
    reason: 'Decided.',
  })

  test('finds nothing where both have the same edges', () => {
    assert.equal(comparisonReport('x', compareDiagram(machine, diagram, [])), '')
  })

  test('by names tells apart two edges between the same states', () => {
    assert.equal(
      comparisonReport('x', compareDiagram(machine, diagram, [], { names: true })),
      'The machine has b --> d : fail, but x does not draw it.',
    )
    const rows = [deviation('extra', 'b', 'd', 'fail')]
    assert.equal(comparisonReport('x', compareDiagram(machine, diagram, rows, { names: true })), '')
  })

  test('names every missing edge, extra edge, beginning and end', () => {
    const other = {
      initial: ['b'],
      settled: ['c'],
      edges: [...machine.edges.slice(1), { name: 'back', from: 'b', to: 'a' }],
    }
    assert.deepEqual(comparisonReport('x', compareDiagram(other, diagram, [])).split('\n'), [
      'x draws [*] --> a, but the machine has no such edge.',
      'x draws a --> b, but the machine has no such edge.',
      'x draws d --> [*], but the machine has no such edge.',
      'The machine has [*] --> b, but x does not draw it.',
      'The machine has b --> a : back, but x does not draw it.',
    ])
  })

  test('does not ask for beginnings and ends where the source shows none', () => {
    const list = parseTransitionList('- a --> b\n- b --> c\n- b --> d')
    assert.equal(comparisonReport('x', compareDiagram(machine, list, [])), '')
  })

  test('accepts a deviation in its own direction only, and reports a row that excuses nothing', () => {
    const edges = machine.edges.slice(1)
    assert.deepEqual(compareEdges(edges, diagram.edges, [deviation('missing', 'a', 'b')]), {
      missing: [],
      extra: [],
      unusedDeviations: [],
    })
    const wrongWay = compareEdges(edges, diagram.edges, [deviation('extra', 'a', 'b')])
    assert.deepEqual(comparisonReport('x', wrongWay).split('\n'), [
      'x draws a --> b, but the machine has no such edge.',
      'The deviation "extra" of a --> b excuses nothing: remove its row.',
    ])
  })
})
