import type { Control, Detail } from '../../control.ts'
import type { EntityId } from '../../entity.ts'
import { messageOf, SluiceError } from '../../errors.ts'
import { type Claim, type Deed, readStory, type Sentence } from './story.ts'
import { type TestKit, type TestKitOptions, testKit } from './test-kit.ts'
import type { Reference } from './words.ts'

/** What a kit's stories have named so far, so that one may go on where another ended. */
interface Names {
  readonly entities: Map<string, EntityId>
  readonly holds: Map<string, number>
}

const namesByKit = new WeakMap<TestKit, Names>()

/**
 * Tells a story and checks it, line by line (story.ts has the language). Throws at the first line that is not true, with what was
 * expected and what was found. Given options, it opens a kit for this story alone.
 */
export async function scenario(given: TestKit | TestKitOptions, text: string): Promise<void> {
  const story = readStory(text)
  if ('drain' in given) return play(given, story)
  const kit = testKit(given)
  await play(kit, story)
  // After a failure there is nothing to stop: all time is virtual, and stands still.
  await kit.stop()
}

/** The id of what a story on this kit has named, to go on with it in code. */
export function named(kit: TestKit, name: string): EntityId {
  const names = namesByKit.get(kit)?.entities ?? new Map<string, EntityId>()
  const id = names.get(name)
  if (id === undefined) throw new SluiceError('not_found', unknown(name, names).message, { name })
  return id
}

async function play(kit: TestKit, story: readonly Sentence[]): Promise<void> {
  const names = namesByKit.get(kit) ?? { entities: new Map(), holds: new Map() }
  namesByKit.set(kit, names)
  for (const sentence of story) {
    try {
      await say(kit, names, sentence)
    } catch (error) {
      const message = `line ${sentence.line}: ${sentence.text}\n  ${messageOf(error)}`
      throw new SluiceError('conflict', message, { line: sentence.line }, error)
    }
  }
}

async function say(kit: TestKit, names: Names, sentence: Deed | Claim): Promise<void> {
  const { control } = kit
  switch (sentence.kind) {
    case 'submit': {
      const { id } = await control.submit(sentence.machine, sentence.data, sentence.options)
      if (sentence.name !== null) names.entities.set(sentence.name, id)
      return
    }
    case 'act':
      await control.act(await idOf(control, names, sentence.entity), sentence.action, {
        confirmed: true,
        ...sentence.options,
      })
      return
    case 'hold':
      return hold(kit, names, sentence)
    case 'release':
      return release(control, names, sentence.name)
    case 'prioritise':
      return control.prioritise(await idOf(control, names, sentence.entity), sentence.priority)
    case 'drain':
      return kit.drain(sentence.withinMs === null ? {} : { within: sentence.withinMs })
    case 'after':
      return kit.advance(sentence.forMs)
    case 'crash':
      return kit.crash(sentence.engine ?? undefined)
    case 'trap':
      return kit.crashAt(sentence.when, sentence.processor)
    case 'restart':
      return kit.restart()
    case 'effects':
      return expectEqual(kit.effects.count(sentence.name), sentence.count, `effects of ${sentence.name}`)
    default:
      return check(control, await idOf(control, names, sentence.entity), sentence)
  }
}

async function hold({ control, clock }: TestKit, names: Names, deed: Extract<Deed, { kind: 'hold' }>): Promise<void> {
  const { entity, children, ...rest } = deed.scope
  const scope = {
    ...rest,
    ...(entity ? { entity: await idOf(control, names, entity) } : {}),
    ...(children ? { parent: await idOf(control, names, children) } : {}),
  }
  const until = deed.forMs === null ? {} : { until: clock.now() + deed.forMs }
  const { id } = await control.hold(scope, { reason: deed.because, owner: deed.by, ...until })
  names.holds.set(deed.name, id)
}

async function release(control: Control, names: Names, name: string): Promise<void> {
  const id = names.holds.get(name)
  if (id === undefined) throw unknown(name, names.holds)
  await control.release(id)
}

// ---- What must be true ----

async function check(control: Control, id: EntityId, claim: Exclude<Claim, { kind: 'effects' }>): Promise<void> {
  switch (claim.kind) {
    case 'state':
      return checkState(control, id, claim.path, claim.because)
    case 'can': {
      const { actions } = await control.get(id)
      const open = actions.filter(({ refusal }) => refusal === null).map(({ action }) => action)
      if (open.includes(claim.action) === claim.open) return
      const refused = actions.filter(({ action, refusal }) => action === claim.action && refusal !== null)
      const why = refused.map(({ refusal }) => ` It is refused: ${refusal}`).join('')
      throw new Error(`Found that it can: ${open.join(', ') || 'nothing'}.${why} ${await whereabouts(control, id)}`)
    }
    case 'explain': {
      const { kind, sentence } = await control.explain(id)
      if (kind !== claim.expected) throw new Error(`Expected ${claim.expected}, found ${kind}: ${sentence}`)
      return
    }
    case 'data': {
      const { data } = await control.get(id)
      if (contains(data, claim.fields)) return
      throw new Error(`Expected ${JSON.stringify(claim.fields)}, found ${JSON.stringify(data)}.`)
    }
    case 'children':
      return checkChildren(control, id, claim.lane, claim.counts)
    default:
      claim satisfies never
  }
}

