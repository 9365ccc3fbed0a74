import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { type JobChanges, jobVersion } from '../../../src/engine/jobs/jobs.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const seen: unknown[] = []
const echo = defineJob({ name: 'echo', run: async (payload: unknown) => void seen.push(payload) })

describe.each(STORES)('edit on %s', (_, store) => {
  test('a waiting job runs with its changes', async () => {
    await using t = testChronos({ jobs: [echo], store, work: { queues: ['default', 'fast'] } })
    const { id } = await t.enqueue(echo, { n: 1 }, { delay: '1h', tags: ['old'] })
    const job = await t.jobs.edit(id, {
      payload: { n: 2 },
      priority: 9,
      tags: ['new'],
      timeout: '10s',
      deadline: '2h',
      retry: { maxRetries: 1 },
      delay: '1m',
      queue: 'fast',
    })
    expect(job).toMatchObject({ payload: { n: 2 }, priority: 9, tags: ['new'], timeoutMs: 10_000, queue: 'fast' })
    expect(job).toMatchObject({ maxRetries: 1, runAt: new Date(t.now().getTime() + 60_000).toISOString() })
    await t.advance('1m')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', queue: 'fast' })
    expect(seen.at(-1)).toEqual({ n: 2 })
    expect((await t.chronos.verify()).isSound).toBe(true)
  })

  test('null removes an option of the enqueue', async () => {
    await using t = testChronos({ jobs: [echo], store })
    const { id } = await t.enqueue(echo, {}, { delay: '1h', deadline: '2h', timeout: '5s', retry: { maxRetries: 1 } })
    const job = await t.jobs.edit(id, { deadline: null, timeout: null, retry: null })
    expect([job.deadline, job.timeoutMs]).toEqual([undefined, undefined])
    expect(job.maxRetries).not.toBe(1)
  })

  test.each<[what: string, changes: JobChanges, code: string]>([
    ['nothing', {}, 'INVALID_OPTION'],
    ['an unknown field', { prio: 3 } as JobChanges, 'INVALID_OPTION'],
    ['a priority out of range', { priority: 10 }, 'INVALID_OPTION'],
    ['a strange queue', { queue: 'no spaces' }, 'INVALID_OPTION'],
    ['both times', { delay: '1s', runAt: 0 }, 'INVALID_OPTION'],
    ['a payload that is no data', { payload: () => 1 }, 'INVALID_PAYLOAD'],
    ['a policy that is none', { retry: { maxRetries: -1 } }, 'INVALID_POLICY'],
    ['no timeout', { timeout: 0 }, 'INVALID_DURATION'],
  ])('%s is refused, and nothing changes', async (_what, changes, code) => {
    await using t = testChronos({ jobs: [echo], store })
    const { id } = await t.enqueue(echo, {}, { delay: '1h' })
    const before = await t.jobs.get(id)
    await expect(t.jobs.edit(id, changes)).rejects.toMatchObject({ code })
    expect(await t.jobs.get(id)).toEqual(before)
  })

  test('only a waiting job can be edited', async () => {
    await using t = testChronos({ jobs: [echo], store })
    const { id } = await t.enqueue(echo)
    await t.drain()
    await expect(t.jobs.edit(id, { priority: 1 })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: `edit: job ${id} can't: it is succeeded; only a waiting job can be edited`,
    })
    await expect(t.jobs.edit('nonsense', { priority: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('a version that is out of date is a conflict', async () => {
    await using t = testChronos({ jobs: [echo], store })
    const { id } = await t.enqueue(echo, {}, { delay: '1h' })
    const version = jobVersion((await t.jobs.get(id))!)
    const edited = await t.jobs.edit(id, { priority: 8 }, { version })
    expect(jobVersion(edited)).not.toBe(version)
    await expect(t.jobs.edit(id, { priority: 1 }, { version })).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    expect(await t.jobs.edit(id, { priority: 1 }, { version: jobVersion(edited) })).toMatchObject({ priority: 1 })
  })

  test('the key of an edited job still identifies the original enqueue', async () => {
    await using t = testChronos({ jobs: [echo], store })
    const { id } = await t.enqueue(echo, { n: 1 }, { delay: '1h', key: 'k' })
    await t.jobs.edit(id, { payload: { n: 2 } })
    expect(await t.enqueue(echo, { n: 1 }, { key: 'k' })).toEqual({ id, status: 'existing' })
    await expect(t.enqueue(echo, { n: 2 }, { key: 'k' })).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
  })

  test('a call to a URL is checked like a new one, and depends on where it goes', async () => {
    await using t = testChronos({ jobs: [], store })
    const { id } = await t.chronos.http({ method: 'GET', url: 'https://a.example/x' }, { delay: '1h' })
    expect((await t.jobs.get(id))?.dependency).toBe('https://a.example')
    await t.jobs.edit(id, { payload: { method: 'GET', url: 'https://b.example/x' } })
    expect((await t.jobs.get(id))?.dependency).toBe('https://b.example')
    const inside = { payload: { method: 'GET', url: 'http://169.254.169.254/' } }
    await expect(t.jobs.edit(id, inside)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
  })
})
