import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** A schedule of a job that fails as long as it is told to, every ten minutes. */
async function scheduled(store: (typeof STORES)[number][1], options: object = {}) {
  const state = { fails: true }
  const job = defineJob({
    name: 'import',
    retry: fixed({ delay: '1m', maxRetries: 1, jitter: 'none' }),
    run() {
      if (state.fails) throw new Error('no')
    },
  })
  const t = testChronos({ jobs: [job], store })
  const { schedules, byId } = t.chronos
  await schedules.put('s', { cron: '*/10 * * * *', job, ...options })
  const jobs = async () => (await t.jobs.list({ scheduleId: 's' })).data
  const states = async () => (await jobs()).map(one => one.state)
  return { t, state, job, schedules, byId, jobs, states, [Symbol.asyncDispose]: () => t.close() }
}

describe.each(STORES)('the id of a schedule on %s', (_, store) => {
  test('cancel ends all its jobs that wait or run, and no other', async () => {
    await using s = await scheduled(store, { overlap: 'allow', retry: fixed({ delay: '1h', jitter: 'none' }) })
    await s.t.enqueue(s.job, undefined, { delay: '1d' })
    await s.t.advance('25m')
    expect(await s.states()).toEqual(['waiting', 'waiting'])
    expect(await s.byId.cancel('s')).toMatchObject({ state: 'ended', occurrence: { state: 'cancelled' } })
    await s.t.advance('1h')
    expect(await s.states()).toEqual(['cancelled', 'cancelled'])
    expect(await s.t.jobs.count({ state: 'waiting' })).toMatchObject({ value: 1 })
  })

  test('retry starts the last job that is dead, though a later one succeeded', async () => {
    await using s = await scheduled(store)
    await s.t.advance('12m')
    s.state.fails = false
    await s.t.advance('10m')
    expect(await s.states()).toEqual(['succeeded', 'dead'])
    const { id } = (await s.jobs())[1]!
    expect(await s.byId.retry('s')).toMatchObject({ kind: 'schedule', occurrence: { id, state: 'waiting' } })
    await s.t.advance('1m')
    expect(await s.states()).toEqual(['succeeded', 'succeeded'])
    await expect(s.byId.retry('s')).rejects.toThrow('none of its jobs is dead or cancelled')
  })

  test('a change applies to the waiting job and to the next ones, and leaves ended ones', async () => {
    await using s = await scheduled(store)
    await s.t.advance('22m')
    s.state.fails = true
    await s.t.advance('8m')
    expect(await s.byId.edit('s', { payload: { from: 7 }, priority: 8 })).toMatchObject({ version: 2 })
    await s.t.advance('10m')
    const priorities = (await s.jobs()).map(({ priority, payload }) => [priority, payload])
    expect(priorities).toEqual([
      [8, { from: 7 }],
      [8, { from: 7 }],
      [5, null],
      [5, null],
    ])
    await expect(s.byId.edit('s', { api: 'https://x.example' })).rejects.toThrow('api: its jobs "import" call no URL')
  })

  test('an ended schedule stays ended when it is changed, until it gets a new time', async () => {
    await using s = await scheduled(store, { recurring: false })
    await s.t.advance('12m')
    expect(await s.byId.edit('s', { priority: 1 })).toMatchObject({ state: 'ended', priority: 1 })
    await expect(s.schedules.resume('s')).rejects.toThrow('it is ended')
    expect(await s.byId.edit('s', { schedule: '0 1 * * *' })).toMatchObject({ state: 'active', cron: '0 1 * * *' })
    await s.t.advance('1h')
    expect((await s.jobs()).map(({ priority }) => priority)).toEqual([1, 5])
    expect(await s.schedules.get('s')).toMatchObject({ state: 'ended', fired: 2 })
  })

  test('resume continues a cancelled schedule with its next occurrence', async () => {
    await using s = await scheduled(store)
    await s.byId.cancel('s')
    await s.t.advance('1h')
    expect(await s.jobs()).toEqual([])
    expect(await s.schedules.resume('s')).toMatchObject({ state: 'active' })
    await s.t.advance('10m')
    expect(await s.jobs()).toHaveLength(1)
  })

  test('run-now and replay make jobs of a paused schedule too', async () => {
    await using s = await scheduled(store)
    s.state.fails = false
    await s.schedules.pause('s')
    expect(await s.byId.runNow('s')).toMatchObject({ state: 'paused', occurrence: { scheduleId: 's' } })
    await s.t.advance('1m')
    const { id } = await s.byId.replay('s')
    await s.t.advance('1m')
    expect(await s.states()).toEqual(['succeeded', 'succeeded'])
    expect((await s.jobs())[0]!.id).toBe(id)
    expect(await s.byId.explain('s')).toMatchObject({ summary: expect.stringMatching(/^Paused: /) })
  })

  test('an earlier schedule of another tenant with the same id keeps its jobs to itself', async () => {
    await using s = await scheduled(store, { tenantId: 'acme' })
    await s.t.advance('12m')
    await s.schedules.delete('s')
    await s.schedules.put('s', { cron: '*/10 * * * *', job: 'import', tenantId: 'globex' })
    expect(await s.byId.get('s')).not.toHaveProperty('occurrence')
    expect((await s.byId.history('s')).data).toEqual([])
    await expect(s.byId.retry('s')).rejects.toThrow('none of its jobs is dead or cancelled')
    await s.byId.delete('s')
    expect((await s.jobs()).map(({ tenantId }) => tenantId)).toEqual(['acme'])
  })

  test('an id of nothing is that of no job', async () => {
    await using s = await scheduled(store)
    await expect(s.byId.cancel('other')).rejects.toThrow('there is no job "other"')
    expect(await s.byId.get('other')).toBeUndefined()
  })
})
