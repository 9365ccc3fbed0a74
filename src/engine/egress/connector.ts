import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction, Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { EgressBlocked } from './blocked.js'
import { type EgressRules, mayReach, type Trust } from './rules.js'

export const CONNECT_MAX_MS = 5_000
/** All addresses are checked, but only this many are tried. */
const ADDRESSES_MAX = 8

/** The request that a connection is opened for, notified about its progress. */
export interface ConnectionWitness {
  looked(): void
  connected(): void
  secured(): void
  /** Called with a function that aborts the connection attempt. */
  opening(giveUp: () => void): void
}

export interface ConnectorOptions {
  readonly build: typeof buildConnector
  readonly rules: EgressRules
  readonly trust: Trust
  /** The request that a connection is opened for, if that is known. */
  readonly witness: () => ConnectionWitness | undefined
  /** Whether a request to this origin still waits to be sent. */
  readonly isWanted: (origin: string) => boolean
}

/**
 * Opens sockets. A name is resolved once and every address is checked; one that is not allowed blocks them all, because
 * an honest name does not point both inside and outside. The socket gets exactly the checked addresses, and its peer is
 * checked again after it is connected.
 */
export function guardedConnector({
  build,
  rules,
  trust,
  witness,
  isWanted,
}: ConnectorOptions): buildConnector.connector {
  const options = { timeout: CONNECT_MAX_MS, lookup: guardedLookup(rules, trust), autoSelectFamily: true }
  // undici's type requires a port here, although each request provides it.
  const connect = build(options as unknown as buildConnector.BuildOptions) as (
    options: buildConnector.Options,
    callback: buildConnector.Callback,
  ) => Socket
  return (target, callback) => {
    const { hostname } = target
    const name = hostname.replace(/\.$/, '')
    const watching = witness()
    // undici also connects for a request that was aborted meanwhile.
    if (watching === undefined && !isWanted(`${target.protocol}//${target.host}`)) {
      callback(new Error('no request waits for this connection any more'), null)
      return
    }
    let refused = false
    const socket = connect(target, (...[error, opened]) => {
      if (error !== null) callback(error, null)
      else if (refused) callback(new EgressBlocked('peer', name), null)
      else {
        if (target.protocol === 'https:') watching?.secured()
        callback(null, opened)
      }
    })
    watching?.opening(() => socket.destroy(new Error('given up while connecting')))
    socket.once('lookup', () => watching?.looked())
    socket.prependOnceListener('connect', () => {
      refused = !mayReach(socket.remoteAddress ?? '', name, rules, trust)
      if (refused) socket.destroy(new EgressBlocked('peer', name))
      else watching?.connected()
    })
  }
}

function guardedLookup(rules: EgressRules, trust: Trust): LookupFunction {
  const find = rules.lookup ?? systemAddresses
  return (hostname, { all }, callback) => {
    const name = hostname.replace(/\.$/, '').toLowerCase()
    checked(name).then(
      addresses => (all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family)),
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }

  async function checked(name: string): Promise<{ address: string; family: 4 | 6 }[]> {
    const addresses = await find(name)
    if (addresses.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    for (const address of addresses) {
      if (!mayReach(address, name, rules, trust)) throw new EgressBlocked('dns', name)
    }
    return addresses.slice(0, ADDRESSES_MAX).map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

async function systemAddresses(name: string): Promise<readonly string[]> {
  return (await systemLookup(name, { all: true, verbatim: true })).map(({ address }) => address)
}
