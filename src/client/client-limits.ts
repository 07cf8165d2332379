/** How patient a client is. */
export interface ClientLimits {
  /** An answer that takes longer is given up. Uploads and the feed have no such end. */
  readonly requestMs: number
  /** How often a request that can be repeated is tried again. */
  readonly retriesMax: number
  readonly retryFirstMs: number
  readonly retryMaxMs: number
  /** The server says something on the feed every 15 seconds; after so long a silence the connection is dead. */
  readonly silenceMs: number
  /** One message of the feed. */
  readonly messageCharactersMax: number
}

export const defaultClientLimits: ClientLimits = {
  requestMs: 60_000,
  retriesMax: 5,
  retryFirstMs: 100,
  retryMaxMs: 5_000,
  silenceMs: 45_000,
  messageCharactersMax: 64 * 1024 * 1024,
}
