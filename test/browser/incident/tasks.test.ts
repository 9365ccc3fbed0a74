import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { startReceiver } from '../../support/receiver.js'
import { visit } from '../visit.js'
import { fullWorld } from '../world.js'

// The questions of an operator who has not read the documentation. Each begins on the Overview, and counts its clicks.

const CLICKS_MAX = 8

let clicks: number

// The alert about the open circuit fires at its first evaluation.
const alerts = { rules: { 'circuit-open': { for: '0s' } } } as const
const { t: world, visitor, page } = await visit(() => fullWorld({ chronos: { alerts } }))

async function begin(): Promise<void> {
  await visitor.open('/')
  clicks = 0
}

async function click(what: Locator): Promise<void> {
  await what.first().click()
  clicks += 1
  await visitor.settled()
}

const link = (name: string | RegExp): Locator => page.getByRole('main').getByRole('link', { name })
const place = (name: string): Locator => page.getByRole('navigation').getByRole('link', { name })
const button = (name: string | RegExp): Locator => page.getByRole('button', { name })

it('finds the top error, why it happened, its stack, starts a canary and reads its outcome', async () => {
  await begin()
  await click(place('Dead letters'))
  await click(link(/gateway answered/))
  const attempts = page.locator('.panel', { has: page.getByRole('heading', { name: 'Attempts' }) })
  expect(await attempts.innerText()).toMatch(/Error: gateway answered 503[\s\S]*at .*world/)
  await click(link('Show job'))
  const why = page.locator('.panel', { has: page.getByRole('heading', { name: 'Explanation' }) })
  expect(await why.innerText()).toMatch(/Dead \(exhausted\)[\s\S]*gateway answered 503/)
  await page.goBack()
  await visitor.settled()
  await click(button('Redrive'))
  await click(page.getByRole('dialog').getByRole('button', { name: /^Redrive \d+ jobs$/ }))
  await page.waitForURL(/\/redrives\//)
  // The gateway is still down, so the canary fails and stops the redrive.
  await page.locator('.page-head').getByText('Stopped').waitFor()
  const error = page.locator('.panel', { has: page.getByRole('heading', { name: 'Error', exact: true }) })
  await expect.poll(() => error.innerText()).toMatch(/Died of the same error\s+1/)
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
})

it('shows how many jobs of a redrive died of which error, and no number before they are counted', async () => {
  const [redrive] = (await world.chronos.redrives.list({ state: 'stopped' })).data
  let count = (): void => undefined
  const counted = new Promise<void>(resolve => {
    count = resolve
  })
  const isCount = (url: URL): boolean => url.pathname.endsWith('/api/v1/jobs') && url.searchParams.has('redriveId')
  await page.route(isCount, async route => {
    await counted
    await route.continue()
  })
  await page.goto(`redrives/${redrive!.id}`)
  const error = page.locator('.panel', { has: page.getByRole('heading', { name: 'Error', exact: true }) })
  await error.getByText('Died again').waitFor()
  const unknown = /Died again\s+1\s+Died of the same error\s+–\s+Died of another error\s+–/
  expect(await error.innerText()).toMatch(unknown)
  count()
  await expect.poll(() => error.innerText()).toMatch(/Died of the same error\s+1\s+Died of another error\s+0/)
  await page.unroute(isCount)
})

it('finds the job of one order', async () => {
  await begin()
  await click(button(/^Search/))
  await page.keyboard.type('order:A-1')
  await click(page.getByRole('option').filter({ hasText: 'charge-card' }))
  await page.getByRole('heading', { name: 'charge-card' }).waitFor()
  expect(page.url()).toContain(world.ids.succeeded)
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
})

it('reads why a job is waiting', async () => {
  await begin()
  await click(link(/^Blocked/))
  await click(page.getByRole('table', { name: 'Jobs' }).getByRole('link', { name: 'export.csv' }))
  expect(await page.locator('.page-head .state').innerText()).toMatch(/Blocked\s+queue paused/)
  expect(await page.locator('.story-summary').innerText()).toContain('paused')
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
})

it('reads what happened in one hour of the night', async () => {
  const local = (ms: number): string => {
    const at = new Date(ms)
    return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  }
  await begin()
  await click(place('Incident'))
  await click(button(/^Time range/))
  await click(page.getByRole('menuitemradio', { name: 'Custom range …' }))
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('From').fill(local(Date.now() - 3_000_000))
  await dialog.getByLabel('To').fill(local(Date.now() + 600_000))
  await click(dialog.getByRole('button', { name: 'Apply range' }))
  const timeline = page.locator('.panel', { has: page.getByRole('heading', { name: 'Timeline' }) })
  const text = await timeline.innerText()
  expect(text).toMatch(/error "gateway answered .* began/)
  expect(text).toContain('circuit of api.example opened')
  await click(timeline.getByRole('link', { name: /^error "gateway answered/ }))
  await page.getByRole('heading', { name: /gateway answered/ }).waitFor()
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
})

it('opens exactly the alert, the deploy and the change that an incident names', async () => {
  await world.api('POST', '/queues/mail/pause')
  await world.api('POST', '/queues/mail/resume')
  const timeline = page.locator('.panel', { has: page.getByRole('heading', { name: 'Timeline' }) })
  const follow = async (name: RegExp): Promise<string> => {
    await visitor.turn('/incident')
    await timeline.getByRole('link', { name }).first().click()
    await visitor.settled()
    return page.getByRole('main').innerText()
  }
  expect((await world.chronos.alerts.list()).data.length).toBeGreaterThan(1)
  await follow(/alert circuit-open fired/)
  const cards = page.getByRole('list', { name: 'Alerts' }).getByRole('listitem')
  expect(await cards.allInnerTexts()).toEqual([expect.stringContaining('circuit-open')])
  await page.getByRole('button', { name: 'Show all alerts' }).click()
  await expect.poll(() => cards.count()).toBeGreaterThan(1)

  expect(await follow(/^build v1 was deployed/)).toContain('Only workers of build v1 are shown.')
  const workers = page.getByRole('table', { name: 'Workers' }).locator('tbody tr')
  expect(await workers.allInnerTexts()).toEqual([expect.stringContaining('v1')])

  await follow(/paused queue mail/)
  const changes = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr')
  expect(await changes.allInnerTexts()).toEqual([expect.stringContaining('paused queue mail')])
  await page.getByRole('button', { name: 'Show all changes' }).click()
  await expect.poll(() => changes.count()).toBeGreaterThan(1)
  expect(visitor.troubles).toEqual([])
})

it('finds out why the webhook of a job has not arrived', async () => {
  await using receiver = await startReceiver((_, response) => {
    response.statusCode = 500
    response.end()
  })
  const { id: endpoint } = await world.chronos.webhooks.create({
    url: `${receiver.origin}/hooks`,
    events: ['job.cancelled'],
  })
  const { id } = await world.chronos.enqueue('invoice', { order: 'B-77' }, { delay: '1h', key: 'order:B-77' })
  await world.chronos.jobs.cancel(id)
  const failed = async (): Promise<number> =>
    (await world.chronos.jobs.count({ dependency: `webhook:${endpoint}`, phase: 'retrying' })).value
  await expect.poll(failed, { timeout: 60_000 }).toBe(1)
  await begin()
  await click(button(/^Search/))
  await page.keyboard.type('order:B-77')
  await click(page.getByRole('option').filter({ hasText: 'invoice' }))
  await page.getByRole('heading', { name: 'invoice' }).waitFor()
  await visitor.settled()
  await click(link('Show deliveries'))
  await click(page.getByRole('table', { name: 'Jobs' }).locator('tbody').getByRole('link'))
  const attempts = page.locator('.panel', { has: page.getByRole('heading', { name: 'Attempts' }) })
  expect(await attempts.innerText()).toMatch(/Failed\s+500/)
  expect(await page.locator('.story-summary').innerText()).toMatch(/retry|next/i)
  await click(link(/^…/))
  expect(page.url()).toContain(`/webhooks/${endpoint}`)
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
  expect(visitor.troubles).toEqual([])
})
