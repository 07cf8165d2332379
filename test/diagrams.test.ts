import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  compareDiagram,
  comparisonReport,
  type Diagram,
  type DiagramSubject,
  parseDeviations,
  parseMermaid,
  readLabel,
} from '../src/diagram.ts'
import type { Machine } from '../src/machine.ts'
import { toMermaid } from '../src/mermaid.ts'
import { exportWorkflow } from '../src/workflow-json/index.ts'
import { chunkedChunk } from '../workflows/chunked/chunk-machine.ts'
import { chunkedJob } from '../workflows/chunked/job-machine.ts'
import { uploadBatch } from '../workflows/upload/batch-machine.ts'
import { type SeedDiagramName, seedDiagrams } from './seed-diagrams.ts'

/**
 * Each family adds its machines here as it arrives. `names` compares the transitions' names too, for diagrams whose
 * labels begin with one. 001 is superseded by 000 and is compared with no machine.
 */
const compared: readonly { diagram: SeedDiagramName; machine: DiagramSubject; names?: boolean }[] = [
  { diagram: '000-job', machine: chunkedJob },
  { diagram: '000-chunk', machine: chunkedChunk },
  { diagram: '003-upload-batch', machine: uploadBatch, names: true },
]

const deviations = parseDeviations(readFileSync(new URL('../diagrams/deviations.md', import.meta.url), 'utf8'))

/** One line per state, `from -> to to`: what a person can hold against the picture. Drawn twice is listed twice. */
function drawn({ initial, final, edges }: Diagram): string[] {
  const targets = Map.groupBy(edges, (edge) => edge.from)
  return [
    ...(initial.length > 0 ? [`[*] -> ${initial.join(' ')}`] : []),
    ...[...targets].map(([from, to]) => `${from} -> ${to.map((edge) => edge.to).join(' ')}`),
    ...(final.length > 0 ? [`${final.join(' ')} -> [*]`] : []),
  ]
}