async function checkState(
  control: Control,
  id: EntityId,
  path: readonly string[],
  because: string | null,
): Promise<void> {
  const detail = await control.get(id)
  const found = await pathOf(control, detail)
  const isThere = path.length === 1 ? [detail.state, detail.shown].includes(path[0]!) : endsWith(found, path)
  if (!isThere) throw new Error(`Expected ${path.join(' -> ')}. ${await whereabouts(control, id)}`)
  const reasons = [detail.reason, detail.error].filter((text) => text !== null)
  if (because === null || reasons.some((text) => text.includes(because))) return
  throw new Error(`Expected the reason "${because}", found ${reasons.map((text) => `"${text}"`).join(', ') || 'none'}.`)
}

async function checkChildren(
  control: Control,
  id: EntityId,
  lane: string | null,
  expected: ReadonlyMap<string, number>,
): Promise<void> {
  const lanes = (await control.lanes(id)).filter(({ name }) => lane === null || name === lane)
  const found = new Map<string, number>()
  for (const { counts } of lanes) {
    for (const [state, count] of Object.entries(counts)) found.set(state, (found.get(state) ?? 0) + count)
  }
  const states = new Set([...expected.keys(), ...found.keys()])
  if ([...states].every((state) => (expected.get(state) ?? 0) === (found.get(state) ?? 0))) return
  const all = (await control.lanes(id)).map(({ name }) => name)
  const where =
    lane !== null && lanes.length === 0 ? ` There is no lane ${lane}; there are: ${all.join(', ') || 'none'}.` : ''
  throw new Error(`Expected ${countsText(expected)}; found ${countsText(found)}.${where}`)
}

function expectEqual(found: number, expected: number, what: string): void {
  if (found !== expected) throw new Error(`Expected ${expected} ${what}, found ${found}.`)
}

/** Every state that it was in, the one it is shown in included. */
async function pathOf(control: Control, detail: Detail): Promise<readonly string[]> {
  if (detail.purged) return [detail.state]
  const path: string[] = []
  for (let afterSeq: number | undefined; ; ) {
    const events = await control.history(detail.id, afterSeq === undefined ? {} : { afterSeq })
    path.push(...events.flatMap(({ to }) => to ?? []))
    const last = events.at(-1)
    if (!last || last.seq >= detail.seq) break
    afterSeq = last.seq
  }
  return detail.shown === detail.state ? path : [...path, detail.shown]
}

/** Whether the path ends so; `...` stands for any number of hops, also none. */
function endsWith(path: readonly string[], expected: readonly string[]): boolean {
  const last = expected.at(-1)
  if (last === undefined) return true
  const rest = expected.slice(0, -1)
  if (last !== '...') return path.at(-1) === last && endsWith(path.slice(0, -1), rest)
  return path.some((_, index) => endsWith(path.slice(0, path.length - index), rest)) || rest.length === 0
}

async function whereabouts(control: Control, id: EntityId): Promise<string> {
  const detail = await control.get(id)
  const { machine, reason, error } = detail
  const why = reason ?? error
  const path = await pathOf(control, detail)
  const { sentence } = await control.explain(id)
  return `Found ${machine} ${id} ${detail.shown}${why === null ? '' : ` (${why})`}; its history: ${path.join(' -> ')}. ${sentence}`
}

// ---- Names ----

async function idOf(control: Control, names: Names, { name, steps }: Reference): Promise<EntityId> {
  const root = names.entities.get(name)
  if (root === undefined) throw unknown(name, names.entities)
  let id = root
  for (const { lane, position } of steps) {
    const child = await childAt(control, id, lane, position)
    if (child === null) {
      const lanes = (await control.lanes(id)).map((lane) => `${lane.name} (${lane.total})`)
      throw new Error(`${id} has no child ${lane}#${position}; its lanes: ${lanes.join(', ') || 'none'}.`)
    }
    id = child
  }
  return id
}

async function childAt(control: Control, parent: EntityId, lane: string, position: number): Promise<EntityId | null> {
  let before = 0
  for (let after: EntityId | undefined; ; ) {
    const page = await control.list({ parent, lane, ...(after === undefined ? {} : { after }) })
    const child = page.entities[position - before - 1]
    if (child) return child.id
    if (page.next === null) return null
    before += page.entities.length
    after = page.next
  }
}

function unknown(name: string, known: ReadonlyMap<string, number>): Error {
  return new Error(
    `Nothing is called ${name}; known: ${[...known.keys()].join(', ') || 'nothing yet'}. Write "as ${name}" where it is made.`,
  )
}

function countsText(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([state, count]) => `${state} ${count}`).join(', ') || 'no children'
}

/** Whether all that is expected is there. Objects may have more fields; lists may not be longer. */
function contains(found: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return found === expected
  if (typeof found !== 'object' || found === null || Array.isArray(found) !== Array.isArray(expected)) return false
  if (Array.isArray(expected) && (found as readonly unknown[]).length !== expected.length) return false
  return Object.entries(expected).every(
    ([key, value]) => Object.hasOwn(found, key) && contains((found as Record<string, unknown>)[key], value),
  )
}
