import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareDiagram, comparisonReport, parseMermaid, readLabel } from './diagram.ts'
import { type MermaidSubject, toMermaid } from './mermaid.ts'

const upload: MermaidSubject = {
  name: 'upload',
  version: 1,
  initial: ['uploaded'],
  settled: ['validated', 'failed'],
  final: ['validated'],
  states: {
    uploaded: { title: 'UPLOADED', purpose: 'File stored; not yet read: {"raw"}.' },
    validated: { title: 'validated', purpose: 'File readable.' },
    failed: { title: 'failed', purpose: '' },
  },
  edges: [
    { name: 'validate_file', from: 'uploaded', to: 'validated', on: 'done', processor: 'readFile', ensure: ['valid'] },
    { name: 'fail', from: 'uploaded', to: 'failed', on: 'fail', assign: 'recordFailure' },
    { name: 'retry_batch', from: 'failed', to: 'uploaded', on: 'action', when: ['retryable', 'recent'] },
    { name: 'give_up', from: 'failed', to: 'failed', on: 'time' },
  ],
}

test('a machine is drawn with title, states, causes, and what runs on each edge', () => {
  assert.equal(
    toMermaid(upload),
    `---
title: upload (version 1)
---
stateDiagram-v2
  state "UPLOADED" as uploaded
  uploaded : File stored#59; not yet read#58; #123;#34;raw#34;#125;.
  state "validated" as validated
  validated : File readable.
  state "failed" as failed
  [*] --> uploaded
  uploaded --> validated : validate_file (readFile + valid) [done]
  uploaded --> failed : fail (recordFailure) [fail]
  failed --> uploaded : retry_batch (retryable + recent) [action]
  failed --> failed : give_up [time]
  validated --> [*]
  failed --> [*]
  classDef settled stroke-dasharray: 4 2
  class failed settled
`,
  )
})

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,6}){0,2}$/)

const machines: fc.Arbitrary<MermaidSubject> = fc.uniqueArray(word, { minLength: 1, maxLength: 8 }).chain((names) => {
  const state = fc.constantFrom(...names)
  const edge = fc.record(
    {
      name: word,
      from: state,
      to: state,
      on: fc.constantFrom('claim', 'done', 'retry', 'poll', 'fail', 'gate', 'children', 'time', 'action'),
      processor: word,
      when: fc.array(word, { maxLength: 2 }),
      ensure: fc.array(word, { maxLength: 2 }),
      assign: word,
    },
    { requiredKeys: ['name', 'from', 'to', 'on'] },
  )
  return fc.record({
    name: word,
    version: fc.nat(),
    initial: fc.uniqueArray(state, { minLength: 1 }),
    settled: fc.uniqueArray(state),
    final: fc.uniqueArray(state),
    // Titles and purposes are people's words: any text at all must leave the edges as they are.
    states: fc
      .tuple(
        ...names.map((name) =>
          fc
            .record({ title: fc.string({ unit: 'binary' }), purpose: fc.string() })
            .map((text) => [name, text] as const),
        ),
      )
      .map((entries) => Object.fromEntries(entries)),
    edges: fc.array(edge, { maxLength: 12 }),
  })
})

test('what is drawn reads back as the same states, edges, beginnings and ends', () => {
  fc.assert(
    fc.property(machines, (machine) => {
      const diagram = parseMermaid(toMermaid(machine))
      assert.equal(diagram.title, `${machine.name} (version ${machine.version})`)
      assert.deepEqual(diagram.states, Object.keys(machine.states))
      assert.deepEqual(diagram.initial, machine.initial)
      const ends = [...new Set([...machine.final, ...machine.settled])]
      assert.deepEqual(diagram.final, ends)
      assert.deepEqual(
        diagram.edges.map(({ from, to, label }) => ({ from, to, ...readLabel(label) })),
        machine.edges.map(({ from, to, name, on, processor, when = [], ensure = [], assign }) => ({
          from,
          to,
          name,
          parts: [...(processor ? [processor] : []), ...when, ...ensure, ...(assign ? [assign] : [])],
          cause: on,
        })),
      )
      assert.equal(
        comparisonReport('itself', compareDiagram({ ...machine, settled: ends }, diagram, [], { names: true })),
        '',
      )
    }),
  )
})
