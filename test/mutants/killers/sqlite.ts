import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { commitFailure, failure, isBusy } from '../../../src/store/sqlite/file/failure.js'
import { sqliteStore } from '../../../src/store/sqlite/store.js'
import { Bench, BOOM, died, succeeded } from '../../store/conformance/bench.js'
import { HandClock } from './clock.js'

/** The driver of Node 20 gives only a message when a later row can't be read. */
export async function errorsAreKnownByTheirWords(): Promise<void> {
  const said = (message: string): Error => Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR' })
  assert.ok(isBusy(said('database is locked')), 'a locked database is not recognised')
  const broken = failure(said('database disk image is malformed'), 'a.db') as { code?: string }
  assert.equal(broken.code, 'STORE_CORRUPT')
}

const withNumber = (errcode: number): Error => Object.assign(new Error('no'), { errcode, code: 'ERR_SQLITE_ERROR' })

export async function aReadOnlyFileIsNamed(): Promise<void> {
  assert.equal((failure(withNumber(8), '/a/jobs.db') as { code?: string }).code, 'STORE_READ_ONLY')
}

export async function aFailedFlushIsUnknown(): Promise<void> {
  const { code, message } = commitFailure(withNumber(1034), 'jobs.db') as { code?: string; message: string }
  assert.equal(code, 'STORE_UNKNOWN', 'a commit that may have reached the disk is reported as not done')
  assert.match(message, /except for an enqueue without a `key`/)
}

export async function aDeletedFileAcknowledgesNothing(): Promise<void> {
  const path = join(tmpdir(), `chronos-killer-${process.pid}-gone.db`)
  const store = sqliteStore({ path, clock: new HandClock(), dice: seededDice(1) })
  try {
    await store.setQueue('a', { paused: true })
    rmSync(path)
    await assert.rejects(store.setQueue('b', { paused: true }), { code: 'STORE_UNAVAILABLE' })
  } finally {
    await store.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  }
}

export async function oneClockPerFile(): Promise<void> {
  const path = join(tmpdir(), `chronos-killer-${process.pid}.db`)
  const [now, behind] = [new HandClock(), new HandClock()]
  now.advance(3_600_000)
  const first = sqliteStore({ path, clock: now, dice: seededDice(1) })
  const second = sqliteStore({ path, clock: behind, dice: seededDice(2) })
  try {
    await first.migrate()
    await first.setQueue('a', { paused: true })
    await second.migrate()
    const lagMs = (await first.info()).now - (await second.info()).now
    assert.ok(lagMs < 2_000, `two processes on one file disagree by ${lagMs} ms`)
  } finally {
    await Promise.all([first.close(), second.close()])
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  }
}

async function inMemory(check: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench(async clock => sqliteStore({ path: ':memory:', clock, dice: seededDice(1) }))
  await bench.open()
  try {
    await check(bench)
  } finally {
    await bench.close()
  }
}

export async function batchesAreFenced(): Promise<void> {
  await inMemory(async bench => {
    await bench.addMany(5)
    const jobs = await bench.claim()
    const token = bench.token()
    const answers = await bench.store.settle(jobs.map(job => bench.settlement({ ...job, token }, succeeded())))
    const settled = answers.filter(({ status }) => status !== 'lost').length
    assert.equal(settled, 0, `${settled} of 5 runs were settled with the token of another claim`)
  })
}

export async function errorsLastAsLongAsTheirAttempts(): Promise<void> {
  await inMemory(async bench => {
    await bench.addMany(4)
    const jobs = await bench.claim()
    await bench.store.settle(jobs.map(job => bench.settlement(job, died())))
    const [kept, ...removed] = jobs.map(({ id }) => id)
    await bench.store.remove(removed)
    assert.deepEqual((await bench.history(kept!))[0]?.error, BOOM, 'the error of an attempt is gone')
  })
}

/** A response is lost, another enqueue follows, and the first call is repeated. */
export async function aPayloadIsTakenOnce(): Promise<void> {
  await inMemory(async bench => {
    const given = { unique: 'u', replacement: { mode: 'replace' } } as const
    const id = await bench.add(given)
    const lost = bench.job({ ...given, payload: '"old"' })
    await bench.store.enqueue([lost])
    await bench.add({ ...given, payload: '"newest"' })
    await bench.store.enqueue([lost])
    assert.equal((await bench.get(id)).payload, '"newest"', 'a repeated call brought an older payload back')
  })
}

export async function aRunKeepsItsPayload(): Promise<void> {
  await inMemory(async bench => {
    const given = { unique: 'u', replacement: { mode: 'replace' } } as const
    const running = await bench.running({ ...given, payload: '1' })
    await bench.add({ ...given, payload: '2' })
    await bench.settle(running, succeeded())
    const next = (await bench.claim()).map(({ payload }) => payload)
    assert.deepEqual(next, ['2'], 'a payload that was enqueued during a run is lost')
  })
}
