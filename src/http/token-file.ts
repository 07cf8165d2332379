import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { type Clock, sleep } from '../clock.ts'
import { messageOf, SluiceError } from '../errors.ts'
import { type Access, checkNewToken, isSecret, type KnownToken, type NewToken, roles, type Token } from './access.ts'
import { digestOf, isSame, newSecret } from './secret.ts'

export interface TokenFileOptions {
  readonly file: string
  readonly clock: Clock
}

/** Looked at again after this time: so long a revoked token may still work. */
const freshMs = 500
const lockWaitMs = 50
const lockTriesMax = 100
/** Whoever had the lock that long has died with it. */
const lockStaleMs = 10_000
const tokensMax = 10_000

const storedToken = z.strictObject({
  name: z.string(),
  role: z.enum(roles),
  collections: z.array(z.string()).nullable(),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.number(),
  createdBy: z.string(),
  expiresAt: z.number().nullable(),
})
const storedTokens = z.strictObject({ tokens: z.array(storedToken).max(tokensMax) })

/** Tokens in one JSON file that processes share: the command line changes it, and a running server sees it within a second. */
export function openAccess(options: TokenFileOptions): Access {
  return new TokenFile(options)
}

class TokenFile implements Access {
  readonly #file: string
  readonly #clock: Clock
  #byDigest: ReadonlyMap<string, KnownToken> = new Map()
  #mark: string | null = null
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor({ file, clock }: TokenFileOptions) {
    this.#file = file
    this.#clock = clock
    // A file that cannot be read is told at the start, not to the first caller.
    this.#tokens()
  }

  async isEmpty(): Promise<boolean> {
    return this.#tokens().size === 0
  }

  async find(secret: string): Promise<KnownToken | null> {
    return isSecret(secret) ? this.findByDigest(digestOf(secret)) : null
  }

  async findByDigest(digest: string): Promise<KnownToken | null> {
    const token = this.#tokens().get(digest)
    // The map is keyed by digests, which say nothing of the secrets near them; the comparison itself takes equal time all the same.
    if (!isSame(digest, token?.digest ?? '') || !token) return null
    return token.expiresAt === null || this.#clock.now() < token.expiresAt ? token : null
  }

  async list(): Promise<readonly Token[]> {
    return [...this.#tokens(true).values()].map(shownToken)
  }

  async create(given: NewToken): Promise<{ readonly token: Token; readonly secret: string }> {
    const now = this.#clock.now()
    checkNewToken(given, now)
    const secret = `slc_${newSecret()}`
    const token: KnownToken = {
      name: given.name,
      role: given.role,
      collections: given.collections ?? null,
      digest: digestOf(secret),
      createdAt: now,
      createdBy: given.createdBy,
      expiresAt: given.expiresAt ?? null,
    }
    await this.#change((tokens) => {
      if (tokens.some(({ name }) => name === given.name))
        throw new SluiceError('conflict', `There is a token ${given.name} already; revoke it first.`, {
          name: given.name,
        })
      if (tokens.length >= tokensMax) throw new SluiceError('conflict', `There are at most ${tokensMax} tokens.`)
      return [...tokens, token]
    })
    return { token: shownToken(token), secret }
  }

  async revoke(name: string): Promise<void> {
    await this.#change((tokens) => {
      const left = tokens.filter((token) => token.name !== name)
      if (left.length < tokens.length) return left
      throw new SluiceError('not_found', `There is no token ${name}.`, { name })
    })
  }

  #tokens(isFresh = false): ReadonlyMap<string, KnownToken> {
    const now = this.#clock.now()
    if (!isFresh && now - this.#lookedAt < freshMs) return this.#byDigest
    const mark = this.#markOf()
    if (mark !== this.#mark) {
      // If the file cannot be read nobody gets in: the tokens that were valid before may have been taken back.
      this.#byDigest = new Map()
      this.#byDigest = mark === null ? new Map() : this.#read()
      this.#mark = mark
    }
    this.#lookedAt = now
    return this.#byDigest
  }

  /** Changes whenever the file does: it is only ever replaced as a whole. */
  #markOf(): string | null {
    const found = statSync(this.#file, { bigint: true, throwIfNoEntry: false })
    return found ? `${found.ino}:${found.mtimeNs}:${found.size}` : null
  }

  #read(): ReadonlyMap<string, KnownToken> {
    const text = readFileSync(this.#file, 'utf8')
    try {
      return new Map(storedTokens.parse(JSON.parse(text)).tokens.map((token) => [token.digest, token]))
    } catch (error) {
      throw new SluiceError(
        'internal',
        `The file of tokens ${this.#file} cannot be read: ${messageOf(error)} Nobody can log in until it is mended or removed.`,
        { file: this.#file },
        error,
      )
    }
  }

  async #change(change: (tokens: readonly KnownToken[]) => readonly KnownToken[]): Promise<void> {
    const unlock = await this.#lock()
    try {
      const tokens = change([...this.#tokens(true).values()])
      this.#write(`${JSON.stringify({ tokens }, null, 2)}\n`)
      this.#tokens(true)
    } finally {
      unlock()
    }
  }

  /** Whole and durable, or not at all. */
  #write(text: string): void {
    const temporary = `${this.#file}.${process.pid}.new`
    const file = openSync(temporary, 'w', 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, this.#file)
    const folder = openSync(dirname(this.#file), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  }

  /** Two that change the file at once would lose one change. */
  async #lock(): Promise<() => void> {
    const lock = `${this.#file}.lock`
    for (let tries = 0; tries < lockTriesMax; tries += 1) {
      try {
        closeSync(openSync(lock, 'wx', 0o600))
        return () => rmSync(lock, { force: true })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const found = statSync(lock, { throwIfNoEntry: false })
        if (found && this.#clock.now() - found.mtimeMs > lockStaleMs) rmSync(lock, { force: true })
        else await sleep(this.#clock, lockWaitMs)
      }
    }
    throw new SluiceError(
      'conflict',
      `The tokens are being changed by another process; ${lock} is its lock. Try again.`,
    )
  }
}

function shownToken({ digest: _digest, ...token }: KnownToken): Token {
  return token
}
