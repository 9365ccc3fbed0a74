import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

describe.each(STORES)('explain on %s', (_, open) => {
  const failing = defineJob({
    name: 'call',
    queue: 'calls',
    dependsOn: 'https://api.example',
    retry: {
      maxRetries: 3,
      backoff: { type: 'fixed', delay: '1m' },
      jitter: 'none',
      circuit: { minimumCalls: 4, openFor: '10m' },
    },
    run() {
      throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443'), { code: 'ECONNREFUSED' })
    },
  })
  const start = () => testChronos({ jobs: [failing], store: open })

  it('says that a job waits for its retry, until when, and why', async () => {
    const t = start()
    const { id } = await t.enqueue(failing, undefined)
    await t.advance('1s')
    const told = await t.jobs.explain(id)
    expect(told.waiting).toMatchObject({ because: 'retry', until: expect.stringMatching(/^20/) })
    expect(told.last?.words).toContain('ECONNREFUSED')
    expect(told.next?.latestAt).toBeDefined()
    const dies = new Date(Date.parse(told.waiting!.until!) + 120_000).toISOString()
    expect(told.dies).toMatchObject({ earliest: dies, latest: dies })
    expect(told.dies!.words).toContain(`If nothing improves, it dies at ${dies}; the policy patient would last until`)
    await t.queues.pause('calls')
    expect(await t.jobs.explain(id)).not.toHaveProperty('dies')
    await t.close()
  })

  it('says that its circuit is open', async () => {
    const t = start()
    const jobs = await t.enqueueMany(
      failing,
      Array.from({ length: 20 }, () => undefined),
    )
    await t.advance('2m')
    const told = await Promise.all(jobs.map(({ id }) => t.jobs.explain(id)))
    const because = new Set(told.map(each => each.waiting?.because))
    expect([...because]).toEqual(['circuit-open'])
    expect(told[0]!.summary).toContain('https://api.example')
    await t.close()
  })

  it('says that its queue is paused and has no worker', async () => {
    const t = start()
    const elsewhere = await t.enqueue('other', null, { queue: 'unattended' })
    const unknown = await t.enqueue('nobody-knows', null, { queue: 'calls', delay: '1ms' })
    await t.queues.pause('calls')
    const paused = await t.enqueue(failing, undefined)
    await t.advance('2s')
    expect((await t.jobs.explain(elsewhere.id)).waiting?.because).toBe('no-worker')
    expect((await t.jobs.explain(paused.id)).waiting?.because).toBe('queue-paused')
    await t.queues.resume('calls')
    await t.advance('10m')
    expect((await t.jobs.explain(unknown.id)).waiting?.because).toBe('no-handler')
    await t.close()
  })

  it('names a job that does not exist', async () => {
    const t = start()
    await expect(t.jobs.explain('01890000-0000-7000-8000-000000000000')).rejects.toThrow('there is no job "01890000')
    await t.close()
  })
})
