import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ratioText, retryRateText } from '../../src/core/values/number.js'
import { defineJob, fixed } from '../../src/index.js'
import type { TestServer } from '../server/server.js'
import { launch, Visitor } from './browser.js'
import { emptyWorld } from './world.js'

// What an operator reads on the screens is compared with the store.

let browser: Browser
let t: TestServer
let visitor: Visitor

beforeAll(async () => {
  browser = await launch()
  t = await emptyWorld({ chronos: { queues: { calls: { circuit: true } } }, maintenance: false })
  visitor = await Visitor.at(browser, t.url)
})

afterAll(async () => {
  await visitor?.[Symbol.asyncDispose]()
  await t?.[Symbol.asyncDispose]()
  await browser?.close()
})

describe('blocked jobs', () => {
  it('are counted and found with their reason, and the Overview does not say that nothing is due', async () => {
    const { page } = visitor
    await t.chronos.enqueueMany('export', [1, 2, 3], { queue: 'exports', tenantId: 'acme' })
    await t.chronos.enqueue('export', 4, { queue: 'exports', delay: '1h' })
    await t.chronos.queues.pause('exports')
    const sync = defineJob({ name: 'sync', queue: 'calls', dependsOn: 'api.example', run: () => undefined })
    await t.chronos.enqueue(sync)
    t.chronos.work([sync], { signals: false })
    await expect.poll(async () => (await t.chronos.circuits.list()).length).toBe(1)
    await t.chronos.circuits.open('api.example')
    const { id } = await t.chronos.enqueue(sync)
    await expect.poll(async () => (await t.chronos.jobs.get(id))?.phase).toBe('blocked')
    await visitor.open('/')
    expect(await page.locator('.page-head').innerText()).toContain('4 jobs are blocked')
    expect(await page.locator('main').innerText()).not.toContain('no due jobs')
    await page.getByRole('link', { name: /^Blocked/ }).click()
    await visitor.settled()
    const rows = page.getByRole('table', { name: 'Jobs' }).locator('tbody tr')
    const states = await rows.evaluateAll(all => all.map(row => row.querySelector('.state')?.textContent))
    expect(states.sort()).toEqual(['Blockedcircuit open', ...Array(3).fill('Blockedqueue paused')])
    await visitor.open(`/jobs/${id}`)
    const head = page.locator('.page-head')
    expect(await head.locator('.state').innerText()).toMatch(/Blocked\s+circuit open/)
    await visitor.open('/queues/exports')
    expect(await page.getByRole('link', { name: /^Blocked/ }).innerText()).toMatch(/Blocked\s+3\s+the queue is paused/)
    expect(await page.getByRole('link', { name: /^Queued/ }).innerText()).toMatch(/Queued\s+0/)
    expect(visitor.troubles).toEqual([])
  })

  it('have one time for the next run, and a deferral is no run', async () => {
    const { page } = visitor
    const [held] = (await t.chronos.jobs.list({ name: 'sync', phase: 'blocked' })).data
    await visitor.open(`/jobs/${held!.id}`)
    const attempts = page.locator('.panel', { has: page.getByRole('heading', { name: 'Attempts' }) })
    expect(await attempts.locator('header').innerText()).toMatch(/0 runs, 1 deferral/)
    expect(await attempts.locator('.attempt-label').innerText()).toBe('Deferred')
    expect(await fact(page, 'Next run')).toBe('when it is released')
    const [later] = (await t.chronos.jobs.list({ queue: 'exports', phase: 'scheduled' })).data
    await visitor.open(`/jobs/${later!.id}`)
    const [said, shown] = await page.evaluate(() => {
      const told = document.querySelector('.story-summary')?.textContent ?? ''
      const term = [...document.querySelectorAll('dt')].find(each => each.textContent === 'Next run')
      return [told, term?.nextElementSibling?.textContent ?? '']
    })
    expect(shown).toMatch(/^in (59m \d+s|1h)$/)
    expect(said).toContain(`${shown} (`)
  })
})

describe('a job without a handler', () => {
  it('is on the Overview, with the nearest known name', async () => {
    const { page } = visitor
    const resize = defineJob({ name: 'resize', queue: 'images', run: () => undefined })
    t.chronos.work([resize], { signals: false })
    await t.chronos.enqueueMany('resise', [1, 2], { queue: 'images' })
    await expect.poll(async () => (await t.chronos.stats()).unhandled.length).toBe(1)
    await visitor.open('/')
    const item = page.getByRole('link', { name: /No worker has a handler for resise/ })
    expect(await item.innerText()).toContain('2 jobs wait in images; did you mean resize?')
    await item.click()
    await visitor.settled()
    const rows = page.getByRole('table', { name: 'Jobs' }).locator('tbody tr')
    expect(await rows.count()).toBe(2)
    expect(visitor.troubles).toEqual([])
  })
})

