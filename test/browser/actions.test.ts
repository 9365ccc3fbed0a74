import type { Page, Route } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { defineJob, fixed } from '../../src/index.js'
import { startServer } from '../server/server.js'
import { Line } from '../support/line.js'
import { dropSchemas, freshSchema, openStore, postgresUrl } from '../support/postgres.js'
import { Visitor } from './browser.js'
import { DASHBOARD, emptyWorld } from './world.js'

afterAll(dropSchemas)

const TOKEN = 'a-token-of-the-configuration'
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })

/** Presses a button of the confirmation dialog. */
async function confirm(page: Page, name: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
}

/** Chooses an item of a menu. */
async function choose(page: Page, menu: string, item: RegExp): Promise<void> {
  await button(page, menu).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** The number of rows that are drawn in the moment in which the page says that it is complete. */
function rowsWhenComplete(): Promise<number> {
  const main = document.querySelector('main')!
  return new Promise(resolve => {
    new MutationObserver(() => {
      if (main.ariaBusy === 'false') resolve(main.querySelectorAll('tbody tr').length)
    }).observe(main, { attributeFilter: ['aria-busy'] })
  })
}

describe('an operator', () => {
  it('cancels a waiting job and undoes it', async () => {
    await using t = await emptyWorld()
    const { id } = await t.chronos.enqueue('mail', { to: 'ann' }, { delay: '1h' })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open(`/jobs/${id}`)
    await choose(page, 'More actions', /^Cancel/)
    await confirm(page, 'Cancel job')
    await expect.poll(async () => (await t.chronos.jobs.get(id))?.state).toBe('cancelled')
    await button(page, 'Undo').click()
    await expect.poll(async () => (await t.chronos.jobs.get(id))?.state).toBe('waiting')
    expect(visitor.troubles).toEqual([])
  })

  it('retries a dead job and sees it succeed without a reload', async () => {
    await using t = await emptyWorld()
    let isDown = true
    const mail = defineJob({
      name: 'mail',
      retry: fixed({ delay: '1ms', maxRetries: 1 }),
      run: () => {
        if (isDown) throw new Error('SMTP 421')
      },
    })
    const died = new Promise<void>(resolve => void t.chronos.on('job.dead', () => resolve()))
    const { id } = await t.chronos.enqueue(mail, undefined)
    t.chronos.work([mail], { signals: false })
    await died
    isDown = false
    await using visitor = await Visitor.at(t.url)
    await visitor.open(`/jobs/${id}`)
    await button(visitor.page, 'Retry').click()
    await visitor.page.locator('main').getByText('Succeeded').first().waitFor()
    expect((await t.chronos.jobs.get(id))?.state).toBe('succeeded')
    expect(visitor.troubles).toEqual([])
  })

  it('redrives a group of dead letters with a canary', async () => {
    await using t = await emptyWorld()
    let isDown = true
    const charge = defineJob({
      name: 'charge',
      queue: 'payments',
      retry: 'none',
      run: ({ order }: { order: number }) => {
        if (isDown) throw new Error(`gateway is down for order ${order}`)
      },
    })
    let left = 12
    const died = new Promise<void>(resolve => void t.chronos.on('job.dead', () => --left === 0 && resolve()))
    await t.chronos.enqueueMany(
      charge,
      Array.from({ length: 12 }, (_, order) => ({ order })),
    )
    t.chronos.work([charge], { signals: false })
    await died
    isDown = false
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/dead')
    await button(page, 'Redrive').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Canary').fill('3')
    await dialog.getByRole('button', { name: 'Redrive 12 jobs' }).click()
    await page.waitForURL(/\/redrives\//)
    await page.locator('main').getByText('Done').first().waitFor()
    const [redrive] = (await t.chronos.redrives.list()).data
    expect(redrive).toMatchObject({ canary: 3, state: 'done', succeeded: 12 })
    expect(visitor.troubles).toEqual([])
  })

  it('pauses and resumes a queue', async () => {
    await using t = await emptyWorld()
    await t.chronos.enqueue('mail', {}, { queue: 'mail' })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/queues/mail')
    await button(page, 'Pause').click()
    await expect.poll(async () => (await t.chronos.queues.get('mail')).paused).toBe(true)
    await button(page, 'Resume').first().click()
    await expect.poll(async () => (await t.chronos.queues.get('mail')).paused).toBe(false)
    expect(visitor.troubles).toEqual([])
  })

  it('edits a schedule', async () => {
    await using t = await emptyWorld()
    await t.chronos.schedules.put('digest', { cron: '0 9 * * *', job: 'mail', payload: { to: 'all' } })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/schedules/digest/edit')
    await page.getByLabel('Cron', { exact: true }).fill('30 7 * * *')
    await page.getByLabel('Timeout', { exact: true }).fill('45s')
    await button(page, /^Save/).click()
    await expect.poll(async () => (await t.chronos.schedules.get('digest'))?.cron).toBe('30 7 * * *')
    expect(await t.chronos.schedules.get('digest')).toMatchObject({ timeout: '45s', payload: { to: 'all' } })
    expect(visitor.troubles).toEqual([])
  })

  it('cancels a schedule with its waiting job, and resumes it', async () => {
    await using t = await emptyWorld({ maintenance: false })
    await t.chronos.schedules.put('digest', { cron: '0 0 1 1 *', job: 'mail' })
    const { id } = await t.chronos.schedules.run('digest')
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/schedules/digest')
    await choose(page, 'Actions for digest', /^Cancel/)
    await confirm(page, 'Cancel schedule')
    await expect.poll(async () => (await t.chronos.schedules.get('digest'))?.state).toBe('ended')
    await expect.poll(async () => (await t.chronos.jobs.get(id))?.state).toBe('cancelled')
    await button(page, 'Resume').click()
    await expect.poll(async () => (await t.chronos.schedules.get('digest'))?.state).toBe('active')
    expect(visitor.troubles).toEqual([])
  })

  it('changes a policy in the simulator and gets another result and URL', async () => {
    await using t = await emptyWorld()
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/policies')
    const headline = page.getByText(/outage survived/i).first()
    await headline.waitFor()
    const before = await page.locator('main').innerText()
    await page.getByLabel('Retries').first().fill('9')
    await expect.poll(async () => (await page.locator('main').innerText()) === before).toBe(false)
    await page.waitForURL(url => [...url.searchParams.values()].includes('9'))
    expect(visitor.troubles).toEqual([])
  })

  it('adds limits in the simulator, which then lets jobs wait instead of dying', async () => {
    await using t = await emptyWorld()
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/policies?policy=standard&retries=0&jobs=100&within=0s&outage=0s&capacity=10')
    const figure = (name: string) => page.getByLabel('Results').locator('div', { hasText: name }).locator('dd').first()
    await expect.poll(() => figure('Dead').innerText()).toBe('90')
    expect(await figure('Longest wait for a limit').count()).toBe(0)
    await page.getByText('Limits of the queue').click()
    await page.getByLabel('Rate', { exact: true }).fill('10/s')
    // Those of one second may start at once, which is more than the dependency serves in the first second.
    await expect.poll(() => figure('Dead').innerText()).toBe('9')
    await page.getByLabel('Burst', { exact: true }).fill('1')
    await expect.poll(() => figure('Dead').innerText()).toBe('0')
    expect(await figure('Longest wait for a limit').innerText()).toBe('9.9s')
    await page.waitForURL(url => url.searchParams.get('rate') === '10/s')
    expect(visitor.troubles).toEqual([])
  })

  it('shows what is wrong with a new job beside its fields, in the words of the API', async () => {
    await using t = await emptyWorld()
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs')
    await page.keyboard.press('c')
    const drawer = page.getByRole('dialog')
    await drawer.getByLabel('URL', { exact: true }).fill('ftp://files.example')
    await drawer.getByText('Expected http: or https:, got "ftp:"').waitFor()
    await drawer.getByRole('radio', { name: 'Run a named job' }).check()
    await drawer.getByLabel('Name', { exact: true }).fill('report!')
    await drawer.getByText(/^Expected 1 to 128 letters, digits, spaces/).waitFor()
    await drawer.getByLabel('Name', { exact: true }).fill('report')
    await drawer.getByLabel('Priority', { exact: true }).fill('12')
    await drawer.getByText('Expected a whole number from 0 to 9, got 12').waitFor()
    expect(await drawer.getByRole('button', { name: 'Enqueue', exact: true }).isDisabled()).toBe(true)
    await drawer.getByLabel('Priority', { exact: true }).fill('7')
    await drawer.getByRole('button', { name: 'Enqueue', exact: true }).click()
    await page.getByRole('link', { name: 'Open job' }).waitFor()
    expect((await t.chronos.jobs.list()).data[0]).toMatchObject({ name: 'report', priority: 7 })
    expect(visitor.troubles).toEqual([])
  })

  it('creates a job and opens it', async () => {
    await using t = await emptyWorld()
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs')
    await page.keyboard.press('c')
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('radio', { name: 'Run a named job' }).check()
    await drawer.getByLabel('Name', { exact: true }).fill('report')
    await drawer.getByLabel('Payload', { exact: true }).fill('{"month":"2026-10"}')
    await drawer.getByRole('button', { name: 'Enqueue', exact: true }).click()
    await page.getByRole('link', { name: 'Open job' }).click()
    await page.locator('main').getByText('2026-10').first().waitFor()
    expect((await t.chronos.jobs.list()).data[0]).toMatchObject({ name: 'report', payload: { month: '2026-10' } })
    expect(visitor.troubles).toEqual([])
  })

  it('cancels all matching jobs after typing their number', async () => {
    await using t = await emptyWorld()
    await t.chronos.enqueueMany(
      'mail',
      Array.from({ length: 130 }, () => ({})),
      { queue: 'mail', delay: '1h' },
    )
    await t.chronos.enqueue('other', {}, { delay: '1h' })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs?queue=mail')
    await page.getByRole('checkbox', { name: /all/i }).first().check()
    await button(page, /Select all 130/).click()
    await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Cancel' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.innerText()).toContain('queue:mail')
    expect(await dialog.getByRole('button', { name: 'Cancel 130 jobs', exact: true }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox').fill('130')
    await confirm(page, 'Cancel 130 jobs')
    await expect.poll(async () => (await t.chronos.jobs.count({ state: 'cancelled' })).value).toBe(130)
    expect((await t.chronos.jobs.count({ state: 'waiting' })).value).toBe(1)
    expect(visitor.troubles).toEqual([])
  })

  it('filters jobs by URL and returns with Back', async () => {
    await using t = await emptyWorld()
    await t.chronos.enqueue('mail', {}, { queue: 'mail', tags: ['vip'] })
    await t.chronos.enqueue('report', {}, { queue: 'reports' })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs')
    await page.getByRole('combobox').or(page.getByLabel('Filter jobs')).first().fill('queue:reports')
    await page.keyboard.press('Enter')
    await page.waitForURL(/queue=reports/)
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await page.goBack()
    await expect.poll(() => page.locator('tbody tr').count()).toBe(2)
    expect(visitor.troubles).toEqual([])
  })

  it('shows new jobs in the list on request', async () => {
    await using t = await emptyWorld()
    await t.chronos.enqueue('first', {})
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs')
    await t.chronos.enqueue('second', {})
    await button(page, /1 new job/).click()
    await page.locator('tbody').getByText('second').waitFor()
    expect(visitor.troubles).toEqual([])
  })

  it('signs in with a viewer token and sees no actions', async () => {
    await using t = await emptyWorld({ token: TOKEN })
    const { token } = await t.server.tokens.create({ name: 'night watch', role: 'viewer' })
    const { id } = await t.chronos.enqueue('mail', {}, { delay: '1h' })
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await page.goto('jobs')
    await page.getByLabel('Access token').fill('wrong-token')
    await button(page, 'Sign in').click()
    await page.getByText(/unknown, revoked or expired/).waitFor()
    await page.getByLabel('Access token').fill(token)
    await button(page, 'Sign in').click()
    await page.locator('tbody tr').first().waitFor()
    await visitor.open(`/jobs/${id}`)
    const names = await page.getByRole('button').evaluateAll(all => all.map(each => each.textContent ?? ''))
    expect(names.filter(name => /run now|cancel|delete|retry|edit|new job/i.test(name))).toEqual([])
    // The browser logs the two 401 responses.
    expect(visitor.troubles.filter(trouble => !trouble.includes('401'))).toEqual([])
  })

  it('sees that the store is unavailable, and its recovery', async () => {
    const url = await postgresUrl()
    const line = await Line.to(url)
    const store = await openStore({ schema: freshSchema(), url: line.url(url) })
    await using t = await startServer({ dashboard: DASHBOARD, chronos: { store } })
    await t.chronos.enqueue('mail', {})
    await using visitor = await Visitor.at(t.url)
    await t.api('GET', '/session')
    line.goDown()
    await visitor.page.goto('jobs')
    await visitor.page.getByRole('alert').filter({ hasText: /store/i }).first().waitFor()
    await visitor.screenshot('store-down')
    line.comeUp()
    await expect.poll(() => visitor.page.locator('tbody tr').count()).toBe(1)
    line.close()
  })

  it('hears from the page that it is busy, until the last answer is drawn', async () => {
    await using t = await emptyWorld()
    await t.chronos.enqueue('mail', {})
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/schedules')
    expect(await page.locator('main').getAttribute('aria-busy')).toBe('false')
    const asked = new Promise<Route>(resolve => void page.route('**/api/v1/jobs?*', resolve))
    await page.getByRole('link', { name: 'Jobs', exact: true }).click()
    const answer = await asked
    expect(await page.locator('main').getAttribute('aria-busy')).toBe('true')
    const rows = page.evaluate(rowsWhenComplete)
    await answer.continue()
    expect(await rows).toBe(1)
    expect(visitor.troubles).toEqual([])
  })

  it('opens the list of shortcuts and uses one', async () => {
    await using t = await emptyWorld()
    await using visitor = await Visitor.at(t.url)
    const { page } = visitor
    await visitor.open('/jobs')
    await page.keyboard.press('?')
    await page
      .getByRole('dialog')
      .getByText(/create job/i)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    // Both keys at once: a slow answer to the first must not exceed the time for the second.
    await Promise.all([page.keyboard.press('g'), page.keyboard.press('q')])
    await page.waitForURL(/\/queues$/)
    expect(visitor.troubles).toEqual([])
  })
})
