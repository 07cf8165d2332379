import assert from 'node:assert/strict'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Address,
  classify,
  formatAddress,
  parseAddress,
  parseNetwork,
  refusedRanges,
  sameAddress,
} from './addresses.ts'

const inner = new Set(['IPv4-mapped', 'NAT64', '6to4'])

function addressOf(text: string): Address {
  const address = parseAddress(text)
  assert.ok(address, text)
  return address
}

function nameOf(text: string): string {
  const verdict = classify(addressOf(text))
  return verdict === 'public' ? 'public' : verdict.refused
}

/** The address before the first and behind the last of a network. */
function neighbours(
  text: string,
): readonly [before: Address | null, first: Address, last: Address, after: Address | null] {
  const { family, bytes, bits } = parseNetwork(text)
  const width = BigInt(bytes.length * 8)
  const first = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const last = first | ((1n << (width - BigInt(bits))) - 1n)
  const at = (number: bigint): Address | null => {
    if (number < 0n || number >= 1n << width) return null
    const hex = number.toString(16).padStart(bytes.length * 2, '0')
    return { family, bytes: Uint8Array.from(Buffer.from(hex, 'hex')) }
  }
  return [at(first - 1n), at(first)!, at(last)!, at(last + 1n)]
}

/** Another implementation of the same question. */
const blockList = new BlockList()
for (const [network, name] of refusedRanges) {
  const [base = '', bits] = network.split('/')
  if (!inner.has(name)) blockList.addSubnet(base, Number(bits), base.includes(':') ? 'ipv6' : 'ipv4')
}

test('both edges of every refused range are refused under its name', () => {
  for (const [network, name] of refusedRanges) {
    if (inner.has(name)) continue
    const [, first, last] = neighbours(network)
    for (const edge of [first, last]) {
      const verdict = classify(edge)
      assert.ok(verdict !== 'public', `${formatAddress(edge)} of ${network}`)
      // The last of ::/96 and the like may belong to a narrower range that is listed before.
      const owners = refusedRanges.filter(([other]) => contained(other, edge)).map(([, owner]) => owner)
      assert.ok(owners.includes(verdict.refused) && owners.includes(name), `${formatAddress(edge)}: ${verdict.refused}`)
    }
  }
})

function contained(network: string, address: Address): boolean {
  const list = new BlockList()
  const [base = '', bits] = network.split('/')
  if (base.includes(':') !== (address.family === 6)) return false
  const family = base.includes(':') ? 'ipv6' : 'ipv4'
  list.addSubnet(base, Number(bits), family)
  return list.check(formatAddress(address), family)
}

test('the neighbours of every IPv4 range are public, unless another range begins there', () => {
  const seen = new Map<string, string>()
  for (const [network] of refusedRanges.filter(([network]) => !network.includes(':'))) {
    const [before, , , after] = neighbours(network)
    for (const edge of [before, after]) if (edge) seen.set(formatAddress(edge), nameOf(formatAddress(edge)))
  }
  const refused = [...seen].filter(([, name]) => name !== 'public').map((row) => row.join(' '))
  assert.deepEqual(refused.toSorted(), ['239.255.255.255 multicast', '240.0.0.0 reserved', '255.255.255.254 reserved'])
  assert.ok(seen.size > 20)
})

test('the neighbours of the IPv6 ranges inside global unicast are public', () => {
  for (const text of [
    '2001:200::',
    '2001:db7:ffff::',
    '2001:db9::',
    '2003::',
    '3ffe:ffff::',
    '3fff:1000::',
    '2000::1',
  ]) {
    assert.equal(nameOf(text), 'public', text)
  }
})

