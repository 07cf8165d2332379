import { SluiceError } from '../errors.ts'

/** An address as the bytes that go over the wire: text has too many spellings to be judged. */
export interface Address {
  readonly family: 4 | 6
  readonly bytes: Uint8Array
}

/** All addresses that begin with the same bits. */
export interface Network {
  readonly family: 4 | 6
  readonly bytes: Uint8Array
  readonly bits: number
}

export type AddressClass = 'public' | { readonly refused: string }

interface Range {
  readonly network: Network
  readonly name: string
  /** Where in the address an IPv4 address lies, which is judged in its place. */
  readonly innerAt: number | null
}

/** What nobody reaches over the open internet, and what a hostile name could be pointed at. The first match decides. */
export const refusedRanges: readonly (readonly [network: string, name: string, innerAt?: number])[] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'IPv4-compatible'],
  ['::ffff:0:0/96', 'IPv4-mapped', 12],
  ['64:ff9b::/96', 'NAT64', 12],
  // The prefix for local use has no one place for the inner address (RFC 8215, RFC 6052), and no route from outside.
  ['64:ff9b:1::/48', 'local NAT64'],
  ['100::/64', 'discard only'],
  ['2001::/23', 'protocol assignments'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4', 2],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'unique local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
]

/** The ranges that an institution runs its own hosts in. */
export const ownRanges: ReadonlySet<string> = new Set(['private', 'carrier-grade NAT', 'unique local'])

const ranges: readonly Range[] = refusedRanges.map(([network, name, innerAt]) => ({
  network: parseNetwork(network),
  name,
  innerAt: innerAt ?? null,
}))
/** Of IPv6 only this part is given out at all. What a later standard adds is refused until it is listed here. */
const globalUnicast = parseNetwork('2000::/3')

export function classify(address: Address): AddressClass {
  const range = ranges.find(({ network }) => contains(network, address))
  if (range === undefined) {
    return address.family === 4 || contains(globalUnicast, address) ? 'public' : { refused: 'not global unicast' }
  }
  if (range.innerAt === null) return { refused: range.name }
  const inner = classify({ family: 4, bytes: address.bytes.subarray(range.innerAt, range.innerAt + 4) })
  return inner === 'public' ? 'public' : { refused: `${inner.refused}, inside ${range.name}` }
}

/** Dual-stack sockets show IPv4 peers as mapped addresses: the same host, written differently. */
export function unmapped(address: Address): Address {
  return contains(mapped, address) ? { family: 4, bytes: address.bytes.subarray(12) } : address
}
const mapped = parseNetwork('::ffff:0:0/96')

export function sameAddress(one: Address, other: Address): boolean {
  const [a, b] = [unmapped(one), unmapped(other)]
  return a.family === b.family && a.bytes.every((byte, index) => byte === b.bytes[index])
}

export function contains(network: Network, { family, bytes }: Address): boolean {
  if (family !== network.family) return false
  const whole = network.bits >> 3
  for (let index = 0; index < whole; index += 1) if (bytes[index] !== network.bytes[index]) return false
  const rest = network.bits & 7
  return rest === 0 || ((bytes[whole]! ^ network.bytes[whole]!) & (0xff << (8 - rest)) & 0xff) === 0
}

// ---- Reading ----

/** Plain spellings only: four decimal numbers, or IPv6 without a zone. Everything else is null. */
export function parseAddress(text: string): Address | null {
  const bytes = text.includes(':') ? ipv6Bytes(text) : ipv4Bytes(text)
  return bytes && { family: bytes.length === 4 ? 4 : 6, bytes: Uint8Array.from(bytes) }
}

function ipv4Bytes(text: string): readonly number[] | null {
  if (!/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text)) return null
  const bytes = text.split('.').map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : null
}

function ipv6Bytes(text: string): readonly number[] | null {
  if (text.length > 45) return null
  const sides = text.split('::')
  if (sides.length > 2) return null
  const [head, tail] = sides.map((side, index) => groupBytes(side, index === sides.length - 1))
  if (!head || tail === null) return null
  if (tail === undefined) return head.length === 16 ? head : null
  // "::" stands for one group at least.
  const gap = 16 - head.length - tail.length
  return gap >= 2 ? [...head, ...new Array<number>(gap).fill(0), ...tail] : null
}

function groupBytes(side: string, isLast: boolean): readonly number[] | null {
  if (side === '') return []
  const groups = side.split(':')
  const bytes = groups.map((group, index) => {
    if (/^[0-9a-f]{1,4}$/i.test(group)) return [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]
    return isLast && index === groups.length - 1 ? ipv4Bytes(group) : null
  })
  return bytes.every((pair) => pair !== null) ? bytes.flat() : null
}

/** `10.1.2.0/24`, `fd00::/8`, or one address. Bits behind the prefix must be zero, so that a slip of the pen is seen. */
export function parseNetwork(text: string): Network {
  const [, base = '', prefix] = /^([0-9a-f:.]{2,45})(?:\/(\d{1,3}))?$/i.exec(text) ?? []
  const address = parseAddress(base)
  if (address === null) throw invalidNetwork(text, 'no address in front of the slash')
  const width = address.bytes.length * 8
  const bits = prefix === undefined ? width : Number(prefix)
  if (bits > width) throw invalidNetwork(text, `a prefix of at most ${width} bits was expected`)
  const network = { family: address.family, bytes: address.bytes, bits }
  const last = address.bytes.findLastIndex((byte) => byte !== 0)
  const used = last < 0 ? 0 : last * 8 + 8 - trailingZeros(address.bytes[last]!)
  if (used > bits) throw invalidNetwork(text, `bits are set behind the first ${bits}`)
  return network
}

function trailingZeros(byte: number): number {
  return 31 - Math.clz32(byte & -byte)
}

function invalidNetwork(text: string, why: string): SluiceError {
  const shown = JSON.stringify(text.slice(0, 60))
  return new SluiceError('invalid', `${shown} is no network: ${why}. Write it as 10.1.2.0/24.`, { network: text })
}

export function formatAddress({ family, bytes }: Address): string {
  if (family === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[index * 2]! << 8) | bytes[index * 2 + 1]!).toString(16),
  )
  // The URL parser knows the shortest spelling.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
