import type { Command } from 'commander'
import { ChronosError, shown } from '../../core/values/error.js'
import type { Config, Level } from '../config/load.js'
import type { Io } from '../io.js'

export interface AddressOptions {
  readonly store?: string
  readonly url?: string
  readonly token?: string
  readonly config?: string
}

export interface BackendOptions extends AddressOptions {
  readonly log?: true
}

/** Where a store is, by its URL. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** What a command works on: a store, or a server in front of one. */
export type BackendAddress = StoreAddress | { readonly kind: 'server'; readonly url: string; readonly token?: string }

const STORE_DEFAULT = 'sqlite:./chronos.db'

const GROUP = 'Common options:'

/** The options that every command on a store or a server has, after its own. */
export function addBackendOptions(command: Command): Command {
  return addStoreOptions(command, true)
}

/** The same for commands that no server can carry out for them. */
export function addStoreOptions(command: Command, hasServer = false): Command {
  command
    .optionsGroup(GROUP)
    .option('--store <url>', `sqlite:PATH or postgres://… (default: CHRONOS_STORE, or ${STORE_DEFAULT})`)
  if (hasServer) {
    command
      .option('--url <url>', 'a server instead: http://127.0.0.1:4100 (default: CHRONOS_URL)')
      .option('--token <token>', 'what to show that server (default: CHRONOS_TOKEN)')
  }
  return command
    .option('--config <file>', 'settings in a file (default: chronos.config.json or .mjs, if it is here)')
    .option('--json', 'JSON on stdout, with the same fields as in TypeScript')
    .option('--log', "show the engine's own log lines too, on stderr")
}

export async function configOf({ store, url, token, config }: AddressOptions, io: Io): Promise<Config> {
  const { loadConfig } = await import('../config/load.js')
  return loadConfig({ store, url, token, config }, io)
}

const STRENGTH: Readonly<Record<Level, number>> = { default: 0, file: 1, environment: 2, flag: 3 }

/** Where both a store and a server are named, what was said closer to the command counts; a server goes before. */
export function addressIn({ settings, sources }: Config): BackendAddress {
  const { store, url, token } = settings
  const [ofStore, ofUrl] = [STRENGTH[sources.store.level], STRENGTH[sources.url.level]]
  if (url === undefined || ofUrl < ofStore) return addressOf(store, sources.store.name)
  if (ofUrl === STRENGTH.flag && ofStore === STRENGTH.flag) {
    throw new ChronosError('INVALID_OPTION', 'give --store for a store or --url for a server, not both')
  }
  return { kind: 'server', url: url.replace(/\/+$/, ''), ...(token !== undefined && { token }) }
}

/** For what needs the store itself. */
export async function storeAddress(options: AddressOptions, io: Io, command: string): Promise<StoreAddress> {
  const address = addressIn(await configOf(options, io))
  if (address.kind !== 'server') return address
  throw new ChronosError(
    'INVALID_OPTION',
    `${command} works on a store, not through a server (${address.url}); name the store with --store, where it is`,
  )
}

/** `said` is who named it. */
export function addressOf(url: string, said: string): StoreAddress {
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres', url }
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return { kind: 'sqlite', path }
  const problem = url.endsWith(':memory:') || url === 'memory:' ? 'keeps nothing for a second command' : 'is not known'
  // What follows the scheme may be a password.
  const scheme = /^[^:]*:/.exec(url)?.[0]
  throw new ChronosError(
    'INVALID_OPTION',
    `${said}: the store ${shown(scheme === undefined || scheme === url ? url : `${scheme}…`)} ${problem}; ` +
      'use sqlite:./chronos.db or postgres://user@host/database',
  )
}
