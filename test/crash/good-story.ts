import type { Tombstone } from '../../src/store.ts'
import type { Expectations } from './case.ts'
import { crashExpectations } from './expectations.ts'
import type { Planned } from './plan.ts'
import { type Draft, Story } from './story.ts'

const plain: Omit<Planned, 'key' | 'machine' | 'data'> = {
  ends: ['completed'],
  effects: [],
  lanes: {},
  generations: 0,
  purged: false,
}
const batchEffects = ['split', 'report']
const plans: Readonly<Record<string, Omit<Planned, 'key'>>> = {
  item: { ...plain, machine: 'crash_item', data: { number: 1, mood: 'plain' }, effects: ['work'] },
  bad: { ...plain, machine: 'crash_item', data: { number: 2, mood: 'bad' }, ends: ['failed'] },
  batch: {
    ...plain,
    machine: 'crash_batch',
    data: { number: 3, mood: 'batch' },
    effects: batchEffects,
    lanes: { first: 2, second: 1 },
  },
  again: {
    ...plain,
    machine: 'crash_batch',
    data: { number: 4, mood: 'again' },
    effects: batchEffects,
    lanes: { first: 1 },
    generations: 1,
  },
  ended: {
    ...plain,
    machine: 'crash_batch',
    data: { number: 5, mood: 'cancelled' },
    effects: batchEffects,
    lanes: { first: 2 },
    ends: ['completed', 'cancelled'],
  },
  brief: { ...plain, machine: 'crash_brief', data: { number: 6, mood: 'brief' }, effects: ['split'], purged: true },
}
/** The expectations that the good story fulfils. */
export const expectations: Expectations = {
  ...crashExpectations,
  plan: (key: string): Planned | null => (plans[key] ? { key, ...plans[key] } : null),
}

export const [item, bad, batch, again, ended, brief] = [1, 2, 3, 4, 5, 6] as const
/** Children: two before the gate and one behind it; one that runs twice; two of a batch that was cancelled. */
export const [left, right, behind, rerun, finished, resting] = [31, 32, 33, 41, 51, 52] as const

/** Everything that the crash machines do, as it should be. */
export function goodStory(): Draft {
  const story = new Story(crashExpectations.machines)
  story
    .submit(item, 'crash_item', 'item', { number: 1 })
    .effect(item, 'work')
    .effect(item, 'work')
    .move(item, 'done', ['work'])
  story.submit(bad, 'crash_item', 'bad', { number: 2 }).move(bad, 'fail', ['fail'])

  story.submit(batch, 'crash_batch', 'batch', { number: 3 }).effect(batch, 'split').move(batch, 'done', ['split'])
  story.born(left, 'crash_piece', { parent: batch, lane: 'first', ordinal: 0 })
  story.born(right, 'crash_piece', { parent: batch, lane: 'first', ordinal: 1 })
  story.born(behind, 'crash_piece', { parent: batch, lane: 'second', ordinal: 2, state: 'gated' })
  for (const id of [left, right]) story.move(id, 'claim', ['start']).effect(id, 'finish').move(id, 'done', ['finish'])
  story.move(batch, 'children', ['open'])
  story.move(behind, 'claim', ['open', 'start']).effect(behind, 'finish').move(behind, 'done', ['finish'])
  story.move(batch, 'children', ['close']).effect(batch, 'report').move(batch, 'done', ['report'])

  story.submit(again, 'crash_batch', 'again', { number: 4 })
  for (const generation of [0, 1]) {
    if (generation === 1) story.act(again, 'again', 'request-again')
    story.effect(again, 'split', generation).move(again, 'done', ['split'])
    if (generation === 0) story.born(rerun, 'crash_piece', { parent: again, lane: 'first', ordinal: 0 })
    else story.move(rerun, 'respawn', ['rerun'])
    story.move(rerun, 'claim', ['start']).effect(rerun, 'finish', generation).move(rerun, 'done', ['finish'])
    story.move(again, 'children', ['open', 'close']).effect(again, 'report', generation).move(again, 'done', ['report'])
  }

  story.submit(ended, 'crash_batch', 'ended', { number: 5 }).effect(ended, 'split').move(ended, 'done', ['split'])
  story.born(finished, 'crash_piece', { parent: ended, lane: 'first', ordinal: 0 })
  story.born(resting, 'crash_piece', { parent: ended, lane: 'first', ordinal: 1 })
  story.move(finished, 'claim', ['start']).effect(finished, 'finish').move(finished, 'done', ['finish'])
  // It had its effect, and its commit came after the end: stale, as it should be.
  story.move(resting, 'claim', ['start']).effect(resting, 'finish')
  story.act(ended, 'cancel', 'request-cancel')

  story.note(
    { kind: 'submit', phase: 'invoke', key: 'brief' },
    { kind: 'submit', phase: 'ok', key: 'brief', id: brief, existing: false },
  )
  story.effect(brief, 'split')
  // Its worker fell asleep, another took over and finished it; the sleeper's own move was refused.
  story.note(
    { kind: 'claimed', id: item, epoch: 0, seq: 0 },
    { kind: 'stale', id: item, epoch: -1, seq: 0 },
    { kind: 'saved', id: item, epoch: 0, seq: 0 },
  )
  // Nobody ever answered these two: they may have happened or not.
  story.note({ kind: 'submit', phase: 'invoke', key: 'unanswered' })
  story.note({ kind: 'act', phase: 'invoke', request: 'request-lost', id: ended, action: 'cancel' })
  const tombstone: Tombstone = {
    id: brief,
    machine: 'crash_brief',
    version: 1,
    state: 'completed',
    key: 'brief',
    data: '{}',
    lanes: [],
    createdAt: 1,
    purgedAt: 2,
  }
  return story.evidence({
    tombstones: [tombstone],
    pools: [{ name: 'run:crash_item/work', ceiling: 40, taken: 0, holders: [] }],
  })
}
