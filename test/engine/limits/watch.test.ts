import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { readGauges } from '../../../src/engine/figures/gauges.js'
import { testChronos } from '../../../src/testing.js'
import { LIMITED_STORES } from './limited.js'

describe.each(LIMITED_STORES)('a stopped partition on %s', (_, open) => {
  const feed = defineJob({
    name: 'feed',
    queue: 'feed',
    partition: (payload: { account: string }) => payload.account,
    retry: { maxRetries: 0 },
    run() {
      throw new Error('no')
    },
  })
  const queues = {
    feed: { limit: { concurrency: 7 }, partitions: { order: 'fifo', onDead: 'stop' } },
  } as const

  it('raises an alert until its dead letter is discarded', async () => {
    const t = testChronos({ store: open, jobs: [feed], queues, alerts: { rules: { 'dead-letters': false } } })
    const { id } = await t.enqueue(feed, { account: 'acme' })
    await t.advance('5s')
    await t.enqueueMany(feed, [{ account: 'acme' }, { account: 'globex' }, { account: 'globex' }])
    await t.advance('3m')
    expect((await t.chronos.alerts.list()).data).toMatchObject([
      {
        rule: 'partition-stopped',
        state: 'firing',
        labels: { queue: 'feed' },
        value: 2,
        summary: `partition "acme" of queue feed is stopped by dead letter ${id}; 2 partitions are stopped`,
      },
    ])
    await t.jobs.deleteAll({ queue: 'feed', state: 'waiting' })
    await t.chronos.dead.discard({})
    await t.advance('3m')
    expect((await t.chronos.alerts.list()).data).toMatchObject([{ state: 'resolved' }])
    await t.close()
  })

  it('is counted in the gauges of its queue', async () => {
    const t = testChronos({ store: open, jobs: [feed], queues })
    await t.enqueueMany(feed, [{ account: 'a' }, { account: 'b' }, { account: 'a' }, { account: 'b' }])
    await t.enqueue('other', null, { queue: 'plain' })
    await t.advance('1s')
    const gauges = (await readGauges(await t.chronos.store())).queues
    expect(gauges.find(({ queue }) => queue === 'feed')).toMatchObject({ concurrencyLimit: 7, stopped: 2 })
    const plain = gauges.find(({ queue }) => queue === 'plain')
    expect(plain).not.toHaveProperty('stopped')
    expect(plain).not.toHaveProperty('concurrencyLimit')
    await t.close()
  })
})
