import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { Logger } from 'pino'
import { systemClock } from '../../clock.ts'
import type { Control } from '../../control.ts'
import { Engine } from '../../engine/engine.ts'
import { whenStoreAnswers } from '../../engine/store-answer.ts'
import { walkMachine } from '../../engine/walk.ts'
import { openStore } from '../../index.ts'
import type { RunFigures } from '../../run-figures.ts'
import { shownStore, storeFile } from '../../store-address.ts'
import { type OpenFamilies, openFamilies } from '../family/families.ts'
import type { Layout } from '../family/layout.ts'
import { openLog } from '../log.ts'
import { migrationOf, refuseOlder } from '../migration.ts'
import { plain } from '../text.ts'
import { versionOfPackage } from '../version.ts'
import { servedMachines, serving } from './served-machines.ts'
import type { Settings } from './settings.ts'

/** An engine at work on a store, with all its families. */
export interface Works {
  readonly control: Control
  readonly families: OpenFamilies
  /** `name@version` of what it works on. */
  readonly machines: readonly string[]
  readonly log: Logger
  readonly version: string
  /** What the engine has done since it started. */
  figures(): RunFigures
  stop(): Promise<void>
}

/** Where the store is; and where the families' files are, if that is not the same place. */
export function placeRows({ store, upload }: Layout, about = ''): readonly (readonly [string, string])[] {
  const rows = [['store', `${plain(shownStore(store), 200)}${about}`]] as const
  return storeFile(store) === null ? [...rows, ['folder', plain(dirname(resolve(upload)), 200)]] : rows
}

export async function openWorks(settings: Settings): Promise<Works> {
  const { layout, name, roles, connections, startMs } = settings
  // Results are on standard output, so logs are on the error stream.
  const log = openLog(settings.log)
  const file = storeFile(layout.store)
  if (!settings.migrate && layout.store !== 'memory:') {
    const migration = () => migrationOf(layout.store)
    refuseOlder(layout.store, await whenStoreAnswers(migration, systemClock(), log, startMs))
  }
  if (file !== null) mkdirSync(dirname(file), { recursive: true })
  const families = await openFamilies(settings)
  try {
    const { implementations } = families
    const served = servedMachines(settings.serves, [...implementations.map(({ machine }) => machine), walkMachine])
    const store = await openStore(layout.store, connections === null ? {} : { connectionsMax: connections })
    try {
      const version = versionOfPackage()
      const engine = new Engine({
        store: served === null ? store : serving(store, served),
        implementations,
        limits: { startMs },
        log,
        host: hostname(),
        pid: process.pid,
        program: `sluice ${version}`,
        ...(name === null ? {} : { name }),
        ...(roles.length === 0 ? {} : { roles }),
      })
      await engine.start()
      const stop = async () => {
        try {
          await engine.stop()
          await store.close()
        } finally {
          await families.stop()
        }
      }
      const machines = served === null ? families.machines : [...served]
      return { control: engine.control, families, machines, log, version, figures: () => engine.figures(), stop }
    } catch (error) {
      await store.close()
      throw error
    }
  } catch (error) {
    await families.stop()
    throw error
  }
}