describe('the seeds draw', () => {
  const expected: Readonly<Record<SeedDiagramName, { edges: number; pairs: number; lines: readonly string[] }>> = {
    '000-job': {
      edges: 16,
      pairs: 14,
      lines: [
        '[*] -> queued',
        'queued -> in_progress',
        'in_progress -> completed in_progress completed errored finalize in_progress cancelled failed',
        'errored -> failed errored finalize completed cancelled',
        'finalize -> completed failed',
        'completed failed cancelled -> [*]',
      ],
    },
    '000-chunk': {
      edges: 9,
      pairs: 9,
      lines: [
        '[*] -> ready gate_waiting poll_waiting',
        'gate_waiting -> ready',
        'poll_waiting -> ready',
        'ready -> queued',
        'queued -> in_progress',
        'in_progress -> error completed failed poll_waiting',
        'error -> in_progress',
        'completed failed -> [*]',
      ],
    },
    '001-job': {
      edges: 14,
      pairs: 12,
      lines: [
        '[*] -> queued',
        'queued -> in_progress',
        'in_progress -> completed in_progress completed errored finalize in_progress failed',
        'errored -> failed errored finalize completed',
        'finalize -> completed failed',
      ],
    },
    '001-chunk': {
      edges: 5,
      pairs: 5,
      lines: [
        '[*] -> queued',
        'queued -> in_progress',
        'in_progress -> error completed failed',
        'error -> in_progress',
        'completed failed -> [*]',
      ],
    },
    '002-job': {
      edges: 21,
      pairs: 21,
      lines: [
        'pending -> failed held estimating',
        'held -> pending deleted',
        'estimating -> provisioning',
        'provisioning -> downloading',
        'downloading -> processing failed',
        'processing -> recording failed',
        'recording -> notify failed',
        'notify -> completed failed',
        'failed -> downloading processing recording notify deleted',
        'completed -> deleted',
      ],
    },
    '002-batch': {
      edges: 12,
      pairs: 12,
      lines: [
        'pending -> held processing',
        'held -> pending deleted',
        'processing -> reporting',
        'reporting -> completed failed',
        'failed -> update_reporting deleted',
        'update_reporting -> completed failed',
        'completed -> deleted',
      ],
    },
    '003-upload-batch': {
      edges: 12,
      pairs: 12,
      lines: [
        '[*] -> initial_state',
        'initial_state -> uploaded',
        'uploaded -> validated failed',
        'validated -> extracting failed',
        'extracting -> processing failed',
        'processing -> completed partially_completed failed',
        'failed -> uploaded',
        'partially_completed -> processing',
        'completed partially_completed -> [*]',
      ],
    },
    '004-job': {
      edges: 17,
      pairs: 17,
      lines: [
        '[*] -> pending failed',
        'pending -> held estimating',
        'held -> estimating',
        'estimating -> provisioning',
        'provisioning -> downloading',
        'downloading -> processing failed',
        'processing -> recording failed',
        'recording -> completed failed',
        'failed -> estimating provisioning downloading processing recording deleted',
      ],
    },
    '004-batch': {
      edges: 10,
      pairs: 10,
      lines: [
        '[*] -> pending',
        'pending -> held processing',
        'held -> processing deleted',
        'processing -> failed reporting',
        'reporting -> failed completed',
        'failed -> processing deleted',
      ],
    },
  }

  for (const [name, diagram] of Object.entries(seedDiagrams)) {
    test(`${name}: exactly these edges`, () => {
      const { edges, pairs, lines } = expected[name as SeedDiagramName]
      assert.equal(diagram.edges.length, edges)
      assert.equal(new Set(diagram.edges.map((edge) => `${edge.from} ${edge.to}`)).size, pairs)
      assert.deepEqual(drawn(diagram), lines)
    })
  }

  test('guards and labels that the rules of the families rest on', () => {
    const edge = (name: SeedDiagramName, from: string, to: string) =>
      seedDiagrams[name].edges.filter((edge) => edge.from === from && edge.to === to)
    assert.deepEqual(edge('000-job', 'finalize', 'completed'), [
      {
        from: 'finalize',
        to: 'completed',
        label: 'poll util worker marks REDUCER chunk yes or no.',
        guard: 'success',
      },
    ])
    assert.deepEqual(
      edge('000-job', 'in_progress', 'completed').map((edge) => edge.guard),
      ['if no chunks produced', '0 failures, errored, or incomplete AND at least 1 chunk complete'],
    )
    assert.deepEqual(edge('000-chunk', 'error', 'in_progress'), [
      {
        from: 'error',
        to: 'in_progress',
        label: 'exception rollback triggers redelivery',
        guard: 'start execution',
      },
    ])
    assert.equal(edge('002-job', 'held', 'pending')[0]?.label, 'Admin Action')
    assert.equal(edge('002-job', 'completed', 'deleted')[0]?.label, 'Automated Task')
    assert.equal(edge('004-job', 'downloading', 'failed')[0]?.label, 'downloading')
    assert.equal(
      edge('003-upload-batch', 'failed', 'uploaded')[0]?.label,
      'retry_batch (UploadBatchRetryProcessor + UploadBatchRetryableCriterion) [manual]',
    )
    assert.equal(seedDiagrams['000-chunk'].title, 'Batch2 Job Work Chunk state transitions')
  })

  test('no choice node is left over as a state', () => {
    const choices = ['first_step_finished', 'in_progress_poll', 'error_progress_poll', 'do_report', 'do_reduction']
    for (const choice of [...choices, 'on_receive', 'execute']) {
      for (const [name, { states }] of Object.entries<Diagram>(seedDiagrams)) {
        assert.ok(!states.includes(choice), `${name} has ${choice} as a state`)
      }
    }
  })

  test('a choice that the source misspells is refused without its alias', () => {
    const text = readFileSync(new URL('../diagrams/000-job.mmd', import.meta.url), 'utf8')
    assert.throws(() => parseMermaid(text), /do_report/)
  })
})

describe('removing one edge from a machine', () => {
  for (const [name, diagram] of Object.entries<Diagram>(seedDiagrams)) {
    test(`is noticed, whichever edge of ${name} it is`, () => {
      const pairs = new Map(diagram.edges.map(({ from, to }) => [`${from} --> ${to}`, { name: 'edge', from, to }]))
      const machine = { initial: diagram.initial, settled: diagram.final, edges: [...pairs.values()] }
      assert.equal(comparisonReport(name, compareDiagram(machine, diagram, [])), '', 'the whole machine is its diagram')
      for (const removed of pairs.keys()) {
        const edges = [...pairs].filter(([pair]) => pair !== removed).map(([, edge]) => edge)
        assert.equal(
          comparisonReport(name, compareDiagram({ ...machine, edges }, diagram, [])),
          `${name} draws ${removed}, but the machine has no such edge.`,
        )
      }
    })
  }
})

