import { SluiceError } from '../../errors.ts'

/** Where a server listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

export const addressDefault: Address = { host: '127.0.0.1', port: 7_878 }

/** `127.0.0.1:7878`, `[::1]:7878`, `localhost:0`; a port alone is on this machine only. */
export function parseAddress(given: string | number): Address {
  const text = String(given).trim()
  if (/^\d{1,5}$/.test(text)) return addressOf(addressDefault.host, text, text)
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || port === undefined) throw wrong(text)
  return addressOf(host, port, text)
}

function addressOf(host: string, port: string, text: string): Address {
  if (Number(port) > 65_535) throw wrong(text)
  return { host, port: Number(port) }
}

function wrong(text: string): SluiceError {
  return new SluiceError(
    'invalid',
    `An address such as 127.0.0.1:7878, [::1]:7878 or 7878 was expected; it was "${text.slice(0, 100)}".`,
  )
}
