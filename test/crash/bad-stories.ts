import { again, bad, batch, behind, brief, ended, finished, item, left, rerun, resting, right } from './good-story.ts'
import type { Draft } from './story.ts'

const entity = (draft: Draft, id: number) => draft.entities.find((entity) => entity.id === id)!
const lane = (draft: Draft, parent: number | null, name: string) =>
  draft.lanes.find((lane) => lane.parent === parent && lane.name === name)!
/** The same move in the history and in the feed. */
const moves = (draft: Draft, id: number, seq: number) =>
  [...draft.histories[id]!, ...draft.feed].filter((move) => move.entity === id && move.seq === seq)
const change = (draft: Draft, id: number, seq: number, changes: object) => {
  for (const move of moves(draft, id, seq)) Object.assign(move, changes)
}
const removeEntity = (draft: Draft, id: number) => {
  draft.entities = draft.entities.filter((entity) => entity.id !== id)
}
const removeEffect = (draft: Draft, key: string) => {
  draft.notes = draft.notes.filter((note) => note.kind !== 'effect' || note.key !== key)
}
/** Puts a move behind another one in the order of commits. */
const later = (draft: Draft, [id, seq]: readonly [number, number], [otherId, otherSeq]: readonly [number, number]) => {
  const moved = draft.feed.find((move) => move.entity === id && move.seq === seq)!
  draft.feed = draft.feed.filter((move) => move !== moved)
  const position = draft.feed.findIndex((move) => move.entity === otherId && move.seq === otherSeq)
  draft.feed.splice(position + 1, 0, moved)
}

export type Spoil = readonly [name: string, spoil: (draft: Draft) => void, complaint: RegExp]

