import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { checkMachine } from '../../check-machine.ts'
import { machineWarnings } from '../../machine-warning.ts'
import { storeFile } from '../../store-address.ts'
import { sentenceOf } from '../failure.ts'
import { type Layout, tokenFile } from '../family/layout.ts'
import { implementationsIn } from '../family/machine-modules.ts'
import { countOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { type MemorySetting, memorySettings } from '../memory-flags.ts'
import { momentOf } from '../moment.ts'
import { localLayout, type Place } from '../place.ts'
import { sizeOf } from '../size.ts'
import { plain, table } from '../text.ts'
import { versionOfPackage } from '../version.ts'
import { type Finding, type Found, note, trouble, well } from './finding.ts'
import { indexFindings } from './index-findings.ts'
import { isThere, storeFindings, workFindings } from './store-findings.ts'

export interface DoctorOptions extends Pick<Place, 'folder' | 'store'> {
  readonly full?: boolean
  /** Modules of machines to be checked. */
  readonly machines?: readonly string[]
  readonly json?: boolean
}

/** Looks at all that a Sluice needs. Every look says one sentence; one that fails is a finding, not the end. */
export async function doctor(options: DoctorOptions, host: Host): Promise<number> {
  const layout = localLayout(options, host.environment)
  const findings: Finding[] = []
  const look = async (what: string, find: () => Promise<readonly Found[]>) => {
    try {
      for (const finding of await find()) findings.push({ what, ...finding })
    } catch (error) {
      findings.push({ what, verdict: 'trouble', sentence: sentenceOf(error) })
    }
  }
  await look('program', async () => [programOf()])
  await look('memory', async () => [memoryOf()])
  await look('clock', async () => [clockOf(host)])
  await look('folder', async () => folderOf(layout))
  await look('disk', async () => [await diskOf(layout)])
  await look('tokens', async () => tokensOf(layout))
  await look('store', async () => storeFindings(layout.store, options.full === true))
  if (await isThere(layout.store)) await look('work', async () => workFindings(layout, host))
  if (await isThere(layout.store)) await look('search index', async () => indexFindings(layout))
  for (const module of options.machines ?? []) await look('machines', () => machineFindings(module))
  const isWell = findings.every(({ verdict }) => verdict !== 'trouble')
  host.terminal.out(
    options.json ? `${JSON.stringify({ well: isWell, findings })}\n` : `${linesOf(findings, isWell).join('\n')}\n`,
  )
  return isWell ? 0 : 1
}

function programOf(): Found {
  return well(`Sluice ${versionOfPackage()} on Node ${process.versions.node} with SQLite ${process.versions.sqlite}.`)
}

/** What limits the memory of every command, the user's code in it included, and who set it. */
function memoryOf(): Found {
  const { heapMax, oldSpace, semiSpace } = memorySettings()
  return well(
    `A process may hold ${sizeOf(heapMax)} of objects (--max-old-space-size: ${settingText(oldSpace)}; --max-semi-space-size: ${settingText(semiSpace)}).`,
  )
}

function settingText({ value, source }: MemorySetting): string {
  return source === 'Node'
    ? 'not set'
    : `${value} MiB, set by ${source === 'command line' ? 'the command line' : source}`
}

/** Before Sluice was written: a machine that does not know the time. */
const earliest = Date.UTC(2025, 0, 1)

function clockOf(host: Host): Found {
  const now = host.clock.now()
  return now < earliest
    ? trouble(`It says ${momentOf(now, host)}, which cannot be. Set it.`)
    : well(`It says ${momentOf(now, host)}.`)
}

/** Where the store is, or at least the files that belong to it. */
function folderPath(layout: Layout): string {
  return layout.store === 'memory:' ? tmpdir() : dirname(resolve(storeFile(layout.store) ?? layout.upload))
}

async function folderOf(layout: Layout): Promise<readonly Found[]> {
  const folder = folderPath(layout)
  const file = storeFile(layout.store)
  if (!existsSync(folder)) return [trouble(`${plain(folder, 200)} does not exist.`)]
  const probe = mkdtempSync(join(folder, '.sluice-doctor-'))
  rmSync(probe, { recursive: true })
  const locked = [...(file === null ? [] : [file, `${file}-wal`]), layout.upload, layout.jobs, layout.server]
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

async function diskOf(layout: Layout): Promise<Found> {
  const folder = folderPath(layout)
  if (!existsSync(folder)) return note('It is looked at once the folder exists.')
  const { bavail, bsize, type } = await statfs(folder)
  if (networkTypes.includes(type)) {
    const what = storeFile(layout.store) === null ? 'The folder, with databases of its own,' : 'The store'
    return trouble(`${what} lies on a network drive, where locks cannot be trusted. Move it to a disk of this machine.`)
  }
  const free = bavail * bsize
  return free < freeMin ? trouble(`Only ${sizeOf(free)} are free. Make room.`) : well(`${sizeOf(free)} are free.`)
}

async function tokensOf(layout: Layout): Promise<readonly Found[]> {
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

async function machineFindings(module: string): Promise<readonly Found[]> {
  const machines = (await implementationsIn(module)).map(({ machine }) => machine)
  const found = machines.flatMap((machine) => [
    ...checkMachine(machine).map(({ message }) => trouble(plain(message, 500))),
    ...machineWarnings(machine).map(({ message }) => note(plain(message, 500))),
  ])
  const names = machines.map(({ name, version }) => `${name}@${version}`).join(', ')
  return found.length > 0 ? found : [well(`${plain(module, 200)}: ${plain(names, 500)}.`)]
}

const marks: Readonly<Record<Finding['verdict'], string>> = { well: 'ok', note: 'note', trouble: 'TROUBLE' }

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