describe('every machine has the edges of its diagram', () => {
  for (const { diagram, machine, names } of compared) {
    test(diagram, () => {
      const rows = deviations.filter((row) => row.diagram === diagram)
      const options = names === undefined ? {} : { names }
      assert.equal(comparisonReport(diagram, compareDiagram(machine, seedDiagrams[diagram], rows, options)), '')
    })
  }

  test('a deviation belongs to a diagram that some machine is compared with', () => {
    const known = new Set<string>(compared.map((row) => row.diagram))
    assert.deepEqual(
      deviations.filter((row) => !known.has(row.diagram)),
      [],
    )
  })
})

describe('every processor and criterion of 003 stands at its transition', () => {
  const deviating = readFileSync(new URL('../diagrams/deviations.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => [/^- `(\w+)`: `(\w+)` /.exec(line)?.slice(1, 3).join(' ') ?? []].flat())
  /** `transition name`, for each name that the seed's label has and this label has not. */
  const missing = (labels: ReadonlyMap<string, readonly string[]>) =>
    new Set(
      seedDiagrams['003-upload-batch'].edges.flatMap(({ label }) => {
        const { name, parts } = readLabel(label) ?? assert.fail(label)
        return parts.filter((part) => !labels.get(name)?.includes(part)).map((part) => `${name} ${part}`)
      }),
    )

  test('in the diagram that is drawn, with the ends of the seed', () => {
    const drawn = parseMermaid(toMermaid(uploadBatch))
    const labels = new Map(
      drawn.edges.map(({ label }) => {
        const { name, parts } = readLabel(label) ?? assert.fail(label)
        return [name, parts] as const
      }),
    )
    assert.deepEqual([...missing(labels)], deviating)
    assert.ok(seedDiagrams['003-upload-batch'].final.every((state) => drawn.final.includes(state)))
  })

  test('in the workflow JSON that is exported', () => {
    const [workflow] = exportWorkflow([uploadBatch as unknown as Machine]).workflows
    const labels = new Map(
      Object.values(workflow!.states).flatMap(({ transitions }) =>
        (transitions ?? []).map(({ name, processors, criterion }) => {
          const judged = [...JSON.stringify(criterion ?? null).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name!)
          return [name, [...(processors ?? []).map((processor) => processor.name), ...judged]] as const
        }),
      ),
    )
    assert.deepEqual([...missing(labels)], deviating)
  })
})

describe('001 is superseded by 000', () => {
  const lines = ({ initial, final, edges }: Diagram): readonly string[] => [
    ...initial.map((to) => `[*] --> ${to}`),
    ...edges.map(({ from, to }) => `${from} --> ${to}`),
    ...final.map((from) => `${from} --> [*]`),
  ]
  const only = (one: Diagram, other: Diagram): string[] =>
    [...new Set(lines(one))].filter((line) => !lines(other).includes(line)).sort()

  test('jobs can be cancelled since, and end', () => {
    assert.deepEqual(only(seedDiagrams['001-job'], seedDiagrams['000-job']), [])
    assert.deepEqual(only(seedDiagrams['000-job'], seedDiagrams['001-job']), [
      'cancelled --> [*]',
      'completed --> [*]',
      'errored --> cancelled',
      'failed --> [*]',
      'in_progress --> cancelled',
    ])
  })

  test('chunks wait before they are queued since', () => {
    assert.deepEqual(only(seedDiagrams['001-chunk'], seedDiagrams['000-chunk']), ['[*] --> queued'])
    assert.deepEqual(only(seedDiagrams['000-chunk'], seedDiagrams['001-chunk']), [
      '[*] --> gate_waiting',
      '[*] --> poll_waiting',
      '[*] --> ready',
      'gate_waiting --> ready',
      'in_progress --> poll_waiting',
      'poll_waiting --> ready',
      'ready --> queued',
    ])
  })
})
