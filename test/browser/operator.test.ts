import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineJob } from '../../src/index.js'
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
