import pg from 'pg'
import type { Limits } from '../../src/limits.ts'
import { postgresStore, postgresTransfer } from '../../src/store/postgres/index.ts'
import type { PostgresServer } from '../postgres/server.ts'
import type { Place } from './place.ts'

export interface PostgresPlace extends Place {
  readonly url: string
  readonly schema: string
  /** Behind the store's back. */
  query(sql: string): Promise<readonly unknown[][]>
}

export interface PostgresPlaces {
  readonly place: (limits?: Partial<Limits>) => Promise<PostgresPlace>
  close(): Promise<void>
}

/** Schemas of one database. */
export function postgresPlaces(server: () => PostgresServer): PostgresPlaces {
  let url: string | null = null
  let outside: pg.Client | null = null
  let schemas = 0
  return {
    async place(limits = {}) {
      url ??= await server().database()
      if (!outside) {
        outside = new pg.Client({ connectionString: url })
        await outside.connect()
        // A notice for each table of a schema that is dropped is no news.
        await outside.query('SET client_min_messages = warning')
      }
      const [at, client] = [url, outside]
      schemas += 1
      const schema = `place_${schemas}`
      return {
        name: `${at}?schema=${schema}`,
        ...{ url: at, schema },
        store: (clock) => postgresStore({ url: at, schema, limits, connectionsMax: 3, ...(clock && { clock }) }),
        transfer: () => postgresTransfer({ url: at, schema, limits }),
        async query(sql) {
          // One answer for each statement: the last is asked for.
          const answers = await client.query({ text: `SET search_path = ${schema}; ${sql}`, rowMode: 'array' })
          return ([answers].flat() as pg.QueryArrayResult[]).at(-1)?.rows ?? []
        },
        remove: async () => void (await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)),
      }
    },
    async close() {
      await outside?.end()
    },
  }
}
