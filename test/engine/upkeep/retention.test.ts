import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { ChronosOptions } from '../../../src/engine/client/options.js'
import { isPruning } from '../../../src/engine/upkeep/pruner.js'
import { parseRetention } from '../../../src/engine/upkeep/retention.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const mail = defineJob({ name: 'mail', run: async (_: unknown) => undefined })
const report = defineJob({ name: 'report', run: async (_: unknown) => undefined })
const kept = defineJob({ name: 'kept', retention: { succeeded: false }, run: async (_: unknown) => undefined })

describe.each(STORES)('retention on %s', (_, store) => {
  const start = (retention?: ChronosOptions['retention']): TestChronos =>
    testChronos({ jobs: [mail, report, kept], store, work: { queues: ['default', 'bulk'] }, retention: retention! })
  const names = async (t: TestChronos): Promise<readonly string[]> =>
    (await t.jobs.list({ state: 'succeeded' }, { limit: 200 })).data.map(({ name, queue }) => `${queue}/${name}`).sort()

  test('of a queue and of a job takes precedence over that of all jobs', async () => {
    await using t = start({
      succeeded: '1h',
      queues: { bulk: { succeeded: '10m' } },
      jobs: { report: { succeeded: '2h' } },
    })
    for (const job of [mail, report, kept]) {
      await t.enqueue(job, 1)
      await t.enqueue(job, 1, { queue: 'bulk' })
    }
    await t.advance('30m')
    expect(await names(t)).toEqual(['bulk/kept', 'bulk/report', 'default/kept', 'default/mail', 'default/report'])
    await t.advance('1h')
    expect(await names(t)).toEqual(['bulk/kept', 'bulk/report', 'default/kept', 'default/report'])
    await t.advance('2h')
    expect(await names(t)).toEqual(['bulk/kept', 'default/kept'])
    expect(await t.chronos.verify()).toMatchObject({ isSound: true })
  })

  test('by count keeps the newest', async () => {
    await using t = start({ succeeded: false, jobs: { mail: { succeeded: { count: 3 } } } })
    const ids: string[] = []
    for (let n = 0; n < 8; n++) {
      ids.push((await t.enqueue(mail, n)).id)
      await t.advance('1s')
    }
    await t.enqueue(report, 1)
    await t.advance('2m')
    expect((await t.jobs.list({ name: 'mail' })).data.map(({ id }) => id)).toEqual(ids.slice(-3).reverse())
    expect(await names(t)).toContain('default/report')
  })

  test('never removes a job that was started again meanwhile', async () => {
    await using t = start(false)
    const { id } = await t.enqueue('unheard-of', 1, { queue: 'unattended' })
    await t.jobs.cancel(id)
    await t.jobs.retry(id)
    const opened = await t.chronos.store()
    expect(await opened.remove([id], 'ended')).toMatchObject([{ id, status: 'refused' }])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'waiting' })
  })

  test('is recorded for doctor and alerts', async () => {
    await using t = testChronos({ jobs: [mail], store, retention: { succeeded: '1h' } })
    await t.advance('1s')
    expect(await isPruning(await t.chronos.store())).toBe(true)
    await using none = testChronos({ jobs: [mail], store, retention: false })
    await none.advance('1s')
    expect(await isPruning(await none.chronos.store())).toBe(false)
  })
})

describe('the default retention', () => {
  const DAY_MS = 86_400_000

  test.each([
    [undefined, { succeeded: { ageMs: 7 * DAY_MS } }],
    [{ dead: '90d' }, { succeeded: { ageMs: 7 * DAY_MS }, dead: { ageMs: 90 * DAY_MS } }],
    [{ succeeded: false }, { succeeded: {} }],
    [false, { succeeded: {} }],
    [{ succeeded: { age: '1d', count: 5 } }, { succeeded: { ageMs: DAY_MS, count: 5 } }],
  ] as const)('%j keeps %j', (given, all) => {
    expect(parseRetention(given, 'retention').all).toEqual(all)
  })

  test('names a wrong value', () => {
    const wrong = { queues: { bulk: { succeeded: { count: -1 } } } }
    expect(() => parseRetention(wrong, 'createChronos: retention')).toThrow(/retention.*bulk/)
  })
})