/** What can go wrong, each with what the checker must say of it. */
export const badStories: readonly Spoil[] = [
  ['an acknowledged submit is lost', (draft) => removeEntity(draft, item), /item \(1\) was acknowledged and is lost/],
  [
    'one key was acknowledged as two entities',
    (draft) => draft.notes.push({ kind: 'submit', phase: 'ok', key: 'item', id: 2, existing: true }),
    /item was acknowledged as 1 and as 2/,
  ],
  [
    'an acknowledged submit was lost and made again',
    (draft) => draft.notes.push({ kind: 'submit', phase: 'ok', key: 'item', id: item, existing: false }),
    /item was made twice/,
  ],
  [
    'one entity was acknowledged for two keys',
    (draft) => draft.notes.push({ kind: 'submit', phase: 'ok', key: 'bad', id: 1, existing: true }),
    /1 was acknowledged for item and for bad/,
  ],
  [
    'a key exists twice',
    (draft) => draft.entities.push({ ...entity(draft, item), id: 99, seq: 0 }),
    /item exists 2 times/,
  ],
  [
    'something was submitted by nobody',
    (draft) => draft.entities.push({ ...entity(draft, item), id: 99, key: 'ghost' }),
    /crash_item 99 was submitted by nobody/,
  ],
  [
    'a root without a key appeared',
    (draft) => Object.assign(entity(draft, item), { key: null }),
    /crash_item 1 was submitted by nobody/,
  ],
  [
    'two entities have changed places',
    (draft) => Object.assign(entity(draft, item), { data: '{"number":7}' }),
    /has the data of number 7/,
  ],
  [
    'a poison entity is completed',
    (draft) => Object.assign(entity(draft, bad), { state: 'completed' }),
    /bad \(2\) ended completed, not failed/,
  ],
  [
    'an entity was reopened by mistake',
    (draft) => Object.assign(entity(draft, batch), { generation: 1 }),
    /batch \(3\) was reopened 1 times, not 0/,
  ],
  [
    'a tombstone is missing',
    (draft) => draft.tombstones.pop(),
    /brief \(6\) was acknowledged and is lost: no tombstone/,
  ],
  [
    'a tombstone has the wrong state',
    (draft) => Object.assign(draft.tombstones[0]!, { state: 'failed' }),
    /left the tombstone of brief in failed/,
  ],
  [
    'what was to be purged is still there',
    (draft) => draft.entities.push({ ...entity(draft, item), id: brief, key: 'brief' }),
    /brief \(6\) should have been removed/,
  ],
  [
    'an acknowledged action is lost',
    (draft) => change(draft, ended, 2, { requestId: 'another' }),
    /cancel of 5 \(request-cancel\) was acknowledged and is lost/,
  ],
  [
    'a refused action took place',
    (draft) => draft.notes.push({ kind: 'act', phase: 'fail', request: 'request-cancel', id: ended, action: 'cancel' }),
    /was refused and took place/,
  ],
  [
    'an action took place twice',
    (draft) => change(draft, again, 3, { cause: 'action', requestId: 'request-again' }),
    /request-again\) took place 2 times/,
  ],
  [
    'an action moved somebody else',
    (draft) => change(draft, ended, 2, { requestId: 'request-again' }),
    /request-again\) moved 5/,
  ],
  [
    'nobody asked for an action',
    (draft) => change(draft, item, 1, { cause: 'action', requestId: 'ghost' }),
    /1 was acted on by nobody \(ghost\)/,
  ],
  [
    'an action does not say who',
    (draft) => change(draft, ended, 2, { actor: null }),
    /does not say who, as what and why/,
  ],
  ['a move is missing', (draft) => draft.histories[left]!.shift(), /crash_piece 31 has move 2 where 1 is due/],
  [
    'a move was written twice',
    (draft) => draft.histories[item]!.push({ ...draft.histories[item]![0]! }),
    /crash_item 1 has move 1 where 2 is due/,
  ],
  [
    'a hop is in no table',
    (draft) => change(draft, item, 1, { hops: [{ transition: 'jump', from: 'ready', to: 'completed' }] }),
    /ready → completed by jump, which is in no table/,
  ],
  [
    'a known transition leads elsewhere',
    (draft) => change(draft, item, 1, { hops: [{ transition: 'work', from: 'ready', to: 'failed' }] }),
    /ready → failed by work, which is in no table/,
  ],
  [
    'the chain of states is broken',
    (draft) => change(draft, left, 2, { hops: [{ transition: 'start', from: 'ready', to: 'running' }] }),
    /crash_piece 31 left ready in move 2 and was in running/,
  ],
  [
    'the row is elsewhere than its history',
    (draft) => Object.assign(entity(draft, item), { state: 'failed' }),
    /crash_item 1 is failed, and its history ends in completed/,
  ],
  [
    'the row says another seq',
    (draft) => Object.assign(entity(draft, item), { seq: 2 }),
    /crash_item 1 has seq 2 and 1 moves/,
  ],
  [
    'a move without hops stands in the history',
    (draft) => change(draft, item, 1, { hops: [] }),
    /crash_item 1 has an empty move 1/,
  ],
  [
    'it was born in a state that is not initial',
    (draft) => Object.assign(entity(draft, item), { born: 'completed' }),
    /was born in completed, which is not initial/,
  ],
  [
    'time went back',
    (draft) => change(draft, left, 2, { at: 1 }),
    /crash_piece 31 made move 2 before the one before it/,
  ],
  [
    'a zombie wrote with an old epoch',
    (draft) => change(draft, left, 2, { epoch: 0 }),
    /crash_piece 31 accepted move 2 with epoch 0 after 1/,
  ],
  [
    'a claim gave out an old epoch',
    (draft) => change(draft, rerun, 4, { epoch: 2 }),
    /crash_piece 41 was claimed in move 4 under the old epoch 2/,
  ],
  [
    'the row has an older epoch than its history',
    (draft) => Object.assign(entity(draft, left), { epoch: 0 }),
    /crash_piece 31 has epoch 0, and its history 1/,
  ],
  [
    'a zombie was let in, and its row has the newer epoch',
    (draft) =>
      draft.notes.push(
        { kind: 'claimed', id: left, epoch: 1, seq: 1 },
        { kind: 'claimed', id: left, epoch: 3, seq: 1 },
        { kind: 'saved', id: left, epoch: 1, seq: 1 },
      ),
    /31 accepted move 2 with epoch 1; epoch 3 had been given before/,
  ],
  [
    'two workers were given one epoch',
    (draft) =>
      draft.notes.push(
        { kind: 'claimed', id: left, epoch: 1, seq: 1 },
        { kind: 'claimed', id: left, epoch: 1, seq: 1 },
      ),
    /31 was given to two workers under one epoch/,
  ],
  [
    'a move was accepted twice',
    (draft) =>
      draft.notes.push({ kind: 'saved', id: left, epoch: 1, seq: 1 }, { kind: 'saved', id: left, epoch: 1, seq: 1 }),
    /31 accepted one of its moves twice/,
  ],
  [
    'an acknowledged move is not in the history',
    (draft) => draft.notes.push({ kind: 'saved', id: left, epoch: 1, seq: 2 }),
    /31 was told that move 3 is saved under epoch 1; its history has undefined/,
  ],
  [
    'a settled entity was left without an action',
    (draft) => change(draft, rerun, 3, { cause: 'done' }),
    /crash_piece 41 left completed in move 3 by done/,
  ],
  [
    'a generation was skipped',
    (draft) => change(draft, rerun, 3, { generation: 2 }),
    /says generation 2 in move 3; it is 1/,
  ],
  [
    'a parent was closed twice',
    (draft) => {
      const report = draft.histories[batch]!.at(-1)!
      const twice = { ...report, seq: report.seq + 1 }
      draft.histories[batch]!.push(twice)
      draft.feed.push(twice)
      Object.assign(entity(draft, batch), { seq: twice.seq })
    },
    /crash_batch 3 was settled twice in generation 0/,
  ],
  [
    'attempts have no end',
    (draft) => Object.assign(entity(draft, bad), { attempts: 1_001 }),
    /crash_item 2 counts 1001 attempts; 1000 are allowed/,
  ],
  ['the feed has lost a move', (draft) => draft.feed.shift(), /The feed tells of crash_item 1: ; its history: 1:work/],
  [
    'the feed has a move twice',
    (draft) => draft.feed.push({ ...draft.feed[0]! }),
    /The feed has move 1 of 1 after move 1/,
  ],
  ['a child is missing', (draft) => removeEntity(draft, right), /crash_batch 3 has 2 children; 3 are due/],
  [
    'an ordinal was given twice',
    (draft) => Object.assign(entity(draft, right), { ordinal: 0 }),
    /crash_batch 3 has no child, or two, at ordinal/,
  ],
  [
    'a child is in the wrong lane',
    (draft) => Object.assign(entity(draft, right), { lane: 'second' }),
    /1 children in lane first; 2 are due/,
  ],
  [
    'a child has no parent',
    (draft) => Object.assign(entity(draft, right), { parent: 77 }),
    /crash_piece 32 is the child of 77, which does not exist/,
  ],
  [
    'a fan-out appeared before its source was through',
    (draft) => change(draft, ended, 1, { hops: [] }),
    /crash_batch 5 has 2 children; 0 are due/,
  ],
  [
    'a parent is completed over a failed child',
    (draft) => Object.assign(entity(draft, right), { state: 'failed' }),
    /crash_batch 3 is completed and its child 32 is failed/,
  ],
  [
    'a child was not run again',
    (draft) => Object.assign(entity(draft, rerun), { generation: 0 }),
    /generation 1 and its child 41 in 0/,
  ],
  [
    'a parent closed before its last child',
    (draft) => later(draft, [behind, 2], [batch, 3]),
    /crash_batch 3 took close in move 3 while its child 33 was running/,
  ],
  [
    'a gate opened before the lane was through',
    (draft) => later(draft, [right, 2], [batch, 2]),
    /crash_batch 3 took open in move 2 while its child 32 was running/,
  ],
  [
    'a child passed a shut gate',
    (draft) => later(draft, [batch, 2], [behind, 1]),
    /crash_piece 33 passed the gate before its parent's open/,
  ],
  [
    'a child moved after its batch was cancelled',
    (draft) => later(draft, [finished, 2], [ended, 2]),
    /crash_piece 51 made move 2 after its parent's cancel/,
  ],
  ['an effect never happened', (draft) => removeEffect(draft, '1:0:work'), /Effect 1:0:work never happened/],
  [
    'an effect of a child never happened',
    (draft) => removeEffect(draft, '41:1:finish'),
    /Effect 41:1:finish never happened/,
  ],
  [
    'an effect of a purged tree never happened',
    (draft) => removeEffect(draft, '6:0:split'),
    /Effect 6:0:split never happened/,
  ],
  [
    'a key changed from attempt to attempt',
    (draft) => draft.notes.push({ kind: 'effect', key: '1:0:work/2', body: 'body of 1' }),
    /Effect 1:0:work\/2 was expected by nobody/,
  ],
  [
    'a failed entity had an effect',
    (draft) => draft.notes.push({ kind: 'effect', key: '2:0:work', body: 'body of 2' }),
    /Effect 2:0:work was expected by nobody/,
  ],
  [
    'one key had two bodies',
    (draft) => draft.notes.push({ kind: 'effect', key: '1:0:work', body: 'another' }),
    /Effect 1:0:work was body of 1 and then another/,
  ],
  [
    'a lane counts wrong',
    (draft) => Object.assign(lane(draft, batch, 'first'), { counts: { completed: 1, running: 1 } }),
    /Lane 3\/first counts 1 completed, 1 running, the rows are 2 completed/,
  ],
  [
    'a lane has too many in all',
    (draft) => Object.assign(lane(draft, batch, 'first'), { total: 3 }),
    /Lane 3\/first says 3 in all, and 2 are there/,
  ],
  [
    'a lane is never through',
    (draft) => Object.assign(lane(draft, batch, 'first'), { open: 1 }),
    /Lane 3\/first says 1 are open, and 0 are/,
  ],
  [
    'a lane is missing',
    (draft) => {
      draft.lanes = draft.lanes.filter((lane) => lane.parent !== batch)
    },
    /Lane 3\/first is missing/,
  ],
  [
    'a lane was left behind',
    (draft) => draft.lanes.push({ ...lane(draft, batch, 'first'), parent: 77, counts: {}, total: 0 }),
    /Lane 77\/first has no parent any more/,
  ],
  [
    'the store itself sees drift',
    (draft) => draft.drifts.push({ parent: null, lane: 'crash_item@1', said: { total: 3 }, counted: { total: 2 } }),
    /says \{"total":3\} and has \{"total":2\}/,
  ],
  [
    'a lease is left',
    (draft) => Object.assign(entity(draft, resting), { owner: 4 }),
    /crash_piece 52 is still leased by worker 4/,
  ],
  [
    'an entity is not settled',
    (draft) => Object.assign(entity(draft, item), { settled: false, state: 'ready' }),
    /crash_item 1 is still ready, waiting for nothing/,
  ],
  [
    'a settled entity still waits to run',
    (draft) => Object.assign(entity(draft, item), { wait: { for: 'run', at: 0 } }),
    /crash_item 1 is completed and waits for run/,
  ],
  [
    'a pool leaks',
    (draft) => Object.assign(draft.pools[0]!, { taken: 1 }),
    /run:crash_item\/work has 1 taken that nobody uses/,
  ],
  [
    'the file is damaged',
    (draft) => {
      draft.integrity = ['row 7 missing from index entity_line']
    },
    /The database says of itself: row 7 missing/,
  ],
]
