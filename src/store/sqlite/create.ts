import { rootLane } from '../../entity.ts'
import { SluiceError } from '../../errors.ts'
import { refusalOfBirth } from '../../refusal.ts'
import type { Birth, CreateVerdict } from '../../store.ts'
import { bear, hintOfWait, rootDescent, rowOfBirth } from './births.ts'
import { isRefusedFault } from './fault.ts'
import type { LaneRow } from './lanes.ts'
import type { Ledger } from './ledger.ts'

export function create(ledger: Ledger, operation: string, births: readonly Birth[]): readonly CreateVerdict[] {
  const { createMax } = ledger.limits
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
  try {
    return ledger.write((now) => createAll(ledger, operation, births, now, null))
  } catch (error) {
    if (!isRefusedFault(error)) throw error
    // One of them is none that the database will have: each is tried by itself.
    return ledger.write((now) => createAll(ledger, operation, births, now, error.message))
  }
}

function createAll(
  ledger: Ledger,
  operation: string,
  births: readonly Birth[],
  now: number,
  carefulOf: string | null,
): readonly CreateVerdict[] {
  const { database, feed } = ledger
  const name = `create ${operation}`
  const known = feed.verdicts(name, now)
  if (known !== null) return JSON.parse(known)
  let id = database.take('entity', births.length) - births.length
  const lanes = new Map<string, LaneRow>()
  const verdicts = births.map((birth): CreateVerdict => {
    id += 1
    if (carefulOf === null) return createOne(ledger, birth, id, now, lanes)
    lanes.clear()
    return ledger.carefully((): CreateVerdict => createOne(ledger, birth, id, now, lanes), {
      kind: 'refused',
      message: carefulOf,
    })
  })
  feed.close(name, JSON.stringify(verdicts), now)
  return verdicts
}

function createOne(ledger: Ledger, birth: Birth, id: number, now: number, lanes: Map<string, LaneRow>): CreateVerdict {
  const message = refusalOfBirth(birth, ledger.limits)
  if (message) return { kind: 'refused', message }
  const existing = birth.key === null ? null : ledger.pools.holderOfKey(birth.key)
  if (existing !== null) return { kind: 'existing', id: existing }
  const lane = laneOf(ledger, birth, lanes)
  const row = rowOfBirth(ledger, birth, id, lane, rootDescent, now)
  row.reason = ledger.lanes.reasonIn(lane, birth.reason)
  ledger.lanes.count(lane, null, ledger.figure(row))
  bear(ledger, row, lane, now)
  ledger.feed.born(id)
  hintOfWait(ledger, row)
  return { kind: 'saved', id }
}

function laneOf(ledger: Ledger, { machine, version }: Birth, lanes: Map<string, LaneRow>): LaneRow {
  const name = rootLane(machine, version)
  let lane = lanes.get(name)
  if (!lane) {
    lane = ledger.lanes.makeFor(null, name, ledger.dictionary.machine(machine, version), [])
    lanes.set(name, lane)
  }
  return lane
}