describe('attempts', () => {
  it('are not called Initial twice, also after a restart', async () => {
    const { page } = visitor
    const job = defineJob({ name: 'flaky', retry: 'none', run: () => Promise.reject(new Error('no')) })
    const died = () =>
      new Promise<void>(resolve => {
        const stop = t.chronos.on('job.dead', () => {
          stop()
          resolve()
        })
      })
    t.chronos.work([job], { queues: ['default'], signals: false })
    let dead = died()
    const { id } = await t.chronos.enqueue(job)
    await dead
    dead = died()
    await t.chronos.jobs.retry(id)
    await dead
    await visitor.open(`/jobs/${id}`)
    expect(await page.locator('.attempt-label').allInnerTexts()).toEqual(['Restart #1', 'Initial'])
  })
})

describe('figures', () => {
  it('show more retries than first attempts as a ratio, the outcomes of jobs and the failed attempts apart', async () => {
    const { page } = visitor
    const job = defineJob({
      name: 'thrice',
      queue: 'thrice',
      retry: fixed({ delay: '1ms', maxRetries: 2 }),
      run: () => Promise.reject(new Error('down')),
    })
    let left = 4
    const dead = new Promise<void>(resolve =>
      t.chronos.on('job.dead', event => event.job.name === 'thrice' && --left === 0 && resolve()),
    )
    t.chronos.work([job], { signals: false })
    await t.chronos.enqueueMany(job, [undefined, undefined, undefined, undefined])
    await dead
    await visitor.open('/')
    const { retryRate, lastHour } = await t.chronos.stats()
    expect(retryRate).toBeGreaterThan(1)
    expect(await page.locator('.page-head').innerText()).toContain(`${retryRateText(retryRate!)} in the last 5 minutes`)
    const chart = page.locator('.picture', { has: page.getByText('Job outcomes') })
    const label = await chart.getByRole('group', { name: /^Job outcomes/ }).getAttribute('aria-label')
    expect(label).toContain(`${lastHour.dead} dead; ${lastHour.failed} failed attempts`)
    expect(await chart.locator('.axis-title').allTextContents()).toEqual(['jobs per 1m', 'local time'])
    expect(await chart.locator('.outcome-line').count()).toBe(1)
    expect(await chart.locator('.is-dead .outcome-hatch').count()).toBe(1)
    const [, perJob] = /Runs per job\s+(\S+)/.exec(await page.locator('.tiles').innerText())!
    expect(perJob).toBe(ratioText(lastHour.started / (lastHour.succeeded + lastHour.dead)))
    expect(visitor.troubles).toEqual([])
  })
})

describe('what needs attention', () => {
  it('is grouped by rule, limited to five, without silenced alerts, and leads to the cause', async () => {
    const { page } = visitor
    await t.api('PUT', '/alerts/rules', { 'dead-letters': { for: 0 } })
    t.chronos.maintain()
    const firing = async (): Promise<readonly string[]> =>
      (await t.chronos.alerts.list({ state: 'firing' })).data.map(({ rule }) => rule)
    await expect.poll(firing, { timeout: 60_000 }).toContain('dead-letters')
    await visitor.open('/')
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Needs attention' }) })
    const dead = panel.getByRole('link', { name: /dead-letters/ })
    expect(await dead.count()).toBe(1)
    expect(await dead.getAttribute('href')).toMatch(/\/dead/)
    expect(await panel.getByRole('link').count()).toBeLessThanOrEqual(5)
    await t.chronos.alerts.silence({ rule: 'dead-letters', labels: {}, for: '1h' })
    await visitor.open('/')
    expect(await panel.getByRole('link', { name: /dead-letters/ }).count()).toBe(0)
    expect(visitor.troubles).toEqual([])
  })
})

/** The value of a term on the page of a job. */
async function fact(page: Page, name: string): Promise<string> {
  const term = page.locator('dt', { hasText: new RegExp(`^${name}$`) })
  return term.locator('xpath=following-sibling::dd[1]').innerText()
}
