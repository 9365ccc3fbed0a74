import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { defineJob, fixed } from '../../src/index.js'
import type { TestServer } from '../server/server.js'
import { DARK_PHONE, LIGHT_WIDE, Visitor } from './browser.js'
import { emptyWorld } from './world.js'

let t: TestServer
let fingerprint: string

const retry = fixed({ delay: '1h', maxRetries: 3, jitter: 'none' })
const fails = async (_payload: unknown): Promise<void> => {
  throw new Error('bank is down')
}
const pay = defineJob({
  name: 'pay',
  queue: 'payments',
  dependsOn: 'bank',
  retry: { ...retry, circuit: true },
  run: fails,
})
const mail = defineJob({ name: 'mail', queue: 'mail', retry, run: fails })

beforeAll(async () => {
  t = await emptyWorld({ maintenance: false })
  const { chronos } = t
  let left = 5
  const retried = new Promise<void>(resolve => chronos.on('job.retrying', () => --left === 0 && resolve()))
  await chronos.enqueueMany(pay, [1, 2], { tenantId: 'acme' })
  await chronos.enqueueMany(mail, [1, 2, 3])
  chronos.work([pay, mail], { signals: false, maintenance: false })
  await retried
  // A dependency is stored shortly after its first job.
  await vi.waitUntil(async () => (await chronos.circuits.list()).data.length === 1, { timeout: 120_000 })
  fingerprint = (await chronos.jobs.list({ queue: 'mail' })).data[0]!.fingerprint!
})

afterAll(async () => {
  await t?.[Symbol.asyncDispose]()
})

describe('the forecast', () => {
  it.each([LIGHT_WIDE, DARK_PHONE])('names the deaths on four screens, $theme at $width', async look => {
    await using visitor = await Visitor.at(t.url, look)
    const { page } = visitor
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Forecast' }) })
    for (const [path, jobs] of [
      ['/', 5],
      ['/queues/mail', 3],
      [`/dead/${fingerprint}`, 3],
    ] as const) {
      await visitor.open(path)
      expect(await panel.innerText()).toMatch(new RegExp(`(all|last of) ${jobs} `))
      expect(await panel.innerText()).toContain('With the policy patient')
      expect(await visitor.barriers()).toEqual([])
      await visitor.screenshot(`forecast-${jobs}-${path.slice(1, 5)}`)
    }
    await visitor.open('/dependencies')
    expect(await panel.locator('tbody tr').count()).toBe(1)
    expect(await panel.innerText()).toMatch(/bank\s+tenant acme/)
    await visitor.screenshot('forecast-dependencies')
    expect(visitor.troubles).toEqual([])
  })

  it('holds the jobs of a circuit and of a queue after a confirmation', async () => {
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Forecast' }) })
    const hold = async (row: RegExp, title: string, verb: string): Promise<void> => {
      await panel.getByRole('row', { name: row }).getByRole('button', { name: 'Hold' }).click()
      const dialog = page.getByRole('dialog')
      expect(await dialog.innerText()).toContain(title)
      await dialog.getByRole('button', { name: verb }).click()
      await dialog.waitFor({ state: 'hidden' })
    }
    await visitor.open('/')
    await hold(/bank/, 'Hold the jobs of bank for acme?', 'Force open')
    await expect.poll(async () => (await t.chronos.circuits.get('bank', { tenantId: 'acme' })).state).toBe('open')
    await hold(/^mail/, 'Hold the jobs of queue mail?', 'Pause queue')
    await expect.poll(async () => (await t.chronos.queues.get('mail')).paused).toBe(true)
    await expect.poll(() => panel.innerText()).toContain('5 jobs do not start')
    expect(await panel.getByRole('button', { name: 'Hold' }).count()).toBe(0)
    expect((await t.chronos.forecast()).dying).toBe(0)
    expect(visitor.troubles).toEqual([])
  })
})
