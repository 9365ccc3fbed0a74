import { describe, expect, test } from 'vitest'
import { exponential, fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const MINUTE = 60_000
const bad = defineJob({
  name: 'bad',
  retry: exponential({ base: '1m', cap: '1h', maxRetries: 3, jitter: 0.5 }),
  async run(_payload: unknown) {
    throw new Error('no')
  },
})

describe.each(STORES)('timeline on %s', (_, store) => {
  test('has the runs so far with what was decided, and the coming ones', async () => {
    await using t = testChronos({ jobs: [bad], store })
    const { id } = await t.enqueue(bad)
    await t.advance('1s')
    const timeline = await t.jobs.timeline(id)
    const [attempt] = timeline.attempts
    const runAt = Date.parse(timeline.job.runAt)
    expect(attempt).toMatchObject({ status: 'failed', plan: { windowMs: [30_000, 90_000], source: 'backoff', runAt } })
    expect(timeline.rows.map(({ status }) => status)).toEqual(['failed', 'next'])
    expect(timeline.ghosts).toEqual([
      { attempt: 2, label: 'Retry #1', earliest: runAt, latest: runAt },
      { attempt: 3, label: 'Retry #2', earliest: runAt + MINUTE, latest: runAt + 3 * MINUTE },
      { attempt: 4, label: 'Retry #3', earliest: runAt + 3 * MINUTE, latest: runAt + 9 * MINUTE },
    ])
    expect(timeline.dies).toEqual({ earliest: runAt + 3 * MINUTE, latest: runAt + 9 * MINUTE, by: 'exhausted' })
    await t.drain()
    const over = await t.jobs.timeline(id)
    expect(over.attempts.map(({ attempt: n }) => n)).toEqual([1, 2, 3, 4])
    expect([over.ghosts, over.dies]).toEqual([[], undefined])
    for (const { plan } of over.attempts.slice(0, 3)) {
      expect(plan!.delayMs).toBeGreaterThanOrEqual(plan!.windowMs![0])
      expect(plan!.delayMs).toBeLessThanOrEqual(plan!.windowMs![1])
    }
  })

  test('a deadline ends the coming runs, as soon as one fails whose retry would be too late', async () => {
    const retry = fixed({ delay: '10m', maxRetries: 5, jitter: 'none' })
    const job = defineJob({
      name: 'late',
      retry,
      async run(_payload: unknown) {
        throw new Error('down')
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {}, { delay: '1m', deadline: '25m' })
    const { ghosts, dies, deadline, now } = await t.jobs.timeline(id)
    expect(deadline).toBe(now + 25 * MINUTE)
    expect(ghosts.map(({ earliest }) => earliest - now)).toEqual([1, 11, 21].map(minutes => minutes * MINUTE))
    expect(dies).toEqual({ earliest: now + 21 * MINUTE, latest: now + 21 * MINUTE, by: 'deadline' })
    await t.drain()
    expect(Date.parse((await t.jobs.get(id))!.finishedAt!)).toBe(dies!.latest)
  })

  test('refuses a job that does not exist', async () => {
    await using t = testChronos({ jobs: [bad], store })
    await expect(t.jobs.timeline('nonsense')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
