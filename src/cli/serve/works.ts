import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { type Logger, pino } from 'pino'
import type { Control } from '../../control.ts'
import { Engine } from '../../engine/engine.ts'
import { sqliteStore } from '../../store/sqlite/index.ts'
import { type OpenFamilies, openFamilies } from '../family/families.ts'
import { versionOfPackage } from '../version.ts'
import type { Settings } from './settings.ts'

/** An engine at work on a store, with all its families. */
export interface Works {
  readonly control: Control
  readonly families: OpenFamilies
  readonly log: Logger
  readonly version: string
  stop(): Promise<void>
}

export async function openWorks(settings: Settings): Promise<Works> {
  const { layout, name, roles } = settings
  // Results are on standard output, so logs are on the error stream.
  const log = pino({ level: settings.log }, pino.destination({ fd: 2, sync: true }))
  mkdirSync(dirname(layout.store), { recursive: true })
  const families = await openFamilies(settings)
  try {
    const store = await sqliteStore({ file: layout.store })
    try {
      const version = versionOfPackage()
      const engine = new Engine({
        store,
        implementations: families.implementations,
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
      return { control: engine.control, families, log, version, stop }
    } catch (error) {
      await store.close()
      throw error
    }
  } catch (error) {
    await families.stop()
    throw error
  }
}
