import { parseAddress } from './addresses.ts'
import { dialError } from './dial-error.ts'
import { display } from './display.ts'
import { type CheckedRules, refusalOf, rulesOf } from './rules.ts'

const defaultRules = rulesOf()

/**
 * The URL behind a text that somebody else wrote, or an error that says what is wrong with it. What the parser would
 * mend silently (line breaks, backslashes, missing slashes) is refused before it is parsed: two readers of such a text
 * may see two hosts. Hosts are judged after parsing, when 0x7f.1 and 127。0。0。1 have become addresses.
 */
export function checkUrl(text: string, rules: CheckedRules = defaultRules): URL {
  checkText(text, rules)
  const scheme = /^([a-z][a-z0-9+.-]{0,30}):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined) throw invalidUrl('has no scheme; it begins with http:// or https://')
  if (!rules.schemes.has(scheme)) {
    const allowed = [...rules.schemes].join(' and ')
    throw dialError(
      'scheme',
      `${scheme}:…`,
      `A URL with the scheme ${scheme} was refused: only ${allowed} may be read.`,
    )
  }
  const authority = /^[a-z]+:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined) throw invalidUrl(`names no host behind ${scheme}://`)
  // Also an empty userinfo, of which the parsed URL shows nothing.
  if (authority.includes('@')) {
    throw dialError('userinfo', null, 'The URL was refused: it has a user name or password in front of its host.')
  }
  const url = URL.parse(text)
  if (url === null) throw invalidUrl('cannot be read: its host or port is malformed')
  url.hash = ''
  if (url.href.length > rules.urlCharactersMax * 3) throw invalidUrl('is too long once it is encoded')
  checkPort(url, rules)
  checkHost(url, rules)
  return url
}

/** Where a redirect leads, checked as if it had been given in the first place. */
export function redirectTarget(location: string, from: URL, rules: CheckedRules): URL {
  checkText(location, rules)
  const resolved = URL.parse(location, from.href)
  if (resolved === null) throw invalidUrl('of a redirect cannot be read')
  // Schemes without // are resolved too; checkUrl refuses them. An absolute text is judged as it was written.
  const target = checkUrl(/^[a-z][a-z0-9+.-]*:/i.test(location) ? location : resolved.href, rules)
  if (from.protocol === 'https:' && target.protocol === 'http:') {
    const shown = display(target)
    throw dialError('redirect', shown, `${display(from)} leads to ${shown}: from https to http was refused.`)
  }
  return target
}

/** The host without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

function checkText(text: string, rules: CheckedRules): void {
  if (typeof text !== 'string' || text === '') throw invalidUrl('is empty')
  if (text.length > rules.urlCharactersMax) {
    throw invalidUrl(`has ${text.length} characters; at most ${rules.urlCharactersMax} are read`)
  }
  if (!text.isWellFormed()) throw invalidUrl('has half a surrogate pair')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what we look for.
  const at = text.search(/[\u0000-\u0020\u007f-\u00a0\u2028\u2029\\]/)
  if (at < 0) return
  const character = text[at] === '\\' ? 'a backslash' : `the character U+${hex(text.charCodeAt(at))}`
  throw invalidUrl(`has ${character} at position ${at}; spaces and control characters are written as %XX`)
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0')
}

function checkPort(url: URL, rules: CheckedRules): void {
  const port = portOf(url)
  if (rules.ports.has(port)) return
  const [shown, allowed] = [display(url), [...rules.ports].join(', ')]
  throw dialError('port', shown, `${shown} was refused: port ${port} is not among ${allowed}.`, { port })
}

function checkHost(url: URL, rules: CheckedRules): void {
  const [host, shown] = [hostOf(url), display(url)]
  const address = parseAddress(host)
  if (address !== null) {
    const refusal = refusalOf(rules, host, address)
    if (refusal !== null) throw addressRefused(shown, `it leads to ${refusal}`)
    return
  }
  const isName = host.length <= 253 && host.split('.').every((label) => label.length >= 1 && label.length <= 63)
  if (!isName)
    throw invalidUrl('has a host that is no name: empty or over-long parts between its dots, or a dot at its end')
}

export function addressRefused(shown: string, why: string): Error {
  return dialError('address', shown, `${shown} was refused: ${why}. Hosts of one's own are named in the rule "allow".`)
}

/** The text itself is not repeated: nobody knows where in it a key may stand. */
function invalidUrl(why: string): Error {
  return dialError('url', null, `The URL ${why}.`)
}
