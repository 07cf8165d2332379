import { existsSync, statSync } from 'node:fs'
import { masked } from '../../masked.ts'
import { Database } from '../../store/sqlite/database.ts'
import { parseStoreAddress, postgresPlace, type StoreAddress } from '../../store-address.ts'
import type { Layout } from '../family/layout.ts'
import { counted, countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { migrationOf } from '../migration.ts'
import { momentOf } from '../moment.ts'
import { holdToLook } from '../place.ts'
import { sizeOf } from '../size.ts'
import { plain } from '../text.ts'
import { type Found, note, trouble, well } from './finding.ts'

export async function storeFindings(store: string, full: boolean): Promise<readonly Found[]> {
  const address = parseStoreAddress(store)
  switch (address.kind) {
    case 'memory':
      return [note('A store in memory ends with its process; there is nothing to look at.')]
    case 'sqlite':
      return existsSync(address.file)
        ? fileFindings(address.file, full)
        : [note(`There is none yet at ${plain(address.file, 200)}.`)]
    case 'postgres':
      return serverFindings(address)
    default:
      return address satisfies never
  }
}

/** Whether there is work to look at. What cannot be asked has been told by then. */
export async function isThere(store: string): Promise<boolean> {
  const address = parseStoreAddress(store)
  if (address.kind === 'memory') return false
  if (address.kind === 'sqlite') return existsSync(address.file)
  try {
    const { from, to } = await migrationOf(store)
    return from === to
  } catch {
    return false
  }
}

/** Opening it checks it: all of a small file, the small tables of a big one. */
function fileFindings(file: string, full: boolean): readonly Found[] {
  const { size } = statSync(file)
  const database = new Database(file)
  try {
    const faults = full ? database.all('PRAGMA quick_check(5)').map(([text]) => String(text)) : ['ok']
    const broken = faults.filter((text) => text !== 'ok')
    if (broken.length > 0)
      return [trouble(`${plain(file, 200)} is damaged: ${plain(broken.join('; '), 500)}. Restore it from a backup.`)]
    return [well(`${plain(file, 200)}, ${sizeOf(size)}${full ? ', every page read' : ''}: no fault found.`)]
  } finally {
    database.close()
  }
}

const verdicts = { ok: 'well', warning: 'note', error: 'trouble' } as const

/** The store knows best what to ask its server; whatever it has to say is told word for word, without passwords. */
async function serverFindings(address: Extract<StoreAddress, { kind: 'postgres' }>): Promise<readonly Found[]> {
  const { examine } = await import('../../store/postgres/index.ts')
  const findings = await examine(postgresPlace(address))
  return findings.map(({ level, what, advice }): Found => {
    const sentence = advice === null ? what : `${what} ${advice}`
    return { verdict: verdicts[level], sentence: plain(masked(sentence), 500) }
  })
}

/** A store from the future: the clock was set back, and all that waits for a time waits longer. */
const aheadMaxMs = 60_000

export async function workFindings(layout: Layout, host: Host): Promise<readonly Found[]> {
  const { control, stop } = await holdToLook(layout, {}, [])
  try {
    const [workers, lanes, drifts, { entities }] = await Promise.all([
      control.workers(),
      control.totals(),
      control.check([null]),
      control.list({ newestFirst: true, limit: 1 }),
    ])
    const open = lanes.reduce((all, lane) => all + lane.open, 0)
    const leases = workers.reduce((all, worker) => all + worker.leases, 0)
    const aheadMs = (entities[0]?.createdAt ?? 0) - host.clock.now()
    const at = `${counted(workers.length, 'worker')} ${workers.length === 1 ? 'holds' : 'hold'} ${counted(leases, 'lease')}; ${counted(open, 'root')} ${open === 1 ? 'is' : 'are'} open.`
    return [
      open > 0 && workers.length === 0 ? note(`${at} Nobody works: start sluice serve or sluice worker.`) : well(at),
      ...(drifts.length === 0
        ? []
        : [trouble(`${countOf(drifts.length)} counts are wrong: sluice repair mends them.`)]),
      ...(aheadMs > aheadMaxMs
        ? [
            trouble(
              `The newest entity was made at ${momentOf(entities[0]?.createdAt, host)}, which is to come: was the clock set back?`,
            ),
          ]
        : []),
    ]
  } finally {
    await stop()
  }
}
