import { describe, expect, it } from 'vitest'
import { fieldProblems } from '../../src/dashboard/screens/schedules/schedule-problems.js'
import { startServer } from '../server/server.js'

describe('the schedule editor', () => {
  it.each([
    [{ cron: '61 * * * *' }, { cron: 'Minute 61 does not exist; it goes from 0 to 59' }],
    [{ every: '500ms' }, { every: 'Expected a duration of at least 1s, got "500ms"' }],
    [
      { cron: '* * * * *', timeZone: 'Mars/Base' },
      { timeZone: 'Expected a time zone such as "Europe/Paris" or "UTC", got "Mars/Base"' },
    ],
    [
      { cron: '* * * * *', startAt: '2026-01-02T00:00:00.000Z', endAt: '2026-01-01T00:00:00.000Z' },
      { endAt: 'Is before startAt' },
    ],
    [{ cron: '* * * * *', endAt: '2020-01-01T00:00:00.000Z' }, { endAt: 'It never happens between now and endAt' }],
    [{ cron: '* * * * *', splay: '2m' }, { splay: expect.stringContaining('2m') }],
    [{ cron: '* * * * *', splay: '2h' }, { splay: expect.stringContaining('at most 1h') }],
  ])('shows the error of %j beside its field', async (timing, expected) => {
    await using t = await startServer()
    const { status, body } = await t.api('POST', '/schedules:preview', timing)
    expect([status, fieldProblems(body as Parameters<typeof fieldProblems>[0])]).toEqual([422, expected])
  })

  it.each([
    ['/cron', 'cron'],
    ['/retry/maxRetries', 'retry'],
    ['/missed/all', 'missedMax'],
    ['/http/url', 'url'],
    ['/http/headers/x-id', 'headers'],
    ['/job', 'name'],
  ])('finds the field of the pointer %s', (pointer, field) => {
    const problem = { code: 'INVALID_REQUEST', errors: [{ pointer, detail: 'is wrong' }] }
    expect(fieldProblems(problem)).toEqual({ [field]: 'Is wrong' })
  })

  it('shows beside the id that the id is taken', () => {
    expect(fieldProblems({ code: 'KEY_CONFLICT', errors: [] })).toEqual({
      id: 'A schedule with this id already exists',
    })
  })
})
