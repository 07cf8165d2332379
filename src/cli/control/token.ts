import { mkdirSync } from 'node:fs'
import type { TokenRequest, TokenView } from '../../client/index.ts'
import { tokenFile } from '../family/layout.ts'
import type { Host } from '../host.ts'
import { shortMomentOf } from '../moment.ts'
import { localLayout, serverOf } from '../place.ts'
import { plain, table } from '../text.ts'
import { type ReachOptions, reachServer } from './reach.ts'

export interface TokenOptions extends ReachOptions {
  readonly json?: boolean
}

export interface CreateOptions extends TokenOptions {
  readonly name: string
  readonly role: TokenView['role']
  readonly collections?: readonly string[]
  /** In seconds, as times are typed. */
  readonly expires?: number
}

/** The tokens of a folder, or of a server. */
interface Tokens {
  list(): Promise<readonly TokenView[]>
  create(token: TokenRequest): Promise<TokenView & { readonly token: string }>
  revoke(name: string): Promise<void>
}

async function tokensOf(options: TokenOptions, host: Host): Promise<Tokens> {
  const server = serverOf(options, host.environment)
  if (server !== null) return (await reachServer(server, options, host)).client.tokens
  const { openAccess } = await import('../../http/token-file.ts')
  const layout = localLayout(options, host.environment)
  // Whoever sees the folder sees no secret, but need not see it at all.
  mkdirSync(layout.server, { recursive: true, mode: 0o700 })
  const access = openAccess({ file: tokenFile(layout), clock: host.clock })
  return {
    list: () => access.list(),
    revoke: (name) => access.revoke(name),
    async create(request) {
      const { token, secret } = await access.create({ ...request, createdBy: host.user })
      return { ...token, token: secret }
    },
  }
}

/** The secret is shown this once, alone on standard output: `sluice token create … > file`. */
export async function create(options: CreateOptions, host: Host): Promise<number> {
  const { name, role, collections, expires, json } = options
  const tokens = await tokensOf(options, host)
  const made = await tokens.create({
    name,
    role,
    ...(collections === undefined ? {} : { collections }),
    ...(expires === undefined ? {} : { expiresAt: expires * 1_000 }),
  })
  host.terminal.out(json ? `${JSON.stringify(made)}\n` : `${made.token}\n`)
  if (!json)
    host.terminal.err(`Token ${plain(name, 80)} (${role}) is made. It is shown this once; only its digest is kept.\n`)
  return 0
}

export async function list(options: TokenOptions, host: Host): Promise<number> {
  const tokens = await (await tokensOf(options, host)).list()
  const { terminal, clock } = host
  if (options.json) terminal.out(`${JSON.stringify({ tokens })}\n`)
  else if (tokens.length === 0) terminal.out('There are no tokens.\n')
  else {
    const title = ['name', 'role', 'collections', 'created', 'by', 'expires']
    const rows = tokens.map(({ name, role, collections, createdAt, createdBy, expiresAt }) => [
      plain(name, 80),
      role,
      collections === null ? 'all' : plain(collections.join(', '), 100),
      shortMomentOf(createdAt, host),
      plain(createdBy, 60),
      expiresAt === null ? 'never' : `${shortMomentOf(expiresAt, host)}${expiresAt <= clock.now() ? ' (over)' : ''}`,
    ])
    terminal.out(`${table([title, ...rows], '').join('\n')}\n`)
  }
  return 0
}

export async function revoke(name: string, options: TokenOptions, host: Host): Promise<number> {
  await (await tokensOf(options, host)).revoke(name)
  host.terminal.out(
    options.json
      ? `${JSON.stringify({ revoked: name })}\n`
      : `Token ${plain(name, 80)} is revoked; it stops working within a second.\n`,
  )
  return 0
}
