import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { ChronosError } from '../../../core/values/error.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import { judge } from '../../../engine/upkeep/integrity.js'
import { BusyRetry } from '../../../store/sqlite/file/busy-retry.js'
import { Connection } from '../../../store/sqlite/file/connection.js'
import { loadDriver } from '../../../store/sqlite/file/driver.js'
import { failure } from '../../../store/sqlite/file/failure.js'
import { audit } from '../../../store/sqlite/reads/integrity.js'
import { ready } from '../../backend/direct.js'
import { type BackendOptions, storeAddress } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { bytesText } from '../../output/bytes.js'
import { many, show } from '../../output/show.js'

interface BackupOptions extends BackendOptions {
  readonly force?: true
}

interface Checked {
  readonly jobs: number
  readonly queues: number
}

export async function backUp(file: string, options: BackupOptions, io: Io): Promise<void> {
  const address = await storeAddress(options, io, 'backup')
  if (address.kind === 'postgres') throw forPostgres(address.url, file)
  const [from, to] = [resolve(address.path), resolve(file)]
  checkTarget(from, to, options.force === true)
  await ready(address, io, 'existing')
  const startedAt = systemClock.now()
  // An incomplete copy must not look like a backup.
  const part = `${to}.part`
  try {
    rmSync(part, { force: true })
    await copy(from, part)
    const checked = await check(part)
    renameSync(part, to)
    sync(dirname(to))
    const bytes = statSync(to).size
    const durationMs = systemClock.now() - startedAt
    show(io, options, { from, to, bytes, ...checked, durationMs }, () => {
      const what = `${bytesText(bytes)}, ${many(checked.jobs, 'job')} in ${many(checked.queues, 'queue')}`
      return `${to}: ${what}; read back and verified\n`
    })
  } finally {
    rmSync(part, { force: true })
  }
}

function checkTarget(from: string, to: string, mayReplace: boolean): void {
  if (from === to) throw refused(`${to} is the store itself; name another file`)
  if (!existsSync(dirname(to))) throw refused(`no folder ${dirname(to)}`)
  if (!existsSync(to)) return
  if (!statSync(to).isFile()) throw refused(`${to} is not a file`)
  if (!mayReplace) throw refused(`${to} already exists; name another file, or replace it with --force`)
  if (existsSync(`${to}-wal`)) throw refused(`${to} is in use: ${basename(to)}-wal exists`)
}

/** Reads a snapshot; concurrent writers are not blocked. */
async function copy(from: string, part: string): Promise<void> {
  const driver = await loadDriver()
  // Payloads may be confidential. SQLite writes into an empty file and keeps its mode.
  closeSync(openSync(part, 'wx', 0o600))
  let db: Connection | undefined
  try {
    const busyRetry = new BusyRetry(systemClock, systemDice)
    const opened = await busyRetry.run(() => new Connection(driver, from))
    db = opened
    await busyRetry.run(() => opened.run('VACUUM INTO ?', part))
  } catch (error) {
    throw failure(error, from)
  } finally {
    db?.close()
  }
  sync(part)
}

async function check(part: string): Promise<Checked> {
  const db = new Connection(await loadDriver(), part)
  try {
    const lines = db.all<[string]>('PRAGMA integrity_check(5)').map(([line]) => line)
    if (lines.length !== 1 || lines[0] !== 'ok') throw unsound(lines[0] ?? 'it is empty')
    db.beginReading()
    const reading = audit(db, systemClock.now())
    let step = reading.next()
    while (!step.done) step = reading.next()
    db.endReading()
    const { isSound, queues, findings } = judge(step.value)
    const problem = queues.find(queue => queue.problem !== undefined)?.problem ?? findings[0]?.detail
    if (!isSound) throw unsound(problem ?? 'jobs are missing')
    const rows = queues.flatMap(queue => Object.values(queue.rows))
    return { jobs: rows.reduce((sum, count) => sum + count, 0), queues: queues.length }
  } finally {
    db.close()
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** The copy is faulty because the store is. */
function unsound(problem: string): ChronosError {
  return new ChronosError(
    'STORE_CORRUPT',
    `the copy failed verification and was deleted: ${problem}; check the store with \`chronos doctor\` and \`chronos verify\``,
  )
}

function refused(words: string): ChronosError {
  return new ChronosError('INVALID_OPTION', `backup: ${words}`)
}

/** PostgreSQL has its own tools for backups. */
function forPostgres(store: string, file: string): ChronosError {
  const url = new URL(store)
  url.password = ''
  const schema = url.searchParams.get('schema') ?? 'chronos'
  url.searchParams.delete('schema')
  return new ChronosError(
    'INVALID_OPTION',
    `backup copies SQLite files; for PostgreSQL use \`pg_dump --format=custom --schema=${schema} --file=${file} '${url.href}'\``,
  )
}
