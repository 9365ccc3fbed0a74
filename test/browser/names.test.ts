import { describe, expect, it, vi } from 'vitest'
import { formatMs } from '../../src/core/values/duration.js'
import type { StatsSeries } from '../../src/engine/figures/series.js'
import type { NameList, NameReport } from '../../src/engine/names/view.js'
import { defineJob, fixed } from '../../src/index.js'
import type { TestServer } from '../server/server.js'
import { Visitor } from './browser.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

/** Three job names in three queues and for two tenants: successes, retries and deaths. */
async function day({ chronos }: TestServer): Promise<void> {
  const charge = defineJob({
    name: 'charge-card',
    queue: 'payments',
    retry: fixed({ delay: '1ms', maxRetries: 2, jitter: 'none' }),
    run: (fails: number, job) => {
      if (job.attempt <= fails) throw new Error('gateway answered 503')
    },
  })
  const mail = defineJob({ name: 'mail', queue: 'mail', run: (_to: string) => undefined })
  const report = defineJob({ name: 'night report', queue: 'reports', run: (_day: string) => undefined })
  const fails = [0, 0, 0, 1, 2, 3, 3]
  const ended = new Promise<void>(resolve => {
    let left = fails.length + 6
    const end = (): void => void (--left === 0 && resolve())
    chronos.on('job.succeeded', end)
    chronos.on('job.dead', end)
  })
  for (const [n, count] of fails.entries()) {
    await chronos.enqueue(charge, count, { tenantId: n % 2 === 0 ? 'acme' : 'globex' })
  }
  await chronos.enqueueMany(mail, ['ann', 'bob', 'cid', 'dan'])
  await chronos.enqueue(mail, 'eve', { queue: 'reports', tenantId: 'acme' })
  await chronos.enqueue(report, 'monday')
  chronos.work([charge, mail, report], { signals: false, queues: ['payments', 'mail', 'reports'] })
  await ended
  await vi.waitUntil(async () => (await chronos.workers()).length > 0, { timeout: 120_000 })
}

const { t, visitor, page } = await visit(async () => {
  const world = await emptyWorld({ maintenance: false })
  await day(world)
  return world
})

/** A range that does not move while a test runs. */
const RANGE = (() => {
  const end = Math.ceil(Date.now() / 60_000) * 60_000 + 300_000
  const iso = (at: number): string => new Date(at).toISOString()
  return `from=${iso(end - 3_600_000)}&to=${iso(end)}`
})()

const parameters = (): Readonly<Record<string, string>> => Object.fromEntries(new URL(page.url()).searchParams)
const rows = async (label: string): Promise<readonly (readonly string[])[]> => {
  const found = await page.getByRole('table', { name: label, exact: true }).locator('tbody tr').all()
  return Promise.all(found.map(async row => (await row.locator('td').allInnerTexts()).map(text => text.trim())))
}
const tile = (label: string) => page.locator('.tile', { has: page.getByText(label, { exact: true }) })

describe('the list of job names', () => {
  it('agrees with the store', async () => {
    await visitor.turn(`/names?${RANGE}`)
    const { data } = (await t.api<NameList>('GET', `/names?${RANGE}`)).body
    const shown = await rows('Job names')
    expect(shown.map(([name, runs, , failed, dead]) => [name, runs, failed, dead])).toEqual([
      ['charge-card', '14', '64 %', '2'],
      ['mail', '5', '0 %', '0'],
      ['night report', '1', '0 %', '0'],
    ])
    expect(shown.map(row => row[6])).toEqual(data.map(({ runMs }) => formatMs(runMs!.p95)))
    expect(shown.map(row => row[9])).toEqual(data.map(({ waitMs }) => formatMs(waitMs!.p95)))
    for (const state of ['succeeded', 'dead'] as const) {
      const { value } = await t.chronos.jobs.count({ name: 'charge-card', state })
      expect(data[0]![state]).toBe(value)
    }
  })

  it('is sorted by any column, in the URL', async () => {
    await visitor.turn(`/names?${RANGE}`)
    const title = (name: string) => page.getByRole('columnheader', { name })
    const names = async (): Promise<readonly string[]> => (await rows('Job names')).map(([name]) => name!)
    await title('Job name').getByRole('button').click()
    expect(await names()).toEqual(['charge-card', 'mail', 'night report'])
    await title('Job name').getByRole('button').click()
    expect(await names()).toEqual(['night report', 'mail', 'charge-card'])
    expect(await title('Job name').getAttribute('aria-sort')).toBe('descending')
    await title('Dead').getByRole('button').click()
    expect((await names())[0]).toBe('charge-card')
    expect(parameters()['sort']).toBe('-Dead')
    await visitor.turn(`/names?${RANGE}&sort=Runs`)
    expect(await names()).toEqual(['night report', 'mail', 'charge-card'])
  })

  it('is searched by a part of the name', async () => {
    await visitor.turn(`/names?${RANGE}`)
    await page.getByLabel('Find a job name').fill('REPORT')
    await page.getByText('1 job name active').waitFor()
    await visitor.settled()
    expect((await rows('Job names')).map(([name]) => name)).toEqual(['night report'])
  })
})

