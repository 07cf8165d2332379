import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineMachine, type Machine } from '../machine.ts'
import { edgeLines, MapCache, machineMap } from './machine-map.ts'

const machine = defineMachine({
  name: 'letter',
  version: 1,
  initial: ['written'],
  settled: ['delivered', 'lost'],
  final: ['delivered'],
  states: {
    written: 'On paper.',
    sent: { title: 'On its way', purpose: 'In the bag.' },
    delivered: { purpose: 'Read.', outcome: 'success' },
    lost: { purpose: 'Gone.', outcome: 'failure' },
  },
  transitions: {
    send: { from: 'written', to: 'sent', on: 'done', processor: 'carry' },
    drop: { from: ['written', 'sent'], to: 'lost', on: 'fail' },
    forget: { from: 'sent', to: 'lost', on: 'action' },
    deliver: { from: 'sent', to: 'delivered', on: 'done', processor: 'carry' },
    look: { from: 'sent', to: 'sent', on: 'time', afterMs: 1_000 },
    find: { from: 'lost', to: 'sent', on: 'action' },
  },
})

test('every state has a box and no two boxes overlap', () => {
  const { nodes, width, height } = machineMap(machine)
  assert.deepEqual(nodes.map(({ state }) => state).toSorted(), Object.keys(machine.states).toSorted())
  for (const [index, one] of nodes.entries()) {
    assert.ok(one.x - one.width / 2 >= 0 && one.x + one.width / 2 <= width, `${one.state} is within the width`)
    assert.ok(one.y - one.height / 2 >= 0 && one.y + one.height / 2 <= height, `${one.state} is within the height`)
    for (const other of nodes.slice(index + 1)) {
      const apartX = Math.abs(one.x - other.x) >= (one.width + other.width) / 2
      const apartY = Math.abs(one.y - other.y) >= (one.height + other.height) / 2
      assert.ok(apartX || apartY, `${one.state} and ${other.state} overlap`)
    }
  }
  assert.deepEqual(nodes.find(({ state }) => state === 'sent')?.title, 'On its way')
})

test('transitions between the same two states share one arrow, and each is on one', () => {
  const { edges } = machineMap(machine)
  const drawn = edges.flatMap(({ from, to, transitions }) => transitions.map(({ name }) => `${name} ${from} ${to}`))
  assert.deepEqual(drawn.toSorted(), machine.edges.map(({ name, from, to }) => `${name} ${from} ${to}`).toSorted())
  const lost = edges.find(({ from, to }) => from === 'sent' && to === 'lost')
  assert.deepEqual(
    lost?.transitions.map(({ name }) => name),
    ['drop', 'forget'],
  )
})

test('an arrow begins and ends at the border of its boxes', () => {
  const { nodes, edges } = machineMap(machine)
  for (const { from, to, points } of edges.filter((edge) => edge.from !== edge.to)) {
    for (const [state, point] of [
      [from, points[0]],
      [to, points.at(-1)],
    ] as const) {
      const box = nodes.find((node) => node.state === state)!
      const away = Math.max(Math.abs(point!.x - box.x) / (box.width / 2), Math.abs(point!.y - box.y) / (box.height / 2))
      assert.ok(Math.abs(away - 1) < 0.02, `${from} → ${to} touches ${state}: ${away}`)
    }
  }
})

test('an arrow that leads back to its own box is left to whoever draws the box', () => {
  const loop = machineMap(machine).edges.find(({ from, to }) => from === to)
  assert.deepEqual(loop, {
    from: 'sent',
    to: 'sent',
    transitions: [{ name: 'look', on: 'time', purpose: '' }],
    lines: ['look'],
    points: [],
    label: null,
  })
})

test('any machine can be drawn, whatever its states are called', () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,40}$/), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(names, fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 30 }), (states, pairs) => {
      const made = {
        ...machine,
        states: Object.fromEntries(
          states.map((name) => [name, { title: name, purpose: '', retentionMs: null, holdable: true }]),
        ),
        edges: pairs.map(([one, other], index) => ({
          ...machine.edges[0]!,
          name: `e${index}`,
          from: states[one % states.length]!,
          to: states[other % states.length]!,
        })),
      } as unknown as Machine
      const map = machineMap(made)
      assert.equal(map.nodes.length, states.length)
      for (const { x, y } of [...map.nodes, ...map.edges.flatMap(({ points }) => points)]) {
        assert.ok(Number.isFinite(x) && Number.isFinite(y))
      }
    }),
    { numRuns: 40 },
  )
})

test('a map is made once for each machine, and old ones make room', () => {
  const cache = new MapCache(2)
  const first = cache.get(machine)
  assert.equal(cache.get(machine), first)
  cache.get({ ...machine, version: 2 })
  cache.get({ ...machine, version: 3 })
  assert.notEqual(cache.get(machine), first)
})

test('every transition of an arrow stands on it, up to three lines', () => {
  assert.deepEqual(edgeLines(['send']), ['send'])
  assert.deepEqual(edgeLines(['send', 'drop', 'lose']), ['send', 'drop', 'lose'])
  assert.deepEqual(edgeLines(['send', 'drop', 'lose', 'burn']), ['send', 'drop', 'and 2 more'])
  assert.equal(edgeLines(['a'.repeat(30)])[0]?.length, 24)
  const lost = machineMap(machine).edges.find(({ from, to }) => from === 'sent' && to === 'lost')
  assert.deepEqual(lost?.lines, ['drop', 'forget'])
})
