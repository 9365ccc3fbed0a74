import ipaddr from 'ipaddr.js'

/**
 * The kind of network of an address. `metadata`: cloud services that return credentials of the machine. `special`:
 * addresses that no request should be sent to (multicast, documentation, addresses that embed another one).
 */
export type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'metadata' | 'special'

export type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Range = readonly [address: Address, bits: number]

/** Accepts only a complete address; IPv4 inside IPv6 is treated as IPv4. Undefined if the text is not an address. */
export function parseAddress(text: string): Address | undefined {
  // A zone id names a local network interface, which a remote user can't know.
  if (text.includes('%')) return undefined
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return undefined
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

export function parseRange(text: string): Range | undefined {
  const [head = '', bits, more] = text.split('/')
  if (more !== undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined
  const address = parseAddress(head)
  if (address === undefined) return undefined
  const most = address.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? most : Number(bits)
  return length <= most ? [address, length] : undefined
}

export function isWithin(address: Address, [range, bits]: Range): boolean {
  return address.kind() === range.kind() && address.match(range as never, bits)
}

/** A single address and not a network. */
export function isSingle([address, bits]: Range): boolean {
  return bits === (address.kind() === 'ipv4' ? 32 : 128)
}

const ranges = (...texts: readonly string[]): readonly Range[] => texts.map(text => parseRange(text)!)

/** Checked first: some are in private networks, one is in a public one. */
const METADATA = ranges(
  '169.254.169.254', // AWS, Azure, Google, OpenStack and others
  '169.254.170.2', // AWS containers
  '169.254.170.23', // AWS pods
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254', // Google
  '100.100.100.200', // Alibaba
  '192.0.0.192', // Oracle
  '168.63.129.16', // Azure
)

const IPV4: readonly (readonly [kind: AddressKind, ranges: readonly Range[]])[] = [
  ['loopback', ranges('127.0.0.0/8')],
  ['private', ranges('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10')],
  ['link-local', ranges('169.254.0.0/16')],
  ['special', ranges('0.0.0.0/8', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15')],
  ['special', ranges('198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4')],
]

/** IPv6 works the other way round: only the global unicast range is public. */
const IPV6: typeof IPV4 = [
  ['loopback', ranges('::1')],
  ['private', ranges('fc00::/7', 'fec0::/10')],
  ['link-local', ranges('fe80::/10')],
  ['special', ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20')],
  ['public', ranges('2000::/3')],
]

export function kindOf(address: Address): AddressKind {
  const isIn = (range: Range): boolean => isWithin(address, range)
  if (METADATA.some(isIn)) return 'metadata'
  const four = address.kind() === 'ipv4'
  const found = (four ? IPV4 : IPV6).find(([, all]) => all.some(isIn))
  return found?.[0] ?? (four ? 'public' : 'special')
}
