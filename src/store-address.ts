import { SluiceError } from './errors.ts'
import { masked } from './masked.ts'

/** Where a store is: in this process, in a file of this machine, or in a schema of a PostgreSQL server. */
export type StoreAddress =
  /** It ends with its process. */
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly file: string }
  /** Null: the usual schema. */
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string | null }

const forms = 'FILE, sqlite:FILE, memory: or postgres://user@host:5432/database'

/** Reads what `openSluice`, `--store`, SLUICE_STORE or the key `store` of a configuration names. No message repeats a password. */
export function parseStoreAddress(text: string): StoreAddress {
  if (text === '') throw new SluiceError('invalid', `The store needs an address (${forms}); it was empty.`)
  const [, scheme = '', slashes = '', rest = ''] = /^([a-z][a-z0-9+.-]+):(\/\/)?(.*)$/is.exec(text) ?? []
  switch (scheme.toLowerCase()) {
    case 'postgres':
    case 'postgresql':
      return postgresAddress(text, slashes !== '')
    case 'memory':
      if (rest !== '' || slashes !== '') throw wrong(text, 'expected memory: alone')
      return { kind: 'memory' }
    case 'sqlite':
      // Three slashes begin a path from the root, as in other addresses; two would name a host.
      if (rest === '' || (slashes !== '' && !rest.startsWith('/'))) throw wrong(text, 'expected sqlite:FILE')
      return { kind: 'sqlite', file: rest }
    default:
      if (slashes !== '') throw wrong(text, `expected ${forms}`)
      // SQLite would take it for a database in memory, which none of its other connections can open.
      if (text === ':memory:') throw wrong(text, 'expected memory: alone')
      return { kind: 'sqlite', file: text }
  }
}

/** The schema is ours to read; everything else is for the driver. */
function postgresAddress(text: string, hasSlashes: boolean): StoreAddress {
  if (!hasSlashes || !URL.canParse(text)) {
    throw wrong(
      text,
      'expected postgres://user@host:5432/database; characters such as / # ? @ in a password are written as %2F %23 %3F %40',
    )
  }
  const url = new URL(text)
  const schemas = url.searchParams.getAll('schema')
  const [schema = null] = schemas
  if (schema === null) return { kind: 'postgres', url: text.replace(/^[^:]+/, url.protocol.slice(0, -1)), schema }
  if (schemas.length > 1 || schema === '') throw wrong(text, 'expected one name after schema=')
  url.searchParams.delete('schema')
  return { kind: 'postgres', url: url.href, schema }
}

function wrong(text: string, expected: string): SluiceError {
  return new SluiceError('invalid', `This is no address of a store: ${shownStore(text).slice(0, 200)} (${expected}).`)
}

/** The address for people and logs: as it was given, without its password. */
export function shownStore(text: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return text
  // Spaces do not end it here: the whole text is the address.
  return masked(text.replaceAll(/\s/g, (space) => encodeURIComponent(space)))
}

/** Null: it is not in a file. */
export function storeFile(text: string): string | null {
  const address = parseStoreAddress(text)
  return address.kind === 'sqlite' ? address.file : null
}

/** The same address in its shortest form: a file without `sqlite:` before it, wherever it can be told from a server without. */
export function storeText(text: string, fileAt = (file: string) => file): string {
  const file = storeFile(text)
  if (file === null) return text
  const path = fileAt(file)
  return /^[a-z][a-z0-9+.-]+:/i.test(path) ? `sqlite:${path}` : path
}

/** As the store of PostgreSQL takes it. */
export function postgresPlace({ url, schema }: Extract<StoreAddress, { kind: 'postgres' }>): {
  readonly url: string
  readonly schema?: string
} {
  return schema === null ? { url } : { url, schema }
}
