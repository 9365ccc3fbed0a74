import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededDice } from '../../src/engine/time/virtual.js'
import { defineJob, exponential } from '../../src/index.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import { testChronos } from '../../src/testing.js'

/** Control characters that must never reach a terminal unescaped. */
export const HOSTILE = '\u001b[31mred\u001b[0m \u202Eback\u0007 \u009b2J'

export interface Lives {
  /** Failed twice, then succeeded at the third attempt after waits of one and two minutes. */
  readonly succeeded: string
  /** Dead after three failures. */
  readonly dead: string
  /** Failed once and waits for its retry, which is overdue because no worker is running. */
  readonly retrying: string
  /** Scheduled for a distant date. */
  readonly scheduled: string
  /** Cancelled before it ran. */
  readonly cancelled: string
  /** In the order of `jobs list`: newest first. */
  readonly all: readonly string[]
}

const retry = exponential({ base: '1m', jitter: 'none', maxRetries: 2 })

/** Lived once per process, because an hour of virtual time on a file takes a second. */
let lived: Promise<{ readonly file: string; readonly lives: Lives }> | undefined

/** A file with jobs after an hour of virtual time; its content is the same in every run. */
export async function live(path: string): Promise<Lives> {
  lived ??= liveOnce()
  const { file, lives } = await lived
  copyFileSync(file, path)
  return lives
}

async function liveOnce(): Promise<{ readonly file: string; readonly lives: Lives }> {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-lives-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'chronos.db')
  return { file, lives: await populate(file) }
}

async function populate(path: string): Promise<Lives> {
  const charge = defineJob({
    name: 'charge-card',
    queue: 'payments',
    retry,
    run(payload: { orderId: string }, job) {
      job.log('asking the bank', payload)
      if (job.attempt < 3) throw Object.assign(new Error('card network timed out'), { code: 'ETIMEDOUT' })
      return { receipt: 'R-1' }
    },
  })
  const sync = defineJob({
    name: 'sync-inventory',
    retry,
    run(_: unknown, job) {
      job.log(HOSTILE)
      throw new Error(`warehouse said ${HOSTILE}`)
    },
  })
  const slow = defineJob({
    name: 'import-csv',
    retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '2h' }, jitter: 'none' },
    run() {
      throw new Error('row 17 is missing')
    },
  })
  const chronos = testChronos({
    jobs: [charge, sync, slow],
    startAt: new Date('2026-03-01T09:00:00Z'),
    store: clock => sqliteStore({ path, clock, dice: seededDice(7) }),
  })
  try {
    const succeeded = (
      await chronos.enqueue(
        charge,
        { orderId: 'A-17' },
        { key: 'order:A-17', tenantId: 'acme', tags: ['vip', 'card'], priority: 7 },
      )
    ).id
    const dead = (await chronos.enqueue(sync, { text: HOSTILE })).id
    const retrying = (await chronos.enqueue(slow, undefined)).id
    const scheduled = (await chronos.enqueue('weekly-digest', null, { runAt: '2099-01-01T00:00:00Z' })).id
    const cancelled = (await chronos.enqueue('weekly-digest', null, { delay: '2d' })).id
    await chronos.jobs.cancel(cancelled)
    await chronos.advance('1h')
    return { succeeded, dead, retrying, scheduled, cancelled, all: [cancelled, scheduled, retrying, dead, succeeded] }
  } finally {
    await chronos.close()
  }
}
