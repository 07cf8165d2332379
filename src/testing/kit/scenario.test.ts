import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { implement } from '../../implementation.ts'
import { defineMachine } from '../../machine.ts'
import { done, fail, poll } from '../../outcome.ts'
import type { ImplementationsFactory } from './fleet.ts'
import { named, scenario } from './scenario.ts'
import { readStory } from './story.ts'
import { testKit } from './test-kit.ts'

const parcel = defineMachine({
  name: 'parcel',
  version: 1,
  initial: ['received'],
  settled: ['labelled', 'lost', 'cancelled'],
  final: ['cancelled'],
  states: {
    received: 'On the ramp.',
    weighed: 'Its weight is known.',
    labelled: 'Ready to go.',
    lost: 'Nobody knows where it is.',
    cancelled: 'Not wanted any more.',
  },
  transitions: {
    weigh: { from: 'received', to: 'weighed', on: 'done', processor: 'weigh' },
    label: { from: 'weighed', to: 'labelled', on: 'done', processor: 'label' },
    lose: { from: ['received', 'weighed'], to: 'lost', on: 'fail' },
    cancel: { from: ['received', 'weighed', 'labelled'], to: 'cancelled', on: 'action', warning: 'It is thrown away.' },
    search: { from: 'lost', to: 'received', on: 'action', when: 'isWorthIt' },
  },
  data: z.object({ grams: z.number(), weighed: z.number().optional(), town: z.string().optional() }),
  labels: ['town'],
})

const truck = defineMachine({
  name: 'truck',
  version: 1,
  initial: ['loading'],
  settled: ['gone'],
  final: ['gone'],
  states: { loading: 'Parcels are unpacked.', waiting: 'Parcels are on their way.', gone: 'All parcels are through.' },
  transitions: {
    unpack: { from: 'loading', to: 'waiting', on: 'done', processor: 'unpack' },
    give_up: { from: 'loading', to: 'gone', on: 'fail' },
    leave: { from: 'waiting', to: 'gone', on: 'children' },
  },
  data: z.object({ parcels: z.array(z.number()) }),
})

const implementations: ImplementationsFactory = ({ effects }) => {
  let polls = 0
  return [
    implement(parcel, {
      processors: {
        weigh: ({ data }) =>
          data.grams < 0 ? fail('no weight', `it shows ${data.grams}`) : done({ ...data, weighed: data.grams }),
        async label({ data, idempotencyKey }) {
          if (data.grams === 7 && polls++ < 3) return poll(60_000)
          await effects.perform('label', { key: idempotencyKey })
          return done()
        },
      },
      criteria: { isWorthIt: ({ data }) => data.grams < -1 || 'too light to search for' },
    }),
    implement(truck, {
      processors: {
        async unpack(context) {
          await context.spawn(
            context.data.parcels.map((grams) => ({ machine: 'parcel', lane: 'items', data: { grams } })),
          )
        },
      },
    }),
  ]
}

const open = () => testKit({ implementations })

/** The message of the failure, for stories that are not true. */
async function complaint(story: string): Promise<string> {
  try {
    await scenario({ implementations }, story)
  } catch (error) {
    return (error as Error).message
  }
  return 'no complaint'
}

describe('a story is told and checked', () => {
  test('from submit to a cancelled parcel', () =>
    scenario(
      { implementations },
      `
      # One parcel, and a person who changes her mind.
      submit parcel {"grams": 100, "town": "a: b, c"} as p by bob   # comments end a line, too
      p: received
      drain
      p: weighed -> labelled
      p: received -> ... -> labelled
      data p: {"weighed": 100}
      p can cancel
      p cannot search
      act p cancel by ann because "wrong address"
      p: labelled -> cancelled
      explain p: final
      effects label: 1
      `,
    ))

  test('children are counted by lane and reached by position', () =>
    scenario(
      { implementations },
      `
      submit truck {"parcels": [5, -1, 6, -2]} as t key "truck 1" priority 3
      drain
      t: waiting -> gone
      children t/items: labelled 2, lost 2
      children t: labelled 2, lost 2, received 0
      t/items#2: lost because "no weight"
      t/items#2 cannot search
      act t/items#4 search
      drain
      t/items#4: lost -> received -> lost
      `,
    ))

  test('holds, priorities and time', () =>
    scenario(
      { implementations },
      `
      hold label town paris machine parcel as strike by ann because "a strike" for 2h
      hold state received as all
      submit parcel {"grams": 1, "town": "paris"} as p
      submit parcel {"grams": 7, "town": "rome"} as q
      prioritise q -5
      after 1m
      explain p: held
      explain q: held
      release all
      after 30s
      explain p: held
      q: weighed
      explain q: scheduled
      after 2h
      p: labelled
      q: labelled
      `,
    ))

  test('crashes, at once and at a named point', () =>
    scenario(
      { implementations },
      `
      submit parcel {"grams": 1} as p
      crash after label
      drain
      p: weighed
      effects label: 1
      restart
      drain
      p: labelled
      effects label: 1
      crash
      submit parcel {"grams": 2} as q
      after 5m
      explain q: no_worker
      restart
      drain
      q: labelled
      `,
    ))

  test('one story may go on where another ended', async () => {
    const kit = open()
    await scenario(kit, 'submit parcel {"grams": 1} as p\ndrain')
    await scenario(kit, 'p: labelled\nact p cancel\np: cancelled')
    assert.equal((await kit.control.get(named(kit, 'p'))).state, 'cancelled')
    assert.throws(() => named(kit, 'q'), /Nothing is called q; known: p/)
    await kit.stop()
  })
})

