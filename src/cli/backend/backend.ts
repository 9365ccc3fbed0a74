import type { Library, MethodName } from '../../server/library.js'
import { type Io, unlessInterrupted } from '../io.js'
import type { Need } from './direct.js'
import { addressIn, type BackendOptions, configOf } from './store-address.js'

/** Methods that the API does not make available. */
export const LOCAL_ONLY = [
  'queues.list',
  'schedules.create',
  'schedules.end',
  'schedules.edit',
  'alerts.deliveries',
  'tokens.exist',
  'tokens.verify',
  'tokens.holder',
] as const satisfies readonly MethodName[]

type Remote<Part extends string, T> = {
  readonly [Name in keyof T as `${Part}.${Name & string}` extends Exclude<MethodName, (typeof LOCAL_ONLY)[number]>
    ? Name
    : never]: T[Name]
}

/** The part of Chronos that commands use, on a store or through a server. No command starts a worker. */
export type Backend = {
  readonly [Part in keyof Library]: Part extends MethodName ? Library[Part] : Remote<Part, Library[Part]>
}

/** Opens the backend, uses it, and closes it in any case. An interrupted command does not wait for the use to end. */
export async function withBackend<T>(
  options: BackendOptions,
  io: Io,
  use: (backend: Backend) => Promise<T>,
  need: Need = 'existing',
): Promise<T> {
  const backend = await open(options, io, need)
  try {
    return await unlessInterrupted(use(backend), io.interrupted)
  } finally {
    await backend.close()
  }
}

async function open(options: BackendOptions, io: Io, need: Need): Promise<Backend> {
  const config = await configOf(options, io)
  const address = addressIn(config)
  if (address.kind === 'server') return (await import('./remote.js')).remoteBackend(address)
  return (await import('./direct.js')).openBackend(address, config.settings, options, io, need)
}
