import { type EntityId, rootLane } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { keyPool } from '../../pool.ts'
import { refusalOfBirth } from '../../refusal.ts'
import type { Birth, CreateVerdict, Signal } from '../../store.ts'
import { bear, hintOfWait, rootDescent, rowOfBirth } from './births.ts'
import { drawn } from './commit.ts'
import type { Session } from './database.ts'
import type { Desk } from './desk.ts'
import type { Facts } from './facts.ts'
import { decided, Ledger } from './ledger.ts'
import { end } from './operation.ts'
import { createSealed } from './sealed-birth.ts'
import { laneKey, Stock } from './stock.ts'
import { refusalOfBirthTexts } from './text-fault.ts'

export async function create(
  desk: Desk,
  operation: string,
  births: readonly Birth[],
): Promise<readonly CreateVerdict[]> {
  const { createMax } = desk.limits
  if (births.length > createMax) {
    throw new SluiceError(
      'invalid',
      `${births.length} entities in one create; at most ${createMax} are allowed. Create them in groups.`,
      {
        given: births.length,
        max: createMax,
      },
    )
  }
  const name = `create ${operation}`
  const sealed = births.length === 1 ? await createSealed(desk, name, births[0]!) : null
  if (sealed) {
    if (sealed.hints) desk.tell(sealed.hints, sealed.id)
    return [{ kind: 'saved', id: sealed.id }]
  }
  type Written = { readonly verdicts: readonly CreateVerdict[]; readonly hints: Signal | null }
  const lanes = new Set(births.map(({ machine, version }) => rootLane(machine, version)))
  const early = async (session: Session) => {
    const stock = new Stock(session, desk.dictionary)
    const [ids] = await Promise.all([
      drawn(session, 'entity_id', births.length),
      // Many take a while to be made ready: others need not wait for their lanes meanwhile.
      births.length <= fewMax && births.every(({ key }) => key === null) ? loadLanes(stock) : undefined,
    ])
    return { stock, ids }
  }
  const loadLanes = (stock: Stock) => stock.loadLanes({ names: [...lanes].map((name) => ({ parent: null, name })) })
  const write = async (session: Session, facts: Facts, { stock, ids }: Drawn): Promise<Written> => {
    const refusals = births.map((birth) => refusalOfBirth(birth, desk.limits) ?? refusalOfBirthTexts(birth))
    const holders = await takeKeys(session, births, refusals, ids)
    if (stock.laneIds.size === 0) await loadLanes(stock)
    const { ledger, result } = await decided(
      stock,
      () => new Ledger(desk, facts, stock, { entities: [], stagings: [] }),
      (ledger) =>
        births.map((birth, index): CreateVerdict => {
          const refusal = refusals[index]
          if (refusal) return { kind: 'refused', message: refusal }
          const holder = birth.key === null ? undefined : holders.get(birth.key)
          const id = ids[index]!
          if (holder !== undefined && holder !== id) return { kind: 'existing', id: holder }
          createOne(ledger, birth, id)
          return { kind: 'saved', id }
        }),
    )
    for (const name of lanes) {
      const id = stock.laneIds.get(laneKey(null, name))
      if (id) desk.rootLaneIds.set(name, id)
    }
    ledger.flush(session)
    end(session, name, JSON.stringify(result), ledger.changes.text(), facts.now)
    void session.commit()
    return { verdicts: result, hints: ledger.hints() }
  }
  const { verdicts, hints } = await desk.once(name, early, write, (known) => ({
    verdicts: JSON.parse(known),
    hints: null,
  }))
  if (hints) desk.tell(hints)
  return verdicts
}

/** So few that their lanes may be locked at once. */
const fewMax = 100

interface Drawn {
  readonly stock: Stock
  readonly ids: readonly EntityId[]
}

/**
 * Takes the keys, each for the first that names it, and says who has them: whoever took one before, or is taking it now in a transaction
 * that this one waits for. In order, so that two who take the same keys do not wait for each other.
 */
async function takeKeys(
  session: Session,
  births: readonly Birth[],
  refusals: readonly (string | null)[],
  ids: readonly EntityId[],
): Promise<ReadonlyMap<string, EntityId>> {
  const wanted = new Map<string, EntityId>()
  for (const [index, { key }] of births.entries())
    if (key !== null && !refusals[index] && !wanted.has(key)) wanted.set(key, ids[index]!)
  if (wanted.size === 0) return wanted
  const keys = [...wanted.keys()].sort()
  const pools = keys.map(keyPool)
  session.send(
    `INSERT INTO pool_share (pool, entity, amount, turn) SELECT pool, entity, 1, 0 FROM unnest($1::text[], $2::int8[]) AS u (pool, entity)
     ORDER BY pool ON CONFLICT DO NOTHING`,
    [pools, keys.map((key) => wanted.get(key)!)],
  )
  const held = await session.all('SELECT pool, entity FROM pool_share WHERE pool = ANY($1::text[])', [pools])
  const prefix = keyPool('').length
  return new Map((held as [string, EntityId][]).map(([pool, entity]) => [pool.slice(prefix), entity]))
}

function createOne(ledger: Ledger, birth: Birth, id: EntityId): void {
  const { lanes, dictionary } = ledger
  const { machine, version } = birth
  const lane = lanes.makeFor(null, rootLane(machine, version), dictionary.machine(machine, version), [])
  const row = rowOfBirth(ledger, birth, id, lane, rootDescent)
  row.reason = lanes.reasonIn(lane, birth.reason)
  lanes.count(lane, null, ledger.figure(row))
  bear(ledger, row, lane)
  ledger.changes.born(id)
  hintOfWait(ledger, row)
}
