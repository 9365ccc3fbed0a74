import type { Command } from 'commander'
import { shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import type { Config, Level } from '../config/load.js'
import { addSettingFlags } from '../config/settings.js'
import { usage } from '../exit.js'
import type { Io } from '../io.js'

export interface AddressOptions {
  readonly store?: string
  readonly url?: string
  readonly token?: string
  readonly config?: string
}

export interface BackendOptions extends AddressOptions {
  readonly json?: true
  readonly log?: true
}

/** The address of a store, parsed from its URL. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** A store, or a server in front of one. */
export type BackendAddress = StoreAddress | { readonly kind: 'server'; readonly url: string; readonly token?: string }

/** The common options of commands that work on a store or through a server. */
export function addBackendOptions(command: Command): Command {
  return addStoreOptions(command, true)
}

/** The common options of commands that need the store itself. */
export function addStoreOptions(command: Command, hasServer = false): Command {
  addSettingFlags(command.optionsGroup(COMMON_GROUP), 'store', ...(hasServer ? (['url', 'token'] as const) : []))
  return addConfigOption(command)
    .option('--json', 'print JSON, with the same fields as in TypeScript')
    .option('--log', "also print the engine's log lines to stderr")
}

export const COMMON_GROUP = 'Common options:'

export function addConfigOption(command: Command): Command {
  return command.option('--config <file>', 'configuration file (default: chronos.config.json or .mjs in this folder)')
}

export async function configOf({ store, url, token, config }: AddressOptions, io: Io): Promise<Config> {
  const { loadConfig } = await import('../config/load.js')
  return loadConfig({ store, url, token, config }, io)
}

const STRENGTH: Readonly<Record<Level, number>> = { default: 0, file: 1, environment: 2, flag: 3 }

/** If both a store and a server are configured, the source with the higher precedence wins; in a tie, the server. */
export function addressIn({ settings, sources }: Config): BackendAddress {
  const { store, url, token } = settings
  const [ofStore, ofUrl] = [STRENGTH[sources.store.level], STRENGTH[sources.url.level]]
  if (url === undefined || ofUrl < ofStore) return addressOf(store, sources.store.name)
  if (ofUrl === STRENGTH.flag && ofStore === STRENGTH.flag) {
    throw usage('give either --store or --url')
  }
  return present({ kind: 'server' as const, url: url.replace(/\/+$/, ''), token })
}

/** The address of a store, for a command that cannot use a server. */
export async function storeAddress(options: AddressOptions, io: Io, command: string): Promise<StoreAddress> {
  const address = addressIn(await configOf(options, io))
  if (address.kind !== 'server') return address
  throw usage(`${command} does not work through a server (${address.url}); run it where the store is, with --store`)
}

/** `said` is the source of the URL, for errors. */
export function addressOf(url: string, said: string): StoreAddress {
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres', url }
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return { kind: 'sqlite', path }
  const problem = url.endsWith(':memory:') || url === 'memory:' ? 'is not shared between commands' : 'is not supported'
  // The rest of the URL may contain a password.
  const scheme = /^[^:]*:/.exec(url)?.[0]
  throw usage(
    `${said}: the store ${shown(scheme === undefined || scheme === url ? url : `${scheme}…`)} ${problem}; ` +
      'use sqlite:./chronos.db or postgres://user@host/database',
  )
}
