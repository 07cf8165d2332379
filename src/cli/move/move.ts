import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SluiceError } from '../../errors.ts'
import { openStore } from '../../index.ts'
import { parseStoreAddress, postgresPlace, shownStore, storeFile } from '../../store-address.ts'
import { abandonMove, copyStore, type Moved, moveStore, type Side } from '../../transfer/moving.ts'
import type { Watcher } from '../../transfer/watcher.ts'
import type { Report, Transfer } from '../../transfer.ts'
import { countOf, durationOf } from '../figures.ts'
import type { Host } from '../host.ts'
import { Interrupt, interruptedExit } from '../interrupt.ts'
import { ProgressBar } from '../progress-bar.ts'
import { plain, table } from '../text.ts'

export interface MoveOptions {
  readonly from?: string
  readonly to?: string
  readonly wait: number
  readonly copy?: boolean
  readonly abandon?: boolean
  readonly json?: boolean
}

/** Carries a store into another one; or takes back what was begun. */
export async function move(options: MoveOptions, host: Host): Promise<number> {
  const { from, to } = options
  if (options.copy && options.abandon) throw new SluiceError('invalid', 'Give --copy or --abandon, not both.')
  if (options.abandon) return abandon(options, host)
  if (from === undefined || to === undefined) {
    throw new SluiceError('invalid', 'Name the store that is moved by --from, and where to by --to.')
  }
  if (sameStore(from, to)) throw new SluiceError('invalid', `--from and --to are the same store: ${shownStore(from)}.`)
  refuseMissingFile(from)
  makeFolder(to)
  return moveOrCopy({ ...options, from, to }, host)
}

type Named = MoveOptions & { readonly from: string; readonly to: string }

async function moveOrCopy(options: Named, { clock, terminal, signals, exit }: Host): Promise<number> {
  const bar = new ProgressBar(terminal, () => clock.now())
  const interrupt = new Interrupt(
    signals,
    () => {
      bar.clear()
      terminal.err('Stopping behind the group that is being written; once more to leave at once.\n')
    },
    exit,
  )
  const begun = clock.now()
  try {
    const moved = await withSides(options, (source, target) =>
      withStore(options.from, (store) => {
        const order = options.copy ? copyStore : moveStore
        const watcher = watcherOn(bar, interrupt.signal)
        return order({ source, store, target, clock, waitMs: options.wait, watcher })
      }),
    )
    bar.clear()
    terminal.out(options.json ? jsonOf(options, moved, clock.now() - begun) : told(options, moved, clock.now() - begun))
    return 0
  } catch (error) {
    bar.clear()
    if (!interrupt.isAsked) throw error
    terminal.err(
      `Stopped. ${options.copy ? 'The same command begins anew.' : 'Nothing is lost; run the same command again to go on, or with --abandon.'}\n`,
    )
    return interruptedExit
  } finally {
    interrupt.close()
  }
}

async function abandon({ from, to, json }: MoveOptions, { terminal }: Host): Promise<number> {
  if (from === undefined && to === undefined) {
    throw new SluiceError('invalid', 'Name the two stores by --from and --to; or one of them, if the other is lost.')
  }
  for (const address of [from, to]) if (address !== undefined) refuseMissingFile(address)
  const source = from === undefined ? null : await sideOf(from)
  try {
    const target = to === undefined ? null : await sideOf(to)
    try {
      await abandonMove({ source, target })
    } finally {
      await target?.transfer.close()
    }
  } finally {
    await source?.transfer.close()
  }
  const places = { from: from === undefined ? null : shownStore(from), to: to === undefined ? null : shownStore(to) }
  const sentences = [
    'The move was taken back.',
    ...(places.from === null ? [] : [`${places.from} may be used again.`]),
    ...(places.to === null ? [] : [`${places.to} is empty.`]),
  ]
  terminal.out(json ? `${JSON.stringify({ ...places, abandoned: true })}\n` : `${plain(sentences.join(' '))}\n`)
  return 0
}

function watcherOn(bar: ProgressBar, signal: AbortSignal): Watcher {
  return {
    signal,
    onProgress({ phase, section, done, total }) {
      if (phase === 'waiting')
        bar.show({ phase: 'waiting for workers to be gone', done: 0, total: null, unit: 'items' })
      else if (total > 0) bar.show({ phase: `${phase} ${section?.replace('_', ' ')}`, done, total, unit: 'items' })
    },
  }
}

function jsonOf({ from, to, copy = false }: Named, { report, isResumed }: Moved, tookMs: number): string {
  const places = { from: shownStore(from), to: shownStore(to) }
  return `${JSON.stringify({ ...places, copied: copy, resumed: isResumed, sections: report, took: tookMs })}\n`
}

function told({ from, to, copy }: Named, { report, isResumed }: Moved, tookMs: number): string {
  const entities = report.find(({ name }) => name === 'entities')?.count ?? 0
  const first = `${copy ? 'Copied' : 'Moved'} ${countOf(entities)} entities from ${shownStore(from)} to ${shownStore(to)} in ${durationOf(tookMs)}${isResumed ? ', going on from before' : ''}. Both were compared record by record.`
  const last = copy ? [] : ['', `The source is closed. Start on the other one: sluice serve --store ${shownStore(to)}`]
  return `${[plain(first), '', ...tableOf(report), ...last.map((line) => plain(line))].join('\n')}\n`
}

function tableOf(report: Report): readonly string[] {
  return table(report.map(({ name, count, digest }) => [name.replace('_', ' '), count, digest.slice(0, 16)]))
}

async function withSides<Result>(
  { from, to }: Named,
  work: (source: Side, target: Side) => Promise<Result>,
): Promise<Result> {
  const source = await sideOf(from)
  try {
    const target = await sideOf(to)
    try {
      return await work(source, target)
    } finally {
      await target.transfer.close()
    }
  } finally {
    await source.transfer.close()
  }
}

async function withStore<Result>(
  address: string,
  work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(address)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function sideOf(text: string): Promise<Side> {
  return { transfer: await openTransfer(text), place: shownStore(text) }
}

async function openTransfer(text: string): Promise<Transfer> {
  const address = parseStoreAddress(text)
  switch (address.kind) {
    case 'memory':
      throw new SluiceError('invalid', 'A store in memory ends with its process: it can neither be moved nor moved to.')
    case 'sqlite': {
      const { sqliteTransfer } = await import('../../store/sqlite/index.ts')
      return sqliteTransfer({ file: address.file })
    }
    case 'postgres': {
      const { postgresTransfer } = await import('../../store/postgres/index.ts')
      return postgresTransfer(postgresPlace(address))
    }
    default:
      return address satisfies never
  }
}

function sameStore(one: string, other: string): boolean {
  const [file, otherFile] = [storeFile(one), storeFile(other)]
  return file !== null && otherFile !== null ? resolve(file) === resolve(otherFile) : one === other
}

/** Opening a file makes it. */
function refuseMissingFile(address: string): void {
  const file = storeFile(address)
  if (file !== null && !existsSync(file))
    throw new SluiceError('not_found', `There is no store at ${shownStore(address)}.`)
}

function makeFolder(address: string): void {
  const file = storeFile(address)
  if (file !== null) mkdirSync(dirname(file), { recursive: true })
}
