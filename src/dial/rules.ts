import { SluiceError } from '../errors.ts'
import {
  type Address,
  classify,
  contains,
  formatAddress,
  type Network,
  ownRanges,
  parseNetwork,
  unmapped,
} from './addresses.ts'

/** What a dialer may be pointed at. */
export interface DialRules {
  /** Default: http and https. */
  readonly schemes?: readonly ('http' | 'https')[]
  /** Default: 80, 443, 8080, 8443. */
  readonly ports?: readonly number[]
  /**
   * An institution's own hosts. A network (`10.1.2.0/24`, `10.1.2.3`, `fd00::/8`) opens its addresses, of whatever range,
   * under any name. A host name opens the private ranges for exactly this name, not for names below it, and never
   * loopback or link-local addresses: whoever runs the name's DNS must not reach our machine or its cloud's metadata.
   */
  readonly allow?: readonly string[]
  /** Default: 4,096. */
  readonly urlCharactersMax?: number
}

/** The rules, checked and ready for comparison. */
export interface CheckedRules {
  readonly schemes: ReadonlySet<string>
  readonly ports: ReadonlySet<number>
  readonly hosts: ReadonlySet<string>
  readonly networks: readonly Network[]
  readonly urlCharactersMax: number
}

const allowMax = 1_000

export function rulesOf(given: DialRules = {}): CheckedRules {
  const { schemes = ['http', 'https'], ports = [80, 443, 8080, 8443], allow = [], urlCharactersMax = 4_096 } = given
  const strange = schemes.find((scheme) => scheme !== 'http' && scheme !== 'https')
  if (strange !== undefined || schemes.length === 0) throw invalidRule('schemes', 'http, https or both were expected')
  const outside = ports.find((port) => !Number.isInteger(port) || port < 1 || port > 65_535)
  if (outside !== undefined || ports.length === 0) throw invalidRule('ports', 'numbers from 1 to 65535 were expected')
  if (!Number.isSafeInteger(urlCharactersMax) || urlCharactersMax < 10) {
    throw invalidRule('urlCharactersMax', 'a whole number of at least 10 was expected')
  }
  if (allow.length > allowMax) throw invalidRule('allow', `at most ${allowMax} entries were expected`)
  const isNetwork = (text: string): boolean => /[:/]|^[\d.]+$/.test(text)
  return {
    schemes: new Set(schemes),
    ports: new Set(ports),
    hosts: new Set(allow.filter((text) => !isNetwork(text)).map(hostName)),
    networks: allow.filter(isNetwork).map(ownNetwork),
    urlCharactersMax,
  }
}

/** A name as the URL parser would write it; anything that is not exactly a name is a mistake of the person who configures. */
function hostName(text: string): string {
  const host = URL.parse(`http://${text}/`)?.host
  if (host !== undefined && host === text.toLowerCase() && /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/.test(host)) return host
  const shown = JSON.stringify(text.slice(0, 100))
  throw invalidRule('allow', `${shown} is neither a host name (in ASCII, without port or wildcard) nor a network`)
}

/** Half the internet is nobody's own: such an entry is a slip, or a way to switch the guard off. */
function ownNetwork(text: string): Network {
  const network = parseNetwork(text)
  const isMapped = unmapped(network).family !== network.family
  if (network.bits >= 7 && !isMapped) return network
  throw invalidRule(
    'allow',
    `${text} is ${isMapped ? 'IPv4, and written as such' : 'too wide: 7 bits or more were expected'}`,
  )
}

function invalidRule(field: keyof DialRules, why: string): SluiceError {
  return new SluiceError('invalid', `The rule "${field}" of the dialer: ${why}.`, { field })
}

/** Why this host may not be reached at this address; null if it may. */
export function refusalOf(rules: CheckedRules, host: string, address: Address): string | null {
  const plain = unmapped(address)
  if (rules.networks.some((network) => contains(network, plain))) return null
  const verdict = classify(plain)
  if (verdict === 'public') return null
  if (rules.hosts.has(host) && ownRanges.has(verdict.refused)) return null
  return `${formatAddress(address)} (${verdict.refused})`
}
