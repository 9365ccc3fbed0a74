import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Forecast } from '../../../../src/core/forecast/forecast.js'
import { systemClock } from '../../../../src/engine/time/system.js'
import { seededDice } from '../../../../src/engine/time/virtual.js'
import { defineJob } from '../../../../src/index.js'
import { sqliteStore } from '../../../../src/store/sqlite/store.js'
import { testChronos } from '../../../../src/testing.js'
import { say } from '../../memory-io.js'

const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
const path = join(folder, 'chronos.db')
const store = ['--store', `sqlite:${path}`]
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(async () => {
  const retry = { maxRetries: 4, backoff: { type: 'fixed', delay: '5d' }, jitter: 0.1 } as const
  const run = async (_payload: unknown): Promise<void> => {
    throw new Error('down')
  }
  const jobs = ['mail', 'default'].map(queue => defineJob({ name: `to-${queue}`, queue, retry, run }))
  const t = testChronos({
    jobs,
    startAt: new Date(systemClock.now()),
    work: { queues: ['mail', 'default'] },
    store: clock => sqliteStore({ path, clock, dice: seededDice(1) }),
  })
  for (const job of jobs) await t.enqueueMany(job, [1, 2, 3])
  await t.advance('1s')
  await t.close()
})

describe('forecast', () => {
  it('prints its sentences and the places, and the same as JSON', async () => {
    const { code, stdout } = await say(['forecast', ...store])
    const forecast = JSON.parse((await say(['forecast', '--json', ...store])).stdout) as Forecast
    expect(code).toBe(0)
    expect(forecast).toMatchObject({ dying: 6, exact: false, places: [{ jobs: 3 }, { jobs: 3 }] })
    const flat = stdout.replaceAll(/\s+/g, ' ')
    for (const line of forecast.summary) expect(flat).toContain(line)
    for (const { queue } of forecast.places) expect(stdout).toMatch(new RegExp(`^\\s*${queue} +`, 'm'))
    expect(stdout).toContain('First death')
  })

  it('is limited to a queue', async () => {
    const { stdout } = await say(['forecast', '--queue', 'mail', '--policy', 'none', ...store])
    expect(stdout).toContain('the last of 3')
    expect(stdout).toContain('With the policy none')
    expect(stdout).not.toContain('First death')
  })

  it('refuses an unknown policy', async () => {
    const { code, stderr } = await say(['forecast', '--policy', 'eternal', ...store])
    expect([code, stderr]).toEqual([2, expect.stringContaining('policy')])
  })
})
