import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { ChronosError, shown } from '../core/error.js'
import type { Alerts } from '../engine/alerts.js'
import type { AuditReport } from '../engine/audit.js'
import type { Circuits } from '../engine/circuits.js'
import type { Dead } from '../engine/dead.js'
import type { EnqueueOptions, EnqueueResult } from '../engine/enqueuer.js'
import type { WorkerView } from '../engine/fleet.js'
import type { Jobs } from '../engine/jobs.js'
import type { Queues } from '../engine/queues.js'
import type { Redrives } from '../engine/redrives.js'
import type { Schedules } from '../engine/schedules.js'
import type { Webhooks } from '../engine/webhooks.js'
import type { Store, StoreInfo } from '../store/store.js'
import type { Environment, Io } from './io.js'
import type { Schema } from './schema.js'

/**
 * What commands work on: the façade's names and nothing else of it, so that a client of a server can take its place.
 * No command starts a worker.
 */
export interface Target {
  readonly jobs: Pick<Jobs, keyof Jobs>
  readonly queues: Pick<Queues, keyof Queues>
  readonly schedules: Pick<Schedules, keyof Schedules>
  readonly dead: Pick<Dead, keyof Dead>
  readonly redrives: Pick<Redrives, keyof Redrives>
  readonly circuits: Pick<Circuits, keyof Circuits>
  readonly webhooks: Pick<Webhooks, keyof Webhooks>
  readonly alerts: Pick<Alerts, 'list' | 'rules' | 'setRules' | 'silences' | 'silence' | 'unsilence'>
  enqueue(name: string, payload: unknown, options: EnqueueOptions): Promise<EnqueueResult>
  workers(): Promise<readonly WorkerView[]>
  audit(): Promise<AuditReport>
  info(): Promise<StoreInfo>
  close(): Promise<void>
}

export interface TargetOptions {
  readonly store?: string
  readonly log?: true
}

/** Where a store is, by its URL. */
export type Address =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

export const STORE_DEFAULT = 'sqlite:./chronos.db'

const GROUP = 'Common options:'

/** The options that every command on a store has, after its own. */
export function addTargetOptions(command: Command): Command {
  return command
    .optionsGroup(GROUP)
    .option('--store <url>', `sqlite:PATH or postgres://… (default: CHRONOS_STORE, or ${STORE_DEFAULT})`)
    .option('--json', 'JSON on stdout, with the same fields as in TypeScript')
    .option('--log', "show the engine's own log lines too, on stderr")
}

/** Flag > environment > default. */
export function addressOf({ store }: TargetOptions, env: Environment): Address {
  const [url, said] =
    store !== undefined ? [store, '--store'] : [env['CHRONOS_STORE'] || STORE_DEFAULT, 'CHRONOS_STORE']
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

export async function openStore(address: Address): Promise<Store> {
  if (address.kind === 'sqlite') return (await import('../sqlite.js')).sqlite(address.path)
  return (await import('../postgres.js')).postgres(address.url)
}

/** Whether a command may make the store that it does not find. */
export type Need = 'existing' | 'any'

/** Opens the target, has it used, and closes it whatever happens; an interrupted command waits for nothing else. */
export async function withTarget<T>(
  options: TargetOptions,
  io: Io,
  use: (target: Target) => Promise<T>,
  need: Need = 'existing',
): Promise<T> {
  const target = await open(addressOf(options, io.env), options, io, need)
  try {
    return await unlessInterrupted(use(target), io.interrupted)
  } finally {
    await target.close()
  }
}

async function open(address: Address, options: TargetOptions, io: Io, need: Need): Promise<Target> {
  if (address.kind === 'sqlite' && need === 'existing' && !existsSync(address.path)) throw noStore(address.path)
  const { schemaOf } = await import('./schema.js')
  const schema = await unlessInterrupted(schemaOf(address), io.interrupted)
  if (need === 'any' && schema.version === 0) io.stderr.write(`a new store is made at ${schema.location}\n`)
  else checkSchema(schema)
  const [{ createChronos }, { defaultLog }, { splitAllowed }] = await Promise.all([
    import('../index.js'),
    import('../engine/log.js'),
    import('../engine/egress/rules.js'),
  ])
  const chronos = createChronos({
    store: await openStore(address),
    log: options.log ? defaultLog({ ...io.env }) : false,
    egress: { allow: splitAllowed(io.env['CHRONOS_EGRESS_ALLOW']) },
  })
  return {
    jobs: chronos.jobs,
    queues: chronos.queues,
    schedules: chronos.schedules,
    dead: chronos.dead,
    redrives: chronos.redrives,
    circuits: chronos.circuits,
    webhooks: chronos.webhooks,
    alerts: chronos.alerts,
    enqueue: (name, payload, given) => chronos.enqueue(name, payload, given),
    workers: () => chronos.workers(),
    audit: () => chronos.audit(),
    info: () => chronos.info(),
    close: () => chronos.close(),
  }
}

/** Whoever only wants to see or add a job must not change the tables under workers of an older version. */
function checkSchema({ location, version, known }: Schema): void {
  if (version === 0) throw noStore(location)
  if (version >= known) return
  throw new ChronosError(
    'STORE_UNAVAILABLE',
    `${location} has schema ${version}, and this chronos works on schema ${known}; ` +
      'bring it up to date with `chronos migrate`',
    { details: { location, version, known } },
  )
}

function noStore(location: string): ChronosError {
  return new ChronosError(
    'STORE_UNAVAILABLE',
    `there is no store of Chronos at ${location}; make one with \`chronos migrate\`, or name another with --store or CHRONOS_STORE`,
    { details: { location } },
  )
}

export function unlessInterrupted<T>(work: Promise<T>, interrupted: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(interrupted.reason)
    if (interrupted.aborted) stop()
    interrupted.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', stop))
  })
}
