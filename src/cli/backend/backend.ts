import type { Alerts } from '../../engine/alerts/alerts.js'
import type { EnqueueOptions, EnqueueResult } from '../../engine/client/enqueuer.js'
import type { Dead } from '../../engine/dead/dead.js'
import type { Redrives } from '../../engine/dead/redrives.js'
import type { Circuits } from '../../engine/dependencies/circuits.js'
import type { FleetStats } from '../../engine/figures/statistics.js'
import type { Jobs } from '../../engine/jobs/jobs.js'
import type { Queues } from '../../engine/jobs/queues.js'
import type { Schedules } from '../../engine/schedules/schedules.js'
import type { IntegrityReport } from '../../engine/upkeep/integrity.js'
import type { Webhooks } from '../../engine/webhooks/webhooks.js'
import type { WorkerView } from '../../engine/worker/fleet.js'
import type { Tokens } from '../../server/access/tokens.js'
import type { StoreInfo } from '../../store/store.js'
import { type Io, unlessInterrupted } from '../io.js'
import type { Need } from './direct.js'
import { addressIn, type BackendOptions, configOf } from './store-address.js'

/**
 * The part of Chronos that commands use, so that a client of a server can take its place. No command starts a worker.
 */
export interface Backend {
  readonly jobs: Pick<
    Jobs,
    | 'get'
    | 'list'
    | 'count'
    | 'history'
    | 'logs'
    | 'explain'
    | 'cancel'
    | 'runNow'
    | 'reschedule'
    | 'edit'
    | 'retry'
    | 'replay'
    | 'delete'
  >
  readonly queues: Pick<Queues, 'report' | 'set' | 'pause' | 'resume'>
  readonly schedules: Pick<Schedules, 'list' | 'put' | 'pause' | 'resume' | 'run' | 'delete'>
  readonly dead: Pick<Dead, 'list' | 'groups' | 'group' | 'setGroup' | 'redrive' | 'acknowledge' | 'discard'>
  readonly redrives: Pick<Redrives, 'list' | 'get' | 'pause' | 'resume' | 'abort' | 'setRate'>
  readonly circuits: Pick<Circuits, 'list' | 'open' | 'close'>
  readonly webhooks: Pick<
    Webhooks,
    'list' | 'create' | 'delete' | 'enable' | 'disable' | 'rotateSecret' | 'test' | 'deliveries' | 'recover'
  >
  readonly alerts: Pick<Alerts, 'list' | 'rules' | 'setRules' | 'silences' | 'silence' | 'unsilence'>
  readonly tokens: Pick<Tokens, 'create' | 'list' | 'revoke'>
  enqueue(name: string, payload: unknown, options: EnqueueOptions): Promise<EnqueueResult>
  stats(): Promise<FleetStats>
  workers(): Promise<readonly WorkerView[]>
  verify(): Promise<IntegrityReport>
  info(): Promise<StoreInfo>
  close(): Promise<void>
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
  if (address.kind === 'server') return (await import('./remote/backend.js')).remoteBackend(address)
  return (await import('./direct.js')).openBackend(address, config.settings, options, io, need)
}
