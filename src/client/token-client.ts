import type { Transport } from './transport.ts'

export interface TokenView {
  readonly name: string
  readonly role: 'submitter' | 'operator' | 'admin'
  /** Null: all of them. */
  readonly collections: readonly string[] | null
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt: number | null
}

export interface TokenRequest {
  readonly name: string
  readonly role: TokenView['role']
  readonly collections?: readonly string[]
  readonly expiresAt?: number
}

/** Tokens of a server, for whoever is admin there. */
export class TokenClient {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async list(): Promise<readonly TokenView[]> {
    return (await this.#transport.get<{ tokens: readonly TokenView[] }>('/api/tokens')).tokens
  }

  /** With its secret, which is shown this once. */
  async create(token: TokenRequest): Promise<TokenView & { readonly token: string }> {
    return this.#transport.post('/api/tokens', token)
  }

  async revoke(name: string): Promise<void> {
    await this.#transport.delete(`/api/tokens/${encodeURIComponent(name)}`)
  }
}
