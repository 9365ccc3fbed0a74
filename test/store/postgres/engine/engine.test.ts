import { afterAll, describe, expect, it } from 'vitest'
import { type Chronos, createChronos, defineJob } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../../support/postgres.js'
import { runsIn } from '../bench.js'

afterAll(dropSchemas)

async function open(schema: string): Promise<Chronos> {
  return createChronos({ store: postgres(`${await postgresUrl()}?schema=${schema}`), log: false })
}

describe('the engine on PostgreSQL', () => {
  it('starts a job of another process at once, without frequent polling', async () => {
    const schema = freshSchema()
    const [client, server] = [await open(schema), await open(schema)]
    let started = 0
    const job = defineJob({ name: 'mail', run: async () => void started++ })
    const worker = server.work([job], { poll: '1h', signals: false })
    await client.enqueue(job)
    // The poll interval is longer than the test may take.
    for (let count = 1; count <= 20; count++) {
      await expect.poll(() => started, { interval: 1 }).toBe(count)
      if (count < 20) await client.enqueue(job)
    }
    await worker.stop()
    await Promise.all([client.close(), server.close()])
  })

  it('distributes jobs among workers, and runs each job once', async () => {
    const schema = freshSchema()
    const all = await Promise.all([1, 2, 3].map(() => open(schema)))
    const runs = new Map<string, number>()
    const job = defineJob({
      name: 'count',
      retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '1ms' }, jitter: 'none' },
      run: async ({ fails }: { fails: boolean }, { id, attempt }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1)
        if (fails && attempt === 1) throw new Error('not yet')
      },
    })
    const workers = all.slice(1).map(one => one.work([job], { concurrency: 20, signals: false }))
    const payloads = Array.from({ length: 600 }, (_, index) => ({ fails: index % 3 === 0 }))
    const enqueued = await all[0]!.enqueueMany(job, payloads)
    const live = async () => (await all[0]!.jobs.count({ state: ['waiting', 'running'] })).value
    await expect.poll(live).toBe(0)
    for (const [index, { id }] of enqueued.entries()) expect(runs.get(id)).toBe(payloads[index]!.fails ? 2 : 1)
    await Promise.all(workers.map(worker => worker.stop()))
    await Promise.all(all.map(one => one.close()))
    const [row] = await sql(`SELECT count(*)::int AS rows, sum(run)::int AS runs FROM ${runsIn(schema)} a`)
    expect(row).toEqual({ rows: 800, runs: 1000 })
  })
})
