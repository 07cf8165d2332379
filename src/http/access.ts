import { SluiceError } from '../errors.ts'
import { textFault } from '../storable-text.ts'

/** Each may do what those before it may. */
export const roles = ['submitter', 'operator', 'admin'] as const
export type Role = (typeof roles)[number]

export function mayAct(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** A token as people see it: its secret is known only to whoever it was given to. */
export interface Token {
  readonly name: string
  readonly role: Role
  /** Null: all of them. */
  readonly collections: readonly string[] | null
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt: number | null
}

export type NewToken = Pick<Token, 'name' | 'role'> &
  Partial<Pick<Token, 'collections' | 'expiresAt'>> & { readonly createdBy: string }

/** Who may call. Tokens are made and taken back here; nothing else knows how they are kept. */
export interface Access {
  /** No token is configured: then only this machine may call. */
  isEmpty(): Promise<boolean>
  /** The token with this secret, if it is valid now. */
  find(secret: string): Promise<KnownToken | null>
  /** The same by the digest of the secret: for sessions, which outlive the request that brought the secret. */
  findByDigest(digest: string): Promise<KnownToken | null>
  list(): Promise<readonly Token[]>
  /** Gives the secret, once. A name that is taken is refused with `conflict`. */
  create(token: NewToken): Promise<{ readonly token: Token; readonly secret: string }>
  revoke(name: string): Promise<void>
}

export interface KnownToken extends Token {
  readonly digest: string
}

/** Who makes a request. */
export interface Caller {
  readonly kind: 'local' | 'token' | 'session'
  readonly actor: string
  readonly role: Role
  /** Null: all of them. */
  readonly collections: readonly string[] | null
  /** Of a session: what its unsafe requests must say. */
  readonly csrf: string | null
  readonly expiresAt: number | null
  /** Under which its token is looked up again, as long as something of this caller is under way. Null: it has none. */
  readonly tokenDigest: string | null
}

export const tokenNameRule = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,79}$/
export const collectionMax = 200
export const collectionsMax = 100
const secretRule = /^slc_[A-Za-z0-9_-]{43}$/

export function isSecret(text: string): boolean {
  return secretRule.test(text)
}

export function checkNewToken({ name, role, collections, expiresAt }: NewToken, now: number): void {
  const faults: string[] = []
  if (typeof name !== 'string' || !tokenNameRule.test(name)) {
    faults.push(`name must be 1 to 80 letters, digits, dots, dashes, @ or underscores; it was ${JSON.stringify(name)}`)
  } else if (name === 'local') faults.push('name must not be local: whoever calls without a token is called so')
  if (!roles.includes(role)) faults.push(`role must be one of ${roles.join(', ')}; it was ${JSON.stringify(role)}`)
  if (collections !== undefined && collections !== null) {
    if (collections.length === 0 || collections.length > collectionsMax)
      faults.push(`collections must name 1 to ${collectionsMax}; leave them out for a token without limits`)
    for (const [index, collection] of collections.entries()) {
      const isText = typeof collection === 'string' && collection.length >= 1 && collection.length <= collectionMax
      if (isText && !/\p{Cc}/u.test(collection) && textFault(collection) === null) continue
      faults.push(`collections[${index}] must be a text of 1 to ${collectionMax} characters without control characters`)
    }
  }
  if (expiresAt !== undefined && expiresAt !== null && !(Number.isSafeInteger(expiresAt) && expiresAt > now))
    faults.push(
      `expiresAt must be a time in the future, in whole milliseconds since 1970; it was ${JSON.stringify(expiresAt)}`,
    )
  if (faults.length > 0) throw new SluiceError('invalid', `The token does not fit: ${faults.join('; ')}.`, { faults })
}