const refusedExamples: readonly (readonly [address: string, name: string])[] = [
  ['0.0.0.0', 'this network'],
  ['0.1.2.3', 'this network'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['100.100.100.200', 'carrier-grade NAT'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['169.254.169.254', 'link-local'],
  ['169.254.170.2', 'link-local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4 relay'],
  ['192.168.1.1', 'private'],
  ['198.19.255.255', 'benchmarking'],
  ['203.0.113.7', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::7f00:1', 'IPv4-compatible'],
  ['::ffff:127.0.0.1', 'loopback, inside IPv4-mapped'],
  ['::ffff:a9fe:a9fe', 'link-local, inside IPv4-mapped'],
  ['::ffff:0:7f00:1', 'not global unicast'],
  ['64:ff9b::a9fe:a9fe', 'link-local, inside NAT64'],
  ['64:ff9b::10.0.0.1', 'private, inside NAT64'],
  ['64:ff9b:1::8.8.8.8', 'local NAT64'],
  ['100::1', 'discard only'],
  ['2001::1', 'protocol assignments'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', 'loopback, inside 6to4'],
  ['2002:c0a8:101::1', 'private, inside 6to4'],
  ['3fff::1', 'documentation'],
  ['5f00::1', 'not global unicast'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'unique local'],
  ['fe80::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
]

test('each address is refused under its name', () => {
  for (const [address, name] of refusedExamples) assert.equal(nameOf(address), name, address)
})

test('public addresses are public, also inside a translation', () => {
  for (const text of [
    '8.8.8.8',
    '93.184.215.14',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ]) {
    assert.equal(nameOf(text), 'public', text)
  }
})

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

test('IPv4 addresses are judged as a block list judges them', () => {
  const near = fc
    .constantFrom(...refusedRanges.filter(([network]) => !network.includes(':')))
    .chain(([network]) =>
      fc.constantFrom(...neighbours(network).filter((address) => address !== null)).map(({ bytes }) => bytes),
    )
  fc.assert(
    fc.property(fc.oneof(bytesOf(4), near), (bytes) => {
      const refused = blockList.check(bytes.join('.'), 'ipv4')
      assert.equal(classify({ family: 4, bytes }) !== 'public', refused)
    }),
    { numRuns: 2_000 },
  )
})

test('an IPv4 address inside another is judged by itself', () => {
  fc.assert(
    fc.property(bytesOf(4), bytesOf(10), (bytes, rest) => {
      const isPublic = classify({ family: 4, bytes }) === 'public'
      const wrapped = [
        [...new Array(10).fill(0), 0xff, 0xff, ...bytes],
        [0, 0x64, 0xff, 0x9b, ...new Array(8).fill(0), ...bytes],
        [0x20, 0x02, ...bytes, ...rest],
      ]
      for (const outer of wrapped) {
        assert.equal(classify({ family: 6, bytes: Uint8Array.from(outer) }) === 'public', isPublic)
      }
    }),
  )
})

test('an IPv6 address is public only in global unicast or around a public IPv4 address', () => {
  const prefixed = fc
    .tuple(fc.constantFrom(0x00, 0x20, 0x2a, 0x3f, 0x40, 0xfc, 0xfe, 0xff), bytesOf(15))
    .map(([first, rest]) => Uint8Array.from([first, ...rest]))
  fc.assert(
    fc.property(fc.oneof(bytesOf(16), prefixed), (bytes) => {
      const address: Address = { family: 6, bytes }
      const isGlobal = (bytes[0]! & 0xe0) === 0x20
      if (bytes[0] === 0x20 && bytes[1] === 2) return
      const expected = isGlobal && !blockList.check(formatAddress(address), 'ipv6')
      assert.equal(classify(address) === 'public', expected, formatAddress(address))
    }),
    { numRuns: 2_000 },
  )
})

test('exactly what Node takes for an address is read as one, save zones', () => {
  const piece = fc.constantFrom(
    '0',
    '1',
    '00',
    '255',
    '256',
    'ffff',
    '1.2.3.4',
    ':',
    '::',
    '.',
    'g',
    '%1',
    ' ',
    '127.0.0.1',
  )
  const texts = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4Extended(),
    fc.array(piece, { maxLength: 12 }).map((list) => list.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const known = isIP(text) !== 0 && !text.includes('%')
      assert.equal(parseAddress(text) !== null, known, text)
    }),
    { numRuns: 5_000 },
  )
})

test('what is written is read again as the same bytes', () => {
  fc.assert(
    fc.property(fc.oneof(bytesOf(4), bytesOf(16)), (bytes) => {
      const address: Address = { family: bytes.length === 4 ? 4 : 6, bytes }
      const text = formatAddress(address)
      assert.ok(address.family === 4 ? isIPv4(text) : isIPv6(text))
      assert.deepEqual(parseAddress(text), address)
    }),
  )
})

test('odd spellings are no addresses: the URL parser has turned them into plain ones before', () => {
  for (const text of [
    '',
    '0x7f.1',
    '127.1',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '1.2.3.4.5',
    '１.2.3.4',
    'fe80::1%eth0',
    '[::1]',
    ':::',
    '1::2::3',
    '1:2:3:4::5:6:7:8',
    '::1:2:3:4:5:6:7:8',
  ]) {
    assert.equal(parseAddress(text), null, text)
  }
})

test('a mapped address is the same host', () => {
  assert.equal(sameAddress(addressOf('::ffff:1.2.3.4'), addressOf('1.2.3.4')), true)
  assert.equal(sameAddress(addressOf('::ffff:1.2.3.4'), addressOf('1.2.3.5')), false)
  assert.equal(sameAddress(addressOf('64:ff9b::1.2.3.4'), addressOf('1.2.3.4')), false)
})

test('a network with bits behind its prefix, or without sense, is refused with a reason', () => {
  assert.deepEqual(parseNetwork('10.1.2.0/23'), { family: 4, bytes: Uint8Array.of(10, 1, 2, 0), bits: 23 })
  assert.equal(parseNetwork('10.1.2.3').bits, 32)
  assert.equal(parseNetwork('::/0').bits, 0)
  for (const text of [
    '10.1.3.0/23',
    '10.0.0.1/8',
    '10.0.0.0/33',
    'fd00::/129',
    'fd00::1/8',
    '10.0.0/8',
    'x/8',
    '',
    '/8',
    '1.2.3.4/',
  ]) {
    assert.throws(() => parseNetwork(text), { name: 'SluiceError', code: 'invalid', message: /is no network/ }, text)
  }
})
