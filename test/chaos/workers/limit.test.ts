import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { type Chronos, createChronos, defineJob } from '../../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../support/postgres.js'
import { exitOf, message, startProcess, temporaryFolder } from '../../support/process.js'

afterAll(dropSchemas)

const KILLS_MAX = 20
const ALWAYS = 1_000

/** Kills the worker whenever a handler hangs, the first time when all of them do, until every job has ended. */
async function killUntilDone(store: string, ledger: string, chronos: Chronos, jobs: number): Promise<number> {
  for (let kills = 0; kills <= KILLS_MAX; kills++) {
    const worker = await startProcess('chaos/workers/limit-worker.js', [store, ledger, String(kills === 0 ? jobs : 1)])
    const hangs = message(worker, 'hangs').then(
      () => true,
      // It was killed because every job has ended.
      () => false,
    )
    let isDone = false
    while (!isDone && (await Promise.race([hangs, wait(50)])) !== true) {
      isDone = (await chronos.jobs.count({ state: ['waiting', 'running'] })).value === 0
    }
    worker.kill('SIGKILL')
    await exitOf(worker)
    if (isDone) return kills
  }
  throw new Error(`jobs are still live after ${KILLS_MAX} kills`)
}

function startsIn(ledger: string): ReadonlyMap<string, number> {
  const starts = new Map<string, number>()
  for (const line of readFileSync(ledger, 'utf8').split('\n')) {
    const [what, id = ''] = line.split(' ')
    if (what === 'start') starts.set(id, (starts.get(id) ?? 0) + 1)
  }
  return starts
}

describe.concurrent.each([
  ['SQLite', async (folder: string) => `sqlite:${join(folder, 'chronos.db')}`],
  ['PostgreSQL', async () => `${await postgresUrl()}?schema=${freshSchema()}`],
])('handlers whose process is killed with kill -9, on %s', (_, storeIn) => {
  test('start at most maxRetries + 1 times, and no bystander with a retry dies', { timeout: 120_000 }, async () => {
    using folder = temporaryFolder()
    const ledger = join(folder.path, 'ledger')
    const store = await storeIn(folder.path)
    // A worker stays alive, so that it notices the killed ones.
    await using chronos = createChronos({ store, log: false })
    chronos.work([defineJob({ name: 'other', queue: 'other', run: () => undefined })], { lease: '1s', signals: false })
    const enqueue = async (name: string, hangs: number, count: number): Promise<readonly string[]> => {
      const payloads = Array.from({ length: count }, () => ({ hangs }))
      return (await chronos.enqueueMany(name, payloads)).map(({ id }) => id)
    }
    const without = await enqueue('never-again', ALWAYS, 4)
    const culprits = await enqueue('once-more', ALWAYS, 2)
    const bystanders = await enqueue('once-more', 1, 3)
    const all = [...without, ...culprits, ...bystanders]

    const kills = await killUntilDone(store, ledger, chronos, all.length)

    const starts = startsIn(ledger)
    const found = await Promise.all(
      all.map(async id => {
        const job = (await chronos.jobs.get(id))!
        return { starts: starts.get(id), state: job.state, reason: job.reason, attempt: job.attempt }
      }),
    )
    const dead = (count: number) => ({ starts: count, state: 'dead', reason: 'exhausted', attempt: count })
    expect(found).toEqual([
      ...without.map(() => dead(1)),
      ...culprits.map(() => dead(2)),
      ...bystanders.map(() => ({ starts: 2, state: 'succeeded', reason: undefined, attempt: 2 })),
    ])
    // All together, then each culprit alone.
    expect(kills).toBe(1 + culprits.length)
    for (const id of all) {
      const labels = (await chronos.jobs.history(id)).data.map(({ label }) => label)
      expect(new Set(labels).size, `labels of ${id}: ${labels}`).toBe(labels.length)
    }
  })
})
