import { formatMs } from '../../../core/values/duration.js'
import type { PostgresHealth } from '../../../store/postgres/connection/health.js'
import type { Hearing } from '../../../store/postgres/connection/listen-check.js'
import type { SqliteHealth } from '../../../store/sqlite/file/health.js'
import type { StoreInfo } from '../../../store/store.js'
import type { Schema } from '../../backend/schema.js'
import { nodeWarning } from '../../node.js'
import { bytesText } from '../../output/bytes.js'
import { countText, many } from '../../output/show.js'

/** One thing that was looked at. Only a problem fails the examination. */
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

/** The machine under everything: what ended must be said, and is nobody's emergency. */
export function nodeCheck(version = process.versions.node): Check {
  const ended = nodeWarning(version)
  if (ended === undefined) return ok('node', `Node ${version}`)
  return { name: 'node', status: 'ok', found: `Node ${version}: ${ended}` }
}

export function checkSchema({ location, version, known }: Schema): Check {
  const name = 'schema'
  if (version === known) return ok(name, `version ${version}, as this chronos needs it`)
  if (version === 0) return problem(name, `no tables of Chronos at ${location}`, 'make them with `chronos migrate`')
  if (version < known)
    return problem(
      name,
      `version ${version}; this chronos needs ${known}`,
      'bring it up to date with `chronos migrate`',
    )
  return problem(name, `version ${version}; this chronos knows ${known} at most`, 'update chronos-jobs here')
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
      `journal mode ${journalMode}: processes get in each other's way`,
      'keep the file on a local disk, not on a network share',
    )
  if (durability === 'power-loss')
    return ok(name, 'write-ahead log, synchronous: a job that was accepted survives a power loss')
  return warning(
    name,
    'not synchronous: the last jobs do not survive a power loss',
    'open the file with chronos-jobs only',
  )
}

function soundness(damage: readonly string[]): Check {
  if (damage.length === 0) return ok('integrity', 'the file is sound')
  const more = damage.length > 1 ? ` (and ${damage.length - 1} more)` : ''
  return problem(
    'integrity',
    `${damage[0]}${more}`,
    'restore a backup, or save what is left with `sqlite3 FILE .recover`',
  )
}

const WAL_WARN_BYTES = 64 * MEGABYTE

function fileSize({ fileBytes, walBytes }: SqliteHealth): Check {
  const found = `${bytesText(fileBytes)}, and ${bytesText(walBytes)} in its log`
  if (walBytes < WAL_WARN_BYTES) return ok('size', found)
  return warning('size', found, 'the log can not shrink while somebody reads: end long reads and forgotten shells')
}

const FREE_PROBLEM_BYTES = 50 * MEGABYTE
const FREE_WARN_BYTES = 500 * MEGABYTE

function freeSpace(freeBytes: number, fileBytes: number): Check {
  const found = `${bytesText(freeBytes)} free`
  const wayOut = 'make room, or prune ended jobs with `retention`: a full disk stops every worker'
  if (freeBytes < FREE_PROBLEM_BYTES) return problem('disk', found, wayOut)
  return freeBytes < Math.max(FREE_WARN_BYTES, fileBytes / 10) ? warning('disk', found, wayOut) : ok('disk', found)
}

export function postgresChecks(info: StoreInfo, health: PostgresHealth, hearing: Hearing): readonly Check[] {
  return [
    ok('engine', info.engine),
    postgresDurability(health),
    wakeUps(hearing),
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
      'synchronous_commit is off: the last moments before a crash are lost, jobs and their ends',
      'set synchronous_commit = on for the role or database that Chronos uses',
    )
  if (synchronousStandbys === '')
    return ok(
      name,
      `synchronous_commit is ${commit}, no synchronous standby: a job that was accepted survives a crash and a power loss; ` +
        'a failover to a standby may lose the last moments',
    )
  if (commit === 'local')
    return warning(
      name,
      'synchronous_commit is local: commits do not wait for the standbys, so a failover may lose the last moments',
      'set synchronous_commit = on',
    )
  return ok(
    name,
    `synchronous_commit is ${commit}, standbys ${synchronousStandbys}: a job that was accepted survives a failover too`,
  )
}

function wakeUps(hearing: Hearing): Check {
  if (hearing === 'heard') return ok('wake-ups', 'LISTEN works: workers on other machines start new jobs at once')
  if (hearing === 'off') return ok('wake-ups', 'LISTEN is turned off: workers look for new jobs once a second')
  return warning(
    'wake-ups',
    'LISTEN hears nothing: workers find new jobs only when they look, once a second',
    'if the address leads to a pooler, give the store a direct `listenUrl`',
  )
}

const SNAPSHOT_WARN_MS = 5 * MINUTE_MS

function snapshots(oldestMs: number | undefined): Check {
  const name = 'transactions'
  if (oldestMs === undefined) return ok(name, 'none is open')
  const found = `the oldest is open for ${formatMs(oldestMs)}`
  if (oldestMs < SNAPSHOT_WARN_MS) return ok(name, found)
  return warning(
    name,
    found,
    'end it: rows that died since can not be cleaned up, and claims slow down (pg_stat_activity)',
  )
}

const DEAD_ROWS_WARN = 500_000

function deadRows(rows: number): Check {
  const found = many(rows, 'dead row')
  if (rows < DEAD_ROWS_WARN) return ok('dead rows', found)
  return warning('dead rows', found, 'see that autovacuum runs and that no old transaction holds it back')
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
  if (ms === undefined) return ok('due jobs', 'none waits for a worker')
  const found = `the oldest waits for a worker since ${formatMs(ms)}`
  if (ms < DUE_WARN_MS) return ok('due jobs', found)
  return warning(
    'due jobs',
    found,
    'start a worker for its queue, or resume the queue: `chronos jobs list --phase queued`',
  )
}

function leases(expired: number): Check {
  if (expired === 0) return ok('leases', 'none has run out')
  const found = `${countText(expired)} ${expired === 1 ? 'has' : 'have'} run out: their worker died or hangs`
  return warning('leases', found, 'any running worker hands such jobs on within two lease times; start one')
}

const DELTAS_WARN = 10_000

function statistics(deltas: number): Check {
  if (deltas < DELTAS_WARN) return ok('statistics', 'up to date')
  const found = `${countText(deltas)} batches of counts are not added up yet`
  return warning('statistics', found, 'a running worker adds them up; start one, with `maintenance`')
}
