import { describe, expect, it, vi } from 'vitest'
import { defineJob, fixed } from '../../src/index.js'
import { postbox } from '../engine/webhooks/postbox.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

const { t, visitor, page } = await visit(async () => {
  const box = await postbox()
  box.answer = () => undefined
  const world = await emptyWorld({ maintenance: false, chronos: { egress: { allow: ['loopback'] } } })
  const { chronos } = world
  const fails = async (): Promise<void> => {
    throw new Error('bank is down')
  }
  const later = fixed({ delay: '1h', maxRetries: 3, jitter: 'none' })
  const pay = defineJob({ name: 'pay', dependsOn: 'bank', retry: { ...later, circuit: true }, run: fails })
  const lost = defineJob({ name: 'lost', retry: fixed({ delay: '1h', maxRetries: 0 }), run: fails })
  await chronos.webhooks.create({ url: `${box.url}?token=s3cret`, events: ['job.dead'] })
  const [retried, died] = ['job.retrying', 'job.dead'] as const
  const seen = Promise.all(
    [retried, died].map(event => new Promise<void>(resolve => chronos.on(event, () => resolve()))),
  )
  await chronos.enqueue(pay)
  await chronos.enqueueMany(pay, [1, 2] as never, { delay: '1d' })
  await chronos.enqueue(lost)
  chronos.work([pay, lost], { signals: false, maintenance: false })
  await Promise.all([seen, box.got(1)])
  await vi.waitUntil(async () => (await chronos.circuits.list()).data.length === 1, { timeout: 120_000 })
  await chronos.circuits.open('bank')
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      // The delivery that waits for its answer would hold up the end of its worker.
      await box[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
})

describe('true numbers', () => {
  it('leave deliveries, which use no slot, out of the running jobs, and lead to the same jobs', async () => {
    await visitor.turn('/')
    const tile = page.locator('a.tile', { has: page.getByText('Running', { exact: true }) })
    expect(await tile.locator('.value').innerText()).toBe('0')
    expect(await tile.locator('.note').innerText()).toBe('10 slots · 1 delivery')
    await tile.click()
    await page.waitForURL(/\/jobs\?state=running&internal=false$/)
    await visitor.turn('/jobs?state=running&internal=false')
    expect(await page.locator('tbody tr').count()).toBe(0)
    await visitor.turn('/jobs?state=running&internal=true')
    expect(await page.locator('tbody tr').count()).toBe(1)
  })

  it('say that a forecast leaves out jobs that have not run yet', async () => {
    await visitor.turn('/dependencies')
    expect(await page.locator('.target-card').innerText()).toContain('3 jobs wait for it')
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Forecast' }) })
    expect(await panel.innerText()).toContain('without jobs that have not run yet')
    const cells = await panel.getByRole('columnheader').allInnerTexts()
    const at = cells.findIndex(text => text.toLowerCase() === 'jobs')
    expect(await panel.locator('tbody tr').first().locator('td').nth(at).innerText()).toBe('1')
  })
})

describe('the text of an error', () => {
  it('names what a redrive in an incident is about', async () => {
    const { fingerprint } = (await t.chronos.dead.groups()).data[0]!
    await t.api('POST', '/redrives', { filter: { fingerprint } })
    await visitor.turn('/incident')
    const lines = await page.locator('.incident-entries').innerText()
    expect(lines).toContain('redrive of 1 job started (error "bank is down")')
  })
})

describe('the URL of a webhook endpoint', () => {
  it('is shown without the values of its query, except where it is edited', async () => {
    await visitor.turn('/webhooks')
    const link = page.getByRole('link', { name: 'hook?token=…' })
    expect(await page.content()).not.toContain('s3cret')
    await link.click()
    await page.locator('.webhook-title', { hasText: 'hook?token=…' }).waitFor()
    expect(await page.content()).not.toContain('s3cret')
    for (const [action, verb] of [
      ['Rotate secret', 'Cancel'],
      ['Disable', 'Cancel'],
      ['Recover deliveries …', 'Cancel'],
    ] as const) {
      await page.getByRole('button', { name: /^(Actions for|More)/ }).click()
      await page.getByRole('menuitem', { name: action }).click()
      const dialog = page.getByRole('dialog')
      expect(await dialog.innerText()).toContain('token=…')
      await dialog.getByRole('button', { name: verb }).click()
      await dialog.waitFor({ state: 'hidden' })
    }
    await page.getByRole('button', { name: /^(Actions for|More)/ }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    expect(await page.getByRole('dialog').getByLabel('URL').inputValue()).toContain('?token=s3cret')
    expect(visitor.troubles).toEqual([])
  })
})
