import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Database } from '../../store/sqlite/database.ts'
import { localLayout, type ReachOptions } from '../control/reach.ts'
import { sentenceOf } from '../failure.ts'
import { type Layout, tokenFile } from '../family/layout.ts'
import { countOf, timeOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { holdToLook } from '../place.ts'
import { sizeOf } from '../size.ts'
import { plain, table } from '../text.ts'
import { versionOfPackage } from '../version.ts'

export interface DoctorOptions extends Pick<ReachOptions, 'folder' | 'store'> {
  readonly full?: boolean
  readonly json?: boolean
}

type Verdict = 'well' | 'note' | 'trouble'

/** What was looked at, and what was found. */
export interface Finding {
  readonly what: string
  readonly verdict: Verdict
  readonly sentence: string
}

/** Looks at all that a Sluice needs. Every look says one sentence; one that fails is a finding, not the end. */
export async function doctor(options: DoctorOptions, host: Host): Promise<number> {
  const layout = localLayout(options, host.environment)
  const findings: Finding[] = []
  const look = async (what: string, find: () => Promise<readonly Omit<Finding, 'what'>[]>) => {
    try {
      for (const finding of await find()) findings.push({ what, ...finding })
    } catch (error) {
      findings.push({ what, verdict: 'trouble', sentence: sentenceOf(error) })
    }
  }
  await look('program', async () => [programOf()])
  await look('clock', async () => [clockOf(host)])
  await look('folder', async () => folderOf(layout))
  await look('disk', async () => [await diskOf(layout)])
  await look('tokens', async () => tokensOf(layout))
  if (existsSync(layout.store)) {
    await look('store', async () => storeOf(layout, options.full === true))
    await look('work', async () => workOf(layout, host))
  } else
    findings.push({ what: 'store', verdict: 'note', sentence: `There is none yet at ${plain(layout.store, 200)}.` })
  const isWell = findings.every(({ verdict }) => verdict !== 'trouble')
  host.terminal.out(
    options.json ? `${JSON.stringify({ well: isWell, findings })}\n` : `${linesOf(findings, isWell).join('\n')}\n`,
  )
  return isWell ? 0 : 1
}

const well = (sentence: string) => ({ verdict: 'well', sentence }) as const
const note = (sentence: string) => ({ verdict: 'note', sentence }) as const
const trouble = (sentence: string) => ({ verdict: 'trouble', sentence }) as const

function programOf() {
  return well(`Sluice ${versionOfPackage()} on Node ${process.versions.node} with SQLite ${process.versions.sqlite}.`)
}

/** Before Sluice was written: a machine that does not know the time. */
const earliest = Date.UTC(2025, 0, 1)

function clockOf({ clock }: Host) {
  const now = clock.now()
  return now < earliest ? trouble(`It says ${timeOf(now)}, which cannot be. Set it.`) : well(`It says ${timeOf(now)}.`)
}

async function folderOf(layout: Layout) {
  const folder = dirname(resolve(layout.store))
  const probe = mkdtempSync(join(folder, '.sluice-doctor-'))
  rmSync(probe, { recursive: true })
  const locked = [layout.store, `${layout.store}-wal`, layout.upload, layout.jobs, layout.server]
    .filter((path) => existsSync(path) && !isWritable(path))
    .map((path) => trouble(`${plain(path, 200)} may not be written by this user.`))
  return locked.length > 0 ? locked : [well(`${plain(folder, 200)} can be written.`)]
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Less is gone in a moment. */
const freeMin = 256 * 1024 * 1024
/** NFS, CIFS, SMB 2, AFS: processes on several machines do not see each other's locks there. */
const networkTypes: readonly number[] = [0x6969, 0xff534d42, 0xfe534d42, 0x5346414f]

async function diskOf(layout: Layout) {
  const { bavail, bsize, type } = await statfs(dirname(resolve(layout.store)))
  if (networkTypes.includes(type))
    return trouble(
      'The store lies on a network drive, where its locks cannot be trusted. Move it to a disk of this machine.',
    )
  const free = bavail * bsize
  return free < freeMin ? trouble(`Only ${sizeOf(free)} are free. Make room.`) : well(`${sizeOf(free)} are free.`)
}

async function tokensOf(layout: Layout) {
  const file = tokenFile(layout)
  if (!existsSync(file)) return [note('There are none: a server answers to this machine only.')]
  const { openAccess } = await import('../../http/token-file.ts')
  const { systemClock } = await import('../../clock.ts')
  const tokens = await openAccess({ file, clock: systemClock() }).list()
  const others = statSync(file).mode & 0o077
  return others === 0
    ? [well(`${countOf(tokens.length)} in ${plain(file, 200)}.`)]
    : [trouble(`${plain(file, 200)} can be read by other users: chmod 600 it.`)]
}

/** Opening it checks it: all of a small file, the small tables of a big one. */
async function storeOf(layout: Layout, full: boolean) {
  const { size } = statSync(layout.store)
  const database = new Database(layout.store)
  try {
    const faults = full ? database.all('PRAGMA quick_check(5)').map(([text]) => String(text)) : ['ok']
    const broken = faults.filter((text) => text !== 'ok')
    if (broken.length > 0)
      return [
        trouble(`${plain(layout.store, 200)} is damaged: ${plain(broken.join('; '), 500)}. Restore it from a backup.`),
      ]
    return [well(`${plain(layout.store, 200)}, ${sizeOf(size)}${full ? ', every page read' : ''}: no fault found.`)]
  } finally {
    database.close()
  }
}

/** A store from the future: the clock was set back, and all that waits for a time waits longer. */
const aheadMaxMs = 60_000

async function workOf(layout: Layout, { clock }: Host) {
  const { control, stop } = await holdToLook({ store: layout.store, folder: layout.upload }, [])
  try {
    const [workers, lanes, drifts, { entities }] = await Promise.all([
      control.workers(),
      control.totals(),
      control.check([null]),
      control.list({ newestFirst: true, limit: 1 }),
    ])
    const open = lanes.reduce((all, lane) => all + lane.open, 0)
    const leases = workers.reduce((all, worker) => all + worker.leases, 0)
    const aheadMs = (entities[0]?.createdAt ?? 0) - clock.now()
    const at = `${countOf(workers.length)} workers hold ${countOf(leases)} leases; ${countOf(open)} roots are open.`
    return [
      open > 0 && workers.length === 0 ? note(`${at} Nobody works: start sluice serve or sluice worker.`) : well(at),
      ...(drifts.length === 0
        ? []
        : [trouble(`${countOf(drifts.length)} counts are wrong: sluice repair mends them.`)]),
      ...(aheadMs > aheadMaxMs
        ? [
            trouble(
              `The newest entity was made at ${timeOf(entities[0]?.createdAt)}, which is to come: was the clock set back?`,
            ),
          ]
        : []),
    ]
  } finally {
    await stop()
  }
}

const marks: Readonly<Record<Verdict, string>> = { well: 'ok', note: 'note', trouble: 'TROUBLE' }

function linesOf(findings: readonly Finding[], isWell: boolean): readonly string[] {
  return [
    ...table(
      findings.map(({ what, verdict, sentence }) => [marks[verdict], what, sentence]),
      '',
    ),
    '',
    isWell ? 'All is well.' : 'Something is not well; see above.',
  ]
}
