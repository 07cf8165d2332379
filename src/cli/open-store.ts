import type { Limits } from '../limits.ts'
import type { Store } from '../store.ts'
import { parseStoreAddress, type StoreAddress } from './store-address.ts'

export interface OpenStoreOptions {
  readonly limits?: Partial<Limits>
  /** For a server: how many connections this process may have for its work. */
  readonly connections?: number | null
}

/** The one place where an address becomes a store. Each kind is loaded only where it is used. */
export async function openStore(text: string, { limits, connections }: OpenStoreOptions = {}): Promise<Store> {
  const address = parseStoreAddress(text)
  const bounds = limits === undefined ? {} : { limits }
  switch (address.kind) {
    case 'sqlite': {
      const { sqliteStore } = await import('../store/sqlite/index.ts')
      return sqliteStore({ file: address.file, ...bounds })
    }
    case 'postgres': {
      const { postgresStore } = await import('../store/postgres/index.ts')
      const connectionsMax = connections ?? undefined
      return postgresStore({
        ...postgresPlace(address),
        ...bounds,
        ...(connectionsMax === undefined ? {} : { connectionsMax }),
      })
    }
    default:
      return address satisfies never
  }
}

/** As the store of PostgreSQL takes it. */
export function postgresPlace({ url, schema }: Extract<StoreAddress, { kind: 'postgres' }>): {
  readonly url: string
  readonly schema?: string
} {
  return schema === null ? { url } : { url, schema }
}
