import { type Bug, inUnit } from './bug.ts'

const dialer = 'src/dial/dialer.test.ts'
const connection = 'src/dial/connection.ts'

/** Ways around the guarded dialer. */
export const dialBugs: readonly Bug[] = [
  {
    name: 'redirect-not-judged',
    what: 'Where a redirect leads is not judged by the rules of the dialer.',
    file: 'src/dial/dialer.ts',
    find: 'redirectTarget(locationOf(reply, shown), url, rules)',
    replace: 'new URL(locationOf(reply, shown), url)',
    caughtBy: inUnit(dialer, 'every target of a redirect is checked from scratch'),
  },
  {
    name: 'keys-go-along',
    what: 'Authorization and cookies go along to another origin.',
    file: 'src/dial/dialer.ts',
    find: 'if (target.origin !== url.origin) given = headersForOtherOrigin(given)',
    replace: '',
    caughtBy: inUnit(dialer, 'keys stay at the origin they were given for'),
  },
  {
    name: 'one-good-answer-is-enough',
    what: 'A name with a public and an inner address may be dialed at either.',
    file: connection,
    find: 'if (refusal !== null) throw',
    replace: 'if (refusal !== null && answers.length === 1) throw',
    caughtBy: inUnit(dialer, 'one bad answer refuses the whole name, and nothing is dialed'),
  },
  {
    name: 'came-out-elsewhere',
    what: 'A connection that leads to another address than the one that was judged is used.',
    file: connection,
    find: 'remote === null || !sameAddress(remote, address)',
    replace: 'remote === null',
    caughtBy: inUnit(dialer, 'a connection that comes out elsewhere is refused'),
  },
  {
    name: 'inner-address-not-judged',
    what: 'A private IPv4 address is reached as IPv6 writes it: mapped, or translated.',
    file: 'src/dial/addresses.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what stands in the source.
    find: "inner === 'public' ? 'public' : { refused: `${inner.refused}, inside ${range.name}` }",
    replace: "'public'",
    caughtBy: inUnit('src/dial/addresses.test.ts', 'an IPv4 address inside another is judged by itself'),
  },
  {
    name: 'host-rule-opens-everything',
    what: 'Whoever runs the DNS of a host that is allowed leads us to our own machine, or to the metadata of its cloud.',
    file: 'src/dial/rules.ts',
    find: 'rules.hosts.has(host) && ownRanges.has(verdict.refused)',
    replace: 'rules.hosts.has(host)',
    caughtBy: inUnit(
      'src/dial/rules.test.ts',
      'a host name never opens loopback, link-local or other special addresses',
    ),
  },
]
