import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Clock, Dice } from '../../../core/values/clock.js'
import { present } from '../../../core/values/present.js'
import { checkOwner } from '../migrations.js'
import { Patience } from './busy-retry.js'
import { Connection } from './connection.js'
import { loadDriver } from './driver.js'
import { failure } from './failure.js'

/** What people look at when a queue on SQLite is slow or odd. Ages in milliseconds; absent where there is nothing to age. */
export interface SqliteHealth {
  readonly path: string
  /** Of SQLite itself. */
  readonly version: string
  readonly fileBytes: number
  /** What was committed and is not yet in the file itself. */
  readonly walBytes: number
  /** On the disk of the file; absent where nobody can tell. */
  readonly freeBytes?: number
  readonly journalMode: string
  /** What is wrong inside the file; empty where it is sound, absent where it was not looked for. */
  readonly damage?: readonly string[]
  readonly oldestDueMs?: number
  readonly expiredLeases: number
  /** What was counted and is not folded yet: where there are many, nobody folds. */
  readonly deltas: number
}

/** Time, and dice to wait by. */
export interface Means {
  readonly clock: Clock
  readonly dice: Dice
}

const DAMAGE_MAX = 5

/** Looks at a file without changing it: neither made nor migrated, unlike by the store. */
export async function health(path: string, means: Means, search: 'damage' | 'none'): Promise<SqliteHealth> {
  const { version } = await loadDriver()
  const now = means.clock.now()
  const found = await look(path, means, db => {
    const [journalMode] = db.get<[string]>('PRAGMA journal_mode')!
    const [oldestDueMs, expiredLeases, deltas] = db.get<[number | null, number, number]>(JOBS, now, now, now)!
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

/** Which migration a file has seen last; 0 where there is no file, or nothing in it. */
export async function versionOf(path: string, means: Means): Promise<number> {
  if (!existsSync(path)) return 0
  return look(path, means, db => {
    const [known] = db.get<[number]>(`SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`)!
    return known === 0 ? 0 : db.get<[number]>('SELECT ifnull(max(version), 0) FROM migrations')![0]
  })
}

/** The oldest of each queue and priority by its index, as a claim finds them: those that wait for later cost nothing. */
const JOBS = `
  SELECT
    (SELECT max(? - (SELECT run_at FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND queue = queues.name
      AND priority = level.value AND run_at <= ? ORDER BY run_at LIMIT 1))
      FROM queues, json_each('[0,1,2,3,4,5,6,7,8,9]') AS level),
    (SELECT count(*) FROM jobs WHERE state = 'running' AND lease_until < ?),
    (SELECT count(*) FROM deltas)`

function damageOf(db: Connection): readonly string[] {
  const lines = db.all<[string]>(`PRAGMA quick_check(${DAMAGE_MAX})`).map(([line]) => line)
  return lines.length === 1 && lines[0] === 'ok' ? [] : lines
}

/** Another process may be making the file just now, and holds its lock meanwhile. */
async function look<T>(path: string, { clock, dice }: Means, act: (db: Connection) => T): Promise<T> {
  const driver = await loadDriver()
  const patience = new Patience(clock, dice)
  let db: Connection | undefined
  try {
    const opened = await patience.until(() => new Connection(driver, path))
    db = opened
    return await patience.until(() => {
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
