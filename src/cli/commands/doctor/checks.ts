import { formatMs } from '../../../core/values/duration.js'
import type { UnhandledView } from '../../../engine/jobs/handlers.js'
import type { PostgresHealth } from '../../../store/postgres/connection/health.js'
import type { ListenResult } from '../../../store/postgres/connection/listen-check.js'
import type { SqliteHealth } from '../../../store/sqlite/file/health.js'
import type { Count, StoreInfo } from '../../../store/store.js'
import type { Schema } from '../../backend/schema.js'
import { nodeWarning } from '../../node.js'
import { bytesText } from '../../output/bytes.js'
import { countText, many, manyOf } from '../../output/show.js'

/** The result of one check. Only a problem makes the command fail. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'problem'
  readonly found: string
  readonly wayOut?: string
}

const MINUTE_MS = 60_000
const MEGABYTE = 1_000_000

const ok = (name: string, found: string): Check => ({ name, status: 'ok', found })
const warning = (name: string, found: string, wayOut: string): Check => ({ name, status: 'warning', found, wayOut })
const problem = (name: string, found: string, wayOut: string): Check => ({ name, status: 'problem', found, wayOut })

/** A Node version without security fixes is reported, but is not a warning. */
export function nodeCheck(version = process.versions.node): Check {
  const ended = nodeWarning(version)
  if (ended === undefined) return ok('node', `Node ${version}`)
  return { name: 'node', status: 'ok', found: `Node ${version}: ${ended}` }
}

export function checkSchema({ location, version, known }: Schema): Check {
  const name = 'schema'
  if (version === known) return ok(name, `version ${version}, as expected`)
  if (version === 0) return problem(name, `no Chronos tables at ${location}`, 'create them with `chronos migrate`')
  if (version < known)
    return problem(name, `version ${version}; this chronos needs ${known}`, 'upgrade it with `chronos migrate`')
  return problem(name, `version ${version}; this chronos supports up to ${known}`, 'update chronos-jobs')
}

export function sqliteChecks(info: StoreInfo, health: SqliteHealth): readonly Check[] {
  return [
    ok('engine', info.engine),
    sqliteDurability(info, health),
    ...(health.damage ? [soundness(health.damage)] : []),
    fileSize(health),
    ...(health.freeBytes === undefined ? [] : [freeSpace(health.freeBytes, health.fileBytes)]),
    ...workChecks(health),
  ]
}

function sqliteDurability({ durability }: StoreInfo, { journalMode }: SqliteHealth): Check {
  const name = 'durability'
  if (journalMode !== 'wal')
    return problem(
      name,
      `journal mode ${journalMode}: processes block each other`,
      'move the file to a local disk, not a network share',
    )
  if (durability === 'power-loss')
    return ok(name, 'write-ahead log, synchronous: an accepted job survives a power loss')
  return warning(
    name,
    'not synchronous: the last jobs may be lost in a power loss',
    'open the file with chronos-jobs only',
  )
}

function soundness(damage: readonly string[]): Check {
  if (damage.length === 0) return ok('integrity', 'no damage found')
  const more = damage.length > 1 ? ` (and ${damage.length - 1} more)` : ''
  return problem(
    'integrity',
    `${damage[0]}${more}`,
    'restore a backup, or recover the data with `sqlite3 FILE .recover`',
  )
}

/** A damaged record counts as absent. */
export function recordsCheck(damaged: readonly string[]): Check {
  if (damaged.length === 0) return ok('records', 'all readable')
  const more = damaged.length > 1 ? ` (and ${damaged.length - 1} more)` : ''
  return problem(
    'records',
    `${damaged[0]} is damaged and counts as absent${more}`,
    'restore a backup, or create it again under the same id',
  )
}

const WAL_WARN_BYTES = 64 * MEGABYTE

function fileSize({ fileBytes, walBytes }: SqliteHealth): Check {
  const found = `${bytesText(fileBytes)}, plus ${bytesText(walBytes)} write-ahead log`
  if (walBytes < WAL_WARN_BYTES) return ok('size', found)
  return warning(
    'size',
    found,
    'the log cannot shrink during a long read: close long-running readers and forgotten shells',
  )
}

const FREE_PROBLEM_BYTES = 50 * MEGABYTE
const FREE_WARN_BYTES = 500 * MEGABYTE

function freeSpace(freeBytes: number, fileBytes: number): Check {
  const found = `${bytesText(freeBytes)} free`
  const wayOut = 'free disk space, or prune ended jobs with `retention`: a full disk stops every worker'
  if (freeBytes < FREE_PROBLEM_BYTES) return problem('disk', found, wayOut)
  return freeBytes < Math.max(FREE_WARN_BYTES, fileBytes / 10) ? warning('disk', found, wayOut) : ok('disk', found)
}

export function postgresChecks(info: StoreInfo, health: PostgresHealth, listen: ListenResult): readonly Check[] {
  return [
    ok('engine', info.engine),
    postgresDurability(health),
    wakeUps(listen),
    snapshots(health.oldestSnapshotMs),
    deadRows(health.deadRows),
    ...workChecks(health),
  ]
}

