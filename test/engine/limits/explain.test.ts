import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { LIMITED_STORES } from './limited.js'

describe.each(LIMITED_STORES)('the explanation of a job that waits for a limit on %s', (_, open) => {
  const slow = defineJob({ name: 'slow', queue: 'crm', run: (_, job) => job.clock.wait('1h') })
  const fails = defineJob({
    name: 'fails',
    queue: 'crm',
    retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '10m' }, jitter: 'none' },
    run() {
      throw new Error('no')
    },
  })
  const start = (crm: Parameters<TestChronos['queues']['set']>[1]) =>
    testChronos({ store: open, jobs: [slow, fails], queues: { crm: crm as never } })

  /** The second of two jobs of one partition, after a second. */
  async function second(t: TestChronos, job = slow): Promise<string> {
    await t.enqueue(job, undefined, { partition: 'a' })
    await t.advance('1s')
    const { id } = await t.enqueue(slow, undefined, { partition: 'a' })
    await t.advance('1s', { despite: 'handlers' })
    return id
  }

  async function told(t: TestChronos, id: string) {
    const [{ waiting }, view, blocked, census] = await Promise.all([
      t.jobs.explain(id),
      t.jobs.get(id),
      t.jobs.list({ phase: 'blocked' }),
      t.queues.get('crm'),
    ])
    // The job, the list and the counts agree.
    expect([view?.phase, view?.blockedBy]).toEqual(['blocked', waiting?.because])
    expect(blocked.data.map(one => one.id)).toEqual([id])
    expect(census.counts.blocked.value).toBe(1)
    await t.close()
    return waiting
  }

  it('names a full partition', async () => {
    const t = start({ partitions: { concurrency: 1 } })
    expect(await told(t, await second(t))).toEqual({
      because: 'limit',
      words: 'its partition "a" runs 1 job, as many as its limit allows',
    })
  })

  it('names a full queue', async () => {
    const t = start({ limit: { concurrency: 1 } })
    expect(await told(t, await second(t))).toEqual({
      because: 'limit',
      words: 'its queue "crm" runs 1 job, as many as its limit allows',
    })
  })

  it('names the rate of a partition and when the job may start', async () => {
    const t = start({ partitions: { rate: '1/m', burst: 1 } })
    const at = new Date(t.clock.now() + 60_000).toISOString()
    expect(await told(t, await second(t))).toEqual({
      because: 'rate',
      words: `the rate of its partition "a" is used up; it may start in 58s (${at})`,
      until: at,
    })
  })

  it('names the rate of a queue', async () => {
    const t = start({ limit: { rate: '1/m', burst: 1 } })
    expect(await told(t, await second(t))).toMatchObject({
      because: 'rate',
      words: expect.stringContaining('the rate of its queue "crm" is used up; the next job may start in 58s'),
    })
  })

  it('names an earlier job that runs', async () => {
    const t = start({ partitions: { order: 'fifo' } })
    expect(await told(t, await second(t))).toEqual({
      because: 'order',
      words: 'an earlier job of its partition "a" runs, and they run one by one',
    })
  })

  it('names an earlier job that waits for its retry', async () => {
    const t = start({ partitions: { order: 'fifo' } })
    expect(await told(t, await second(t, fails))).toMatchObject({
      because: 'order',
      words: expect.stringMatching(/^an earlier job of its partition "a" comes first, in 9m \d+s/),
      until: expect.any(String),
    })
  })

  it('names the dead letter that stops its partition', async () => {
    const t = start({ partitions: { order: 'fifo', onDead: 'stop' } })
    const dead = await t.enqueue(fails, undefined, { partition: 'a', retry: { maxRetries: 0 } })
    await t.advance('1s')
    const { id } = await t.enqueue(slow, undefined, { partition: 'a' })
    await t.advance('1s')
    expect(await told(t, id)).toEqual({
      because: 'stopped',
      words: `its partition "a" is stopped by dead letter ${dead.id}; redrive or discard it`,
    })
  })

  it('names no limit while the jobs of a partition wait for their retries', async () => {
    const t = start({ partitions: { concurrency: 2 } })
    const { id } = await t.enqueue(fails, undefined, { partition: 'a' })
    await t.advance('1s')
    const [partition] = (await t.queues.partitions('crm')).data
    expect(partition).toEqual({
      name: 'a',
      running: 0,
      waiting: { value: 1, relation: 'exact' },
      limit: { concurrency: 2 },
      openAt: (await t.jobs.get(id))!.runAt,
    })
    await t.close()
  })
})
