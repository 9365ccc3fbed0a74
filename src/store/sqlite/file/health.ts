import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Clock, Dice } from '../../../core/values/clock.js'
import { present } from '../../../core/values/present.js'
import { checkOwner } from '../migrations.js'
import { LANES, PLAIN } from '../rows.js'
import { BusyRetry } from './busy-retry.js'
import { Connection } from './connection.js'
import { loadDriver } from './driver.js'
import { failure } from './failure.js'

/**
 * Facts that help to diagnose a slow or broken SQLite store. Ages are in milliseconds, and absent if there is no such
 * job.
 */
export interface SqliteHealth {
  readonly path: string
  /** The version of SQLite. */
  readonly version: string
  readonly fileBytes: number
  /** The size of the write-ahead log. */
  readonly walBytes: number
  /** Free bytes on the disk of the file; absent if it can't be determined. */
  readonly freeBytes?: number
  readonly journalMode: string
  /**
   * The problems that the integrity check of SQLite found; empty if the file is intact, absent if it was not checked.
   */
  readonly damage?: readonly string[]
  readonly oldestDueMs?: number
  readonly expiredLeases: number
  /** Deltas that are not folded yet. A large number means that no worker folds them. */
  readonly deltas: number
}

export interface Runtime {
  readonly clock: Clock
  readonly dice: Dice
}

const DAMAGE_MAX = 5

/** Reads a file without changing it: unlike the store, it neither creates nor migrates the file. */
export async function health(path: string, runtime: Runtime, search: 'damage' | 'none'): Promise<SqliteHealth> {
  const { version } = await loadDriver()
  const now = runtime.clock.now()
  const found = await readOnce(path, runtime, db => {
    const [journalMode] = db.get<[string]>('PRAGMA journal_mode')!
    const sql = db.get<[number]>(HAS_LANES)![0] === 1 ? JOBS : JOBS_BEFORE_LANES
    const [oldestDueMs, expiredLeases, deltas] = db.get<[number | null, number, number]>(sql, now)!
    return {
      journalMode,
      damage: search === 'damage' ? damageOf(db) : undefined,
      oldestDueMs: oldestDueMs ?? undefined,
      expiredLeases,
      deltas,
    }
  })
  const freeBytes = await freeBytesOn(dirname(resolve(path)))
  return present({ path, version, fileBytes: bytesOf(path), walBytes: bytesOf(`${path}-wal`), freeBytes, ...found })
}

/** The schema version of a file; 0 if the file does not exist or is empty. */
export async function versionOf(path: string, runtime: Runtime): Promise<number> {
  if (!existsSync(path)) return 0
  return readOnce(path, runtime, db => {
    const [known] = db.get<[number]>(`SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`)!
    return known === 0 ? 0 : db.get<[number]>('SELECT ifnull(max(version), 0) FROM migrations')![0]
  })
}

/**
 * Finds the oldest job of each queue and priority through the index that claims use, so that jobs scheduled for later
 * cost nothing.
 */
const oldestDue = (line: string): string => `
  (SELECT max(?1 - (SELECT run_at FROM jobs ${line} AND queue = queues.name
    AND priority = level.value AND run_at <= ?1 ORDER BY run_at LIMIT 1))
    FROM queues, json_each('[0,1,2,3,4,5,6,7,8,9]') AS level)`
const jobsOf = (oldest: string): string => `
  SELECT ${oldest}, (SELECT count(*) FROM jobs WHERE state = 'running' AND lease_until < ?1), (SELECT count(*) FROM deltas)`
const JOBS = jobsOf(`(SELECT max(age) FROM (SELECT ${oldestDue(PLAIN)} AS age UNION ALL SELECT ${oldestDue(LANES)}))`)
/** For files of versions without lanes. */
const JOBS_BEFORE_LANES = jobsOf(oldestDue(`INDEXED BY jobs_waiting WHERE state = 'waiting'`))
const HAS_LANES = `SELECT count(*) FROM pragma_table_info('jobs') WHERE name = 'lane'`

function damageOf(db: Connection): readonly string[] {
  const lines = db.all<[string]>(`PRAGMA quick_check(${DAMAGE_MAX})`).map(([line]) => line)
  return lines.length === 1 && lines[0] === 'ok' ? [] : lines
}

/** Another process may be creating the file at this moment, and holds its lock meanwhile. */
async function readOnce<T>(path: string, { clock, dice }: Runtime, act: (db: Connection) => T): Promise<T> {
  const driver = await loadDriver()
  const busyRetry = new BusyRetry(clock, dice)
  let db: Connection | undefined
  try {
    const opened = await busyRetry.run(() => new Connection(driver, path))
    db = opened
    return await busyRetry.run(() => {
      checkOwner(opened)
      return act(opened)
    })
  } catch (error) {
    throw failure(error, path)
  } finally {
    db?.close()
  }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function freeBytesOn(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return undefined
  }
}