/** The weakest setting decides what an accepted job survives. */
function postgresDurability({ settings, synchronousStandbys }: PostgresHealth): Check {
  const name = 'durability'
  const commit = settings.synchronous_commit
  if (settings.fsync === 'off')
    return problem(name, 'fsync is off: a power loss may destroy the whole database', 'set fsync = on')
  if (settings.full_page_writes === 'off')
    return problem(name, 'full_page_writes is off: a power loss may leave torn pages', 'set full_page_writes = on')
  if (commit === 'off')
    return warning(
      name,
      'synchronous_commit is off: a crash loses the last commits',
      'set synchronous_commit = on for the role or database that Chronos uses',
    )
  if (synchronousStandbys === '')
    return ok(
      name,
      `synchronous_commit is ${commit}, no synchronous standby: an accepted job survives a crash and a power loss; ` +
        'a failover to a standby may lose the last commits',
    )
  if (commit === 'local')
    return warning(
      name,
      'synchronous_commit is local: commits do not wait for the standbys, so a failover may lose the last commits',
      'set synchronous_commit = on',
    )
  return ok(
    name,
    `synchronous_commit is ${commit}, standbys ${synchronousStandbys}: an accepted job also survives a failover`,
  )
}

function wakeUps(listen: ListenResult): Check {
  if (listen === 'heard') return ok('wake-ups', 'LISTEN works: workers on other machines start new jobs at once')
  if (listen === 'off') return ok('wake-ups', 'LISTEN is turned off: workers poll for new jobs once a second')
  return warning(
    'wake-ups',
    'LISTEN receives nothing: workers find new jobs only by polling, once a second',
    'if the address is a connection pooler, give the store a direct `listenUrl`',
  )
}

const SNAPSHOT_WARN_MS = 5 * MINUTE_MS

function snapshots(oldestMs: number | undefined): Check {
  const name = 'transactions'
  if (oldestMs === undefined) return ok(name, 'none open')
  const found = `the oldest has been open for ${formatMs(oldestMs)}`
  if (oldestMs < SNAPSHOT_WARN_MS) return ok(name, found)
  return warning(
    name,
    found,
    'end it (see pg_stat_activity): vacuum cannot remove newer dead rows, and claims slow down',
  )
}

const DEAD_ROWS_WARN = 500_000

function deadRows(rows: number): Check {
  const found = many(rows, 'dead row')
  if (rows < DEAD_ROWS_WARN) return ok('dead rows', found)
  return warning('dead rows', found, 'check that autovacuum runs and that no old transaction blocks it')
}

const DUE_WARN_MS = MINUTE_MS

interface Work {
  readonly oldestDueMs?: number
  readonly expiredLeases: number
  readonly deltas: number
}

function workChecks({ oldestDueMs, expiredLeases, deltas }: Work): readonly Check[] {
  return [oldestDue(oldestDueMs), leases(expiredLeases), statistics(deltas)]
}

function oldestDue(ms: number | undefined): Check {
  if (ms === undefined) return ok('due jobs', 'none waiting for a worker')
  const found = `the oldest has waited ${formatMs(ms)} for a worker`
  if (ms < DUE_WARN_MS) return ok('due jobs', found)
  return warning(
    'due jobs',
    found,
    'start a worker for its queue, or resume the queue: `chronos jobs list --phase queued`',
  )
}

const KEPT_WARN = 100_000

/** `kept` is counted only if no job is ever pruned. */
export function retentionCheck(isPruning: boolean | undefined, kept: Count): Check {
  if (isPruning) return ok('retention', 'ended jobs are pruned')
  const found = isPruning === undefined ? 'no worker has said whether it prunes' : 'no job is ever pruned'
  if (kept.value < KEPT_WARN) return ok('retention', `${found}; ${manyOf(kept, 'ended job')}`)
  return warning(
    'retention',
    `${found}; ${manyOf(kept, 'ended job')}`,
    'set `retention`, or run `chronos prune` regularly',
  )
}

/** Jobs that no live worker can run. */
export function handlerChecks(unhandled: readonly UnhandledView[]): readonly Check[] {
  return unhandled.map(({ queue, name, waiting, similar }) => {
    const found = `${manyOf(waiting, 'job')} "${name}" in queue "${queue}": no live worker has a handler for this name`
    const meant = similar === undefined ? '' : ` (did you mean "${similar}"?)`
    return warning(
      'handlers',
      `${found}${meant}`,
      'start a worker with this handler, or cancel the jobs: `chronos jobs cancel --name NAME`',
    )
  })
}

function leases(expired: number): Check {
  if (expired === 0) return ok('leases', 'none expired')
  const found = `${countText(expired)} expired: their worker died or hangs`
  return warning('leases', found, 'start a worker: it recovers such jobs within two lease times')
}

const DELTAS_WARN = 10_000

function statistics(deltas: number): Check {
  if (deltas < DELTAS_WARN) return ok('statistics', 'up to date')
  const found = `${countText(deltas)} batches of counters not yet folded`
  return warning('statistics', found, 'start a worker with `maintenance`: it folds them')
}
