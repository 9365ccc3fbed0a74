import { ChronosError, shown } from '../../core/values/error.js'
import { checkKeys } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { integer, read } from '../../core/values/schema.js'
import { type Address, isSingle, isWithin, kindOf, parseAddress, parseRange, type Range } from './address.js'

/** Resolves a name to all of its addresses. */
export type Lookup = (name: string) => Promise<readonly string[]>

export interface EgressOptions {
  /**
   * Allowed destinations besides public addresses: `'loopback'`, addresses (`'10.1.2.3'`), networks (`'10.1.0.0/16'`),
   * names (`'hooks.internal'`, `'*.corp.example'`), each with a port if it is not a usual one (`'hooks.internal:9000'`,
   * `':*'` for all).
   */
  readonly allow?: readonly string[]
  /** Allowed ports besides 80, 443, 8080 and 8443, on every host. */
  readonly ports?: readonly number[]
  /** A resolver to use instead of the system's. Its addresses are checked like any others. */
  readonly lookup?: Lookup
}

type Port = number | 'all' | undefined

export interface EgressRules {
  readonly loopback: boolean
  readonly ranges: readonly { readonly range: Range; readonly port: Port }[]
  readonly names: readonly { readonly name: string; readonly port: Port }[]
  readonly ports: ReadonlySet<number>
  readonly lookup?: Lookup
}

/** `trusted`: the URL comes from the operator's code or configuration. All other URLs are untrusted. */
export type Trust = 'untrusted' | 'trusted'

const PORTS = [80, 443, 8080, 8443]
const ENTRIES_MAX = 1_000
const PORT_MAX = 65_535

export function parseEgress(options: EgressOptions = {}, where = 'egress'): EgressRules {
  checkKeys(options, ['allow', 'ports', 'lookup'], where)
  const { allow = [], ports = [], lookup } = options
  checkList(allow, `${where}.allow`)
  checkList(ports, `${where}.ports`)
  for (const [i, port] of ports.entries()) read(integer(1, PORT_MAX), port, `${where}.ports[${i}]`)
  if (lookup !== undefined && typeof lookup !== 'function') {
    throw new ChronosError('INVALID_OPTION', `${where}.lookup: expected a function, got ${shown(lookup)}`)
  }
  const entries = allow.map((entry, i) => parseEntry(entry, `${where}.allow[${i}]`))
  return present({
    loopback: entries.some(entry => entry === 'loopback'),
    ranges: entries.flatMap(entry => (entry !== 'loopback' && 'range' in entry ? [entry] : [])),
    names: entries.flatMap(entry => (entry !== 'loopback' && 'name' in entry ? [entry] : [])),
    ports: new Set([...PORTS, ...ports]),
    lookup,
  })
}

function checkList(list: unknown, where: string): void {
  if (Array.isArray(list) && list.length <= ENTRIES_MAX) return
  throw new ChronosError('INVALID_OPTION', `${where}: expected a list of at most ${ENTRIES_MAX}, got ${shown(list)}`)
}

type Entry = 'loopback' | EgressRules['ranges'][number] | EgressRules['names'][number]

const NAME = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

function parseEntry(entry: unknown, where: string): Entry {
  const text = typeof entry === 'string' ? entry.trim().toLowerCase() : ''
  if (text === 'loopback') return 'loopback'
  const bare = parseRange(text)
  if (bare) return { range: bare, port: undefined }
  const [, head = '', digits] = /^(.+?)(?::(\*|\d{1,5}))?$/.exec(text) ?? []
  const port = digits === undefined ? undefined : digits === '*' ? 'all' : Number(digits)
  const range = parseRange(head.replace(/^\[(.*)\]$/, '$1'))
  const portFits = port === undefined || port === 'all' || (port >= 1 && port <= PORT_MAX)
  if (portFits && range) return { range, port }
  // A text that looks like numbers and is not an address was meant to be one.
  if (portFits && head.length <= 253 && NAME.test(head) && !/^[\d.]+$/.test(head)) return { name: head, port }
  throw new ChronosError(
    'INVALID_OPTION',
    `${where}: expected "loopback", an address, a network such as "10.1.0.0/16" or a name such as "hooks.internal:9000", got ${shown(entry)}`,
  )
}

/** These names return credentials of this machine, so they are allowed only by their exact name. */
const METADATA_NAMES = [
  'metadata.google.internal',
  'metadata.goog',
  'metadata',
  'instance-data',
  'instance-data.ec2.internal',
]
const LOOPBACK_NAME = /(?:^|\.)localhost$|^(?:ip6-)?localhost(?:\.localdomain|6)?$|^ip6-loopback$/
/** Names that are only meaningful inside a network. */
const INNER_NAME = /^[^.]+$|\.(?:local|localdomain|internal|intranet|lan|home\.arpa|svc|consul)$/

/** Whether a name may be looked up; its addresses are checked after that. */
export function mayAsk(name: string, rules: EgressRules, trust: Trust): boolean {
  if (METADATA_NAMES.includes(name)) return rules.names.some(entry => entry.name === name)
  if (namesFor(name, rules).length > 0 || trust === 'trusted') return true
  if (LOOPBACK_NAME.test(name)) return rules.loopback
  return !INNER_NAME.test(name)
}

/** Whether an address may be connected to. `name` is the name that resolved to it, if any. */
export function mayReach(text: string, name: string | undefined, rules: EgressRules, trust: Trust): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  const kind = kindOf(address)
  const listed = rangesFor(address, rules)
  switch (kind) {
    case 'public':
      return true
    case 'metadata':
      return listed.some(({ range }) => isSingle(range))
    case 'loopback':
      if (rules.loopback) return true
      break
    case 'special':
    case 'link-local':
      return listed.length > 0
    case 'private':
      break
  }
  return listed.length > 0 || trust === 'trusted' || (name !== undefined && namesFor(name, rules).length > 0)
}

/** Checked by the host as written, because the addresses of a name are not known yet. */
export function mayUsePort(port: number, host: string, rules: EgressRules, trust: Trust): boolean {
  if (trust === 'trusted' || rules.ports.has(port)) return true
  const address = parseAddress(host)
  const isLoopback = address === undefined ? LOOPBACK_NAME.test(host) : kindOf(address) === 'loopback'
  if (rules.loopback && isLoopback) return true
  const listed = address === undefined ? namesFor(host, rules) : rangesFor(address, rules)
  return listed.some(entry => entry.port === 'all' || entry.port === port)
}

function rangesFor(address: Address, { ranges }: EgressRules): EgressRules['ranges'] {
  return ranges.filter(({ range }) => isWithin(address, range))
}

function namesFor(host: string, { names }: EgressRules): EgressRules['names'] {
  return names.filter(({ name }) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name))
}