describe('the page of a job name', () => {
  it('agrees with the store, and leads to its jobs', async () => {
    await visitor.turn(`/names?${RANGE}`)
    await page.getByRole('link', { name: 'charge-card' }).click()
    await visitor.settled()
    expect(new URL(page.url()).pathname).toBe('/names/charge-card')
    const report = (await t.api<NameReport>('GET', `/names/charge-card?${RANGE}`)).body
    expect(await tile('Runs').innerText()).toContain('14')
    expect(await tile('Run time p95').innerText()).toContain(formatMs(report.runMs!.p95))
    expect(await tile('Dead').innerText()).toContain('2')
    await page.getByRole('link', { name: /^payments 14 runs, 64 % failed/ }).waitFor()
    const slowest = await rows('Slowest runs')
    expect(slowest.map(row => row[2])).toEqual(report.slowest.map(({ runMs }) => formatMs(runMs)))
    const retried = await rows('Most retried jobs')
    expect(retried.map(row => row[2])).toEqual(['3', '3', '3', '2'])
    await page.getByRole('link', { name: /gateway answered/ }).waitFor()
    await tile('Dead').click()
    await visitor.settled()
    await page.getByText('2 of 2 jobs').waitFor()
    expect(parameters()).toMatchObject({ name: 'charge-card', state: 'dead', by: 'finished' })
  })

  it('shows percentiles over time, and its charts set the time range', async () => {
    await visitor.turn(`/names/charge-card?${RANGE}`)
    const chart = page.getByRole('group', { name: /^Run time/ })
    await chart.focus()
    await chart.press('Home')
    for (let step = 0; step < 3; step++) await chart.press('Shift+ArrowRight')
    await chart.press('Enter')
    await visitor.settled()
    expect(Date.parse(parameters()['to']!) - Date.parse(parameters()['from']!)).toBe(3 * 60_000)
    await page.getByText('No run has ended in this time range.').waitFor()
  })

  it('says that a name does not exist', async () => {
    await visitor.turn('/names/charge-crad')
    expect(await page.locator('main').innerText()).toContain('did you mean "charge-card"?')
  })
})

describe('throughput', () => {
  it('follows the time range on the Overview and on the page of a queue', async () => {
    await visitor.turn(`/?${RANGE}`)
    expect(await tile('Succeeded').innerText()).toContain('11')
    const before = 'from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z'
    await visitor.turn(`/?${before}`)
    expect(await tile('Throughput').innerText()).toContain('0/min')
    expect(await tile('Succeeded').innerText()).toContain('–')
    await visitor.turn(`/queues/payments?${RANGE}`)
    const { points } = (await t.api<StatsSeries>('GET', `/stats/series?queue=payments&percentiles=true&${RANGE}`)).body
    expect(points.reduce((sum, { runs }) => sum + runs, 0)).toBe(14)
    expect(await tile('Throughput').innerText()).toContain('64 % failed')
    await page.getByRole('group', { name: /^Wait/ }).waitFor()
    const last = points.findLast(({ runMs }) => runMs)!
    await page
      .getByRole('figure', { name: /^Run time/ })
      .getByRole('button', { name: 'Table' })
      .click()
    await page
      .getByRole('cell', { name: formatMs(last.runMs!.p99), exact: true })
      .first()
      .waitFor()
    await visitor.turn(`/queues/payments?${before}`)
    expect(await tile('Throughput').innerText()).toContain('0/min')
  })
})

it('shows no job names to the token of a tenant', async () => {
  const { token } = await t.server.tokens.create({ name: 'acme', role: 'viewer', tenantId: 'acme' })
  await using acme = await Visitor.at(t.url)
  await acme.signIn(token)
  await acme.open('/jobs')
  expect(await acme.page.getByRole('link', { name: 'Job names' }).count()).toBe(0)
})
