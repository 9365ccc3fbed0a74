import { existsSync } from 'node:fs'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import type { Log } from '../../engine/client/log.js'
import { systemClock, systemDice } from '../../engine/time/system.js'
import type { Store } from '../../store/store.js'
import type { Settings } from '../config/settings.js'
import { type Io, unlessInterrupted } from '../io.js'
import type { Backend } from './backend.js'
import type { Schema } from './schema.js'
import type { BackendOptions, StoreAddress } from './store-address.js'

/** `any`: the command may create the store. */
export type Need = 'existing' | 'any'

export async function openStore(address: StoreAddress): Promise<Store> {
  if (address.kind === 'sqlite') return (await import('../../sqlite.js')).sqlite(address.path)
  return (await import('../../postgres.js')).postgres(address.url)
}

/** Opens a store in this process; no worker is started. */
export async function openBackend(
  address: StoreAddress,
  settings: Settings,
  options: BackendOptions,
  io: Io,
  need: Need,
): Promise<Backend> {
  await ready(address, io, need)
  const [{ createChronos }, { Tokens }] = await Promise.all([
    import('../../index.js'),
    import('../../server/access/tokens.js'),
  ])
  const store = await openStore(address)
  const chronos = createChronos({
    store,
    log: options.log ? await logOf(settings) : false,
    egress: { allow: settings.egressAllow },
    ...present({ retry: settings.retry }),
  })
  return Object.assign(chronos, { tokens: new Tokens(async () => store, systemClock, systemDice) })
}

/** Checks the schema instead of migrating it: workers of an older version may be using the store. */
export async function ready(address: StoreAddress, io: Io, need: Need): Promise<void> {
  if (address.kind === 'sqlite' && need === 'existing' && !existsSync(address.path)) throw noStore(address.path)
  const { schemaOf } = await import('./schema.js')
  const schema = await unlessInterrupted(schemaOf(address), io.interrupted)
  if (need === 'any' && schema.version === 0) io.stderr.write(`creating a new store at ${schema.location}\n`)
  else checkSchema(schema)
}

export async function logOf({ logLevel, logFormat }: Pick<Settings, 'logLevel' | 'logFormat'>): Promise<Log> {
  const { defaultLog } = await import('../../engine/client/log.js')
  return defaultLog(present({ CHRONOS_LOG_LEVEL: logLevel, CHRONOS_LOG_FORMAT: logFormat }))
}

function checkSchema({ location, version, known }: Schema): void {
  if (version === 0) throw noStore(location)
  if (version >= known) return
  throw new ChronosError(
    'STORE_UNAVAILABLE',
    `${location} has schema ${version}, but this chronos needs schema ${known}; upgrade it with \`chronos migrate\``,
    { details: { location, version, known } },
  )
}

function noStore(location: string): ChronosError {
  return new ChronosError(
    'STORE_UNAVAILABLE',
    `no Chronos store at ${location}; create one with \`chronos migrate\`, or choose another with --store or CHRONOS_STORE`,
    { details: { location } },
  )
}
