import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { type Chronos, createChronos, defineJob } from '../../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../support/postgres.js'
import { exitOf, startProcess, temporaryFolder } from '../../support/process.js'

const JOBS = 50

afterAll(dropSchemas)

/** Restarts the worker whenever its process has crashed, until every job has ended. */
async function workUntilDone(store: string, ledger: string, rule: string, chronos: Chronos): Promise<number> {
  let crashes = 0
  for (;;) {
    // The output of an aborting process is irrelevant here.
    const worker = await startProcess('chaos/workers/poison-worker.js', [store, ledger, rule], { stderr: 'ignore' })
    const died = exitOf(worker).then(() => 'died' as const)
    for (;;) {
      const live = (await chronos.jobs.count({ name: 'task', state: ['waiting', 'running'] })).value
      if (live === 0) {
        worker.kill('SIGTERM')
        await died
        return crashes
      }
      if ((await Promise.race([died, wait(50)])) === 'died') break
    }
    crashes++
    if (crashes > 20) throw new Error(`the crashing job was not found in ${crashes} crashes`)
  }
}

test('a job that crashes its process takes no job of another worker of that process with it', async () => {
  using folder = temporaryFolder()
  const ledger = join(folder.path, 'ledger')
  const store = `sqlite:${join(folder.path, 'chronos.db')}`
  const chronos = createChronos({ store, log: false })
  chronos.work([defineJob({ name: 'other', queue: 'other', run: () => undefined })], { lease: '1s', signals: false })
  const killer = await chronos.enqueue('task', { kills: true })
  const neighbour = await chronos.enqueue('task', { kills: false }, { queue: 'neighbours' })

  await workUntilDone(store, ledger, 'forgive', chronos)

  expect(await chronos.jobs.get(killer.id)).toMatchObject({ state: 'dead', reason: 'poison' })
  expect(await chronos.jobs.get(neighbour.id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  const starts = readFileSync(ledger, 'utf8').split('\n')
  expect(starts.filter(line => line.includes(neighbour.id)).length).toBeGreaterThan(1)
  await chronos.close()
})

describe.concurrent.each([
  ['SQLite', async (folder: string) => `sqlite:${join(folder, 'chronos.db')}`],
  ['PostgreSQL', async () => `${await postgresUrl()}?schema=${freshSchema()}`],
])('a job that crashes its process, on %s', (_, storeIn) => {
  test.each([
    ['forgive', 'the others lose no attempt', 1],
    // They are lost together at first, and then at most in each of the groups that halve.
    ['count', 'the others have retries left', 5],
  ])('is found among fifty and ends as poison (crashes: %s); %s', async (rule, _words, attemptsMax) => {
    using folder = temporaryFolder()
    const ledger = join(folder.path, 'ledger')
    const store = await storeIn(folder.path)
    // A worker stays alive, so that it notices the crashed ones.
    const chronos = createChronos({ store, log: false })
    chronos.work([defineJob({ name: 'other', queue: 'other', run: () => undefined })], { lease: '1s', signals: false })
    const killer = await chronos.enqueue('task', { kills: true })
    await chronos.enqueueMany(
      'task',
      Array.from({ length: JOBS - 1 }, () => ({ kills: false })),
    )

    const crashes = await workUntilDone(store, ledger, rule, chronos)

    const jobs = (await chronos.jobs.list({ name: 'task' }, { limit: 100 })).data
    const dead = jobs.filter(job => job.state !== 'succeeded')
    expect(dead.map(({ id, state, reason }) => ({ id, state, reason }))).toEqual([
      { id: killer.id, state: 'dead', reason: 'poison' },
    ])
    for (const job of jobs.filter(each => each.id !== killer.id))
      expect(job.attempt, `attempts of ${job.id}`).toBeLessThanOrEqual(attemptsMax)
    // All jobs together, then groups that halve, then three times alone.
    expect(crashes).toBeGreaterThanOrEqual(5)
    expect(crashes).toBeLessThanOrEqual(9)
    const alone = (await chronos.jobs.history(killer.id, { limit: 50 })).data
    expect(alone[0]!.decision?.why).toContain('strike 3 of 3')
    expect(readFileSync(ledger, 'utf8')).toContain(killer.id)
    await chronos.close()
  })
})