describe('a story that is not true', () => {
  test('names the line, what was expected, what was found, and the history', async () => {
    const message = await complaint('\nsubmit parcel {"grams": -1} as p\ndrain\np: weighed -> labelled')
    assert.match(
      message,
      /^line 4: p: weighed -> labelled\n {2}Expected weighed -> labelled\. Found parcel 1 lost \(no weight\); its history: received -> lost\./,
    )
  })

  for (const [name, story, expected] of [
    [
      'a reason',
      'submit parcel {"grams": -1} as p\ndrain\np: lost because "rain"',
      /line 3: .*\n {2}Expected the reason "rain", found "no weight", "it shows -1"/,
    ],
    [
      'children',
      'submit truck {"parcels": [1]} as t\ndrain\nchildren t/items: labelled 2',
      /Expected labelled 2; found labelled 1\./,
    ],
    [
      'a lane',
      'submit truck {"parcels": [1]} as t\ndrain\nchildren t/boxes: labelled 1',
      /There is no lane boxes; there are: items/,
    ],
    [
      'a child',
      'submit truck {"parcels": [1]} as t\ndrain\nt/items#2: labelled',
      /1 has no child items#2; its lanes: items \(1\)/,
    ],
    [
      'an action',
      'submit parcel {"grams": -1} as p\ndrain\np can search',
      /can: nothing\. It is refused: too light to search for/,
    ],
    [
      'a refused act',
      'submit parcel {"grams": -1} as p\ndrain\nact p cancel',
      /line 3: act p cancel\n {2}.*is lost; it cannot cancel/,
    ],
    ['an explanation', 'submit parcel {"grams": 1} as p\nexplain p: held', /Expected held, found ready: parcel 1/],
    ['data', 'submit parcel {"grams": 1} as p\ndata p: {"grams": 2}', /Expected \{"grams":2\}, found \{"grams":1\}/],
    ['effects', 'effects label: 1', /Expected 1 effects of label, found 0/],
    ['a name', 'drain\nq: gone', /line 2: q: gone\n {2}Nothing is called q; known: nothing yet/],
    ['bad data', 'submit parcel {"grams": "x"} as p', /line 1: .*\n {2}Data of parcel does not fit: grams/],
  ] as const) {
    test(name, async () => assert.match(await complaint(story), expected))
  }
})

describe('a story that cannot be read', () => {
  for (const [story, expected] of [
    ['dance', /line 1: dance\n {2}"dance" begins no sentence; expected submit, act, hold/],
    ['submit parcel {"grams": 1', /does not end on this line/],
    ['submit parcel {grams: 1}', /is no JSON/],
    ['submit parcel {} like p', /Expected as, in, key, priority, by; found "like"/],
    ['\n\np: ', /line 3: p:\n {2}Expected a state, found the end of the line/],
    ['p: a -> ', /Expected a state/],
    ['p: a b', /Expected the end of the line, found "b"/],
    ['after lunch', /"lunch" is no duration/],
    ['hold machine parcel', /write "as NAME"/],
    ['b/items: ready', /names no entity; a child is written NAME\/LANE#1/],
    ['prioritise p high', /Expected a whole number, found "high"/],
    ['children b: ready', /Expected a whole number, found the end of the line/],
  ] as const) {
    test(JSON.stringify(story), () => assert.throws(() => readStory(story), expected))
  }
})
