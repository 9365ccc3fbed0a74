import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../../server/server.js'
import { say } from '../../memory-io.js'

let folder: string
let t: TestServer
let id: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  t = await startServer({ chronos: { store: `sqlite:${join(folder, 'chronos.db')}` } })
  const form = { schedule: '0 0 0 1 1 *', api: 'https://api.example/ping', isRecurring: true, maxRetryCount: 3 }
  id = (await t.api<{ id: string }>('POST', '/jobs', form)).body.id
})
afterEach(async () => {
  await t[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['--store', '--url'])('the id of a schedule, with %s', how => {
  const jobs = async (...argv: string[]) => {
    const address = how === '--url' ? t.url : `sqlite:${join(folder, 'chronos.db')}`
    const { code, stdout, stderr } = await say(['jobs', ...argv, how, address])
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
    return stdout
  }
  const json = async (...argv: string[]) => JSON.parse(await jobs(...argv, '--json')) as Record<string, unknown>

  it('works with every command that takes the id of a job', async () => {
    expect(await jobs('get', id)).toContain(`schedule ${id} is active: 0 0 0 1 1 * (UTC)`)
    expect(await json('get', id)).toMatchObject({ kind: 'schedule', schedule: '0 0 0 1 1 *', maxRetryCount: 3 })
    expect(await jobs('timeline', id)).toContain(`schedule ${id} is active`)
    expect(await jobs('explain', id)).toContain('Waiting: its next occurrence is')
    expect(await jobs('history', id)).toBe('')
    expect(await jobs('run-now', id)).toContain(`set to run now ${id} http: schedule ${id} is active`)
    const { occurrence } = (await json('get', id)) as { occurrence: { id: string } }
    expect(await jobs('reschedule', id, '--delay', '1h')).toContain('rescheduled')
    expect(await json('edit', id, '--call', 'https://api.example/pong', '--cron', '0 0 2 1 *')).toMatchObject({
      api: 'https://api.example/pong',
      schedule: '0 0 2 1 *',
      occurrence: { id: occurrence.id, phase: 'scheduled', payload: { url: 'https://api.example/pong' } },
    })
    expect(await jobs('timeline', id)).toMatch(/Initial[\s\S]*schedule \S+ is active: 0 0 2 1 /)
    expect(await json('timeline', id)).toMatchObject({
      job: { id: occurrence.id },
      nextOccurrenceAt: expect.any(String),
    })
    expect(await jobs('logs', id)).toBe('')
    expect(await jobs('cancel', id, '--dry-run')).toContain(`schedule ${id} is active`)
    expect(await json('cancel', id)).toMatchObject({ state: 'ended', occurrence: { state: 'cancelled' } })
    expect(await json('retry', id)).toMatchObject({ state: 'ended', occurrence: { id: occurrence.id, generation: 2 } })
    expect((await jobs('replay', id)).trim()).toMatch(/^[0-9a-f-]{36}$/)
    expect(await jobs('list', '--schedule', id)).toContain(occurrence.id)
    expect(await jobs('delete', id)).toBe(`deleted ${id}\n`)
    expect(await jobs('list')).toBe('')
    expect(await say(['jobs', 'get', id, '--url', t.url])).toMatchObject({ code: 3 })
  })
})
