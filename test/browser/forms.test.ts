import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { jobQuery, TIME_FIELDS } from '../../src/core/job/filter.js'
import { jobTokens } from '../../src/dashboard/data/filter.js'
import { defineJob } from '../../src/index.js'
import { loadDriver } from '../../src/store/sqlite/file/driver.js'
import { deadJobs } from '../server/deaths.js'
import { startTracing } from '../support/opentelemetry.js'
import { temporaryFolder } from '../support/process.js'
import { startReceiver } from '../support/receiver.js'
import { Visitor } from './browser.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

// Webhook deliveries, searches, the keyboard, forms and the words of buttons.

const traced = startTracing()
afterAll(() => traced[Symbol.dispose]())
const { t, visitor, page } = await visit(() =>
  emptyWorld({
    traceUrl: 'https://tempo.example/trace/{traceId}',
    chronos: { egress: { allow: ['loopback'] }, tracing: traced.api },
  }),
)

const cells = async (label: string, row = 0): Promise<Readonly<Record<string, string>>> => {
  const table = page.getByRole('table', { name: label, exact: true })
  const titles = await table.locator('thead th').allInnerTexts()
  const texts = await table.locator('tbody tr').nth(row).locator('td').allInnerTexts()
  return Object.fromEntries(titles.map((title, i) => [title.trim(), texts[i]!.trim()]))
}
const fact = (name: string) =>
  page.locator('dt', { hasText: new RegExp(`^${name}$`) }).locator('xpath=following-sibling::dd[1]')

/**
 * More jobs than one search looks through, written directly, because only their number matters. Their ids come after
 * that of the job before them, so that they are newer. The text that is looked for contains a `K`, which no id contains:
 * a text of hexadecimal digits is found in one of so many random ids once in three runs.
 */
const NOISE = `
  WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 100100)
  INSERT INTO jobs (id, name, queue, priority, state, run_at, created_at, payload)
  SELECT CAST(x'ff' || randomblob(15) AS BLOB), 'noise', queue, priority, state, run_at, created_at, 'null'
  FROM counted, jobs`

describe('webhook deliveries', () => {
  it('show event, job, response, duration and time, with one word for their state everywhere', async () => {
    await using receiver = await startReceiver((request, response) => {
      response.statusCode = request.url === '/broken' ? 410 : request.url === '/down' ? 503 : 204
      response.end()
    })
    const events = ['job.succeeded'] as const
    const [good, bad, down] = await Promise.all(
      ['/fine', '/broken', '/down'].map(path => t.chronos.webhooks.create({ url: receiver.origin + path, events })),
    )
    const mail = defineJob({ name: 'mail', queue: 'mail', run: () => 'sent' })
    t.chronos.work([mail], { signals: false })
    const job = await t.chronos.enqueue(mail)
    const ended = async (): Promise<number> =>
      (await t.chronos.jobs.count({ queue: 'chronos:deliveries', state: ['succeeded', 'dead'] })).value
    await expect.poll(ended, { timeout: 60_000 }).toBe(2)
    const failing = async (): Promise<boolean> => (await t.chronos.webhooks.get(down!.id)).failingSince !== undefined
    await expect.poll(failing, { timeout: 60_000 }).toBe(true)

    await visitor.turn(`/webhooks/${good!.id}`)
    expect(await cells('Deliveries')).toMatchObject({
      State: 'Delivered',
      Event: 'job.succeeded',
      Job: expect.stringMatching(/^mail …/),
      Response: '204',
      Duration: expect.stringMatching(/^[\d.]+m?s$/),
      Attempts: '1 of 4',
      Time: expect.stringMatching(/ago|now/),
    })
    await visitor.turn(`/webhooks/${bad!.id}`)
    const failed = await cells('Deliveries')
    expect([failed['State']!.split('\n')[0], failed['Response']]).toEqual(['Failed', '410'])

    await visitor.turn(`/webhooks/${down!.id}`)
    expect(await cells('Deliveries')).toMatchObject({
      State: 'Retrying',
      Response: '503',
      Duration: expect.stringMatching(/^[\d.]+m?s$/),
    })
    expect(await page.locator('.page-head .badge').innerText()).toMatch(/^Failing for (under )?\d/)
    await visitor.turn('/webhooks')
    const states = await page.locator('.webhook-state').allInnerTexts()
    expect(states.map(text => text.split(/\s/)[0]).sort()).toEqual(['Disabled', 'Enabled', 'Failing'])
    await visitor.turn(`/webhooks/${bad!.id}`)

    // From the delivery to its job, from there to all its deliveries, and back.
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('link', { name: /^mail/ }).click()
    await page.waitForURL(new RegExp(job.id))
    await page.getByRole('link', { name: 'Show deliveries' }).click()
    await visitor.settled()
    const words = await page.getByRole('table', { name: 'Jobs' }).locator('tbody .state').allInnerTexts()
    expect(words.map(text => text.split('\n')[0]).sort()).toEqual(['Delivered', 'Failed', 'Retrying'])
    await page
      .getByRole('table', { name: 'Jobs' })
      .locator('tbody tr', { hasText: 'Failed' })
      .locator('a')
      .first()
      .click()
    await page.waitForURL(url => !url.pathname.includes(job.id) && url.pathname.startsWith('/jobs/'))
    expect(await page.locator('.page-head .state').innerText()).toMatch(/^Failed/)
    expect(await fact('Endpoint').getByRole('link').getAttribute('href')).toContain(bad!.id)
    await fact('Reports').getByRole('link', { name: /^mail/ }).click()
    await page.waitForURL(new RegExp(job.id))
    expect(visitor.troubles).toEqual([])
  })
})

describe('a traced attempt', () => {
  it('leads to its trace, on the page of its job and on that of its error', async () => {
    const broken = defineJob({
      name: 'broken',
      queue: 'traced',
      retry: 'none',
      run: () => Promise.reject(new Error('a traced error')),
    })
    const died = new Promise<void>(resolve => t.chronos.on('job.dead', ({ job }) => job.name === 'broken' && resolve()))
    t.chronos.work([broken], { signals: false })
    const { id } = await t.chronos.enqueue(broken)
    await died
    const [span] = traced.spans('process traced')
    const trace = span!.spanContext().traceId
    await visitor.turn(`/jobs/${id}`)
    const link = page.getByRole('main').getByRole('link', { name: `…${trace.slice(-8)}` })
    expect(await link.getAttribute('href')).toBe(`https://tempo.example/trace/${trace}`)
    await visitor.turn(`/dead/${(await t.chronos.jobs.get(id))!.fingerprint}`)
    expect(await link.getAttribute('href')).toBe(`https://tempo.example/trace/${trace}`)
  })
})

describe('a search', () => {
  it('says how far it looked, and goes on with older jobs until it finds the text', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'chronos.db')
    await using many = await emptyWorld({ maintenance: false, chronos: { store: `sqlite:${file}` } })
    const { id } = await many.chronos.enqueue('invoice', { note: 'order K-4711 for Ann' }, { delay: '1h' })
    const database = (await loadDriver()).open(file)
    database.exec(NOISE)
    database.close()
    await using reader = await Visitor.at(many.url)
    const { page } = reader
    await reader.open('/jobs?q=K-4711')
    // A slow machine looks through fewer jobs at a time, but never through more than 100,000.
    const title = page.getByRole('heading', { name: /^Not in the newest [\d,]+ jobs$/ })
    const looked = Number(/[\d,]+/.exec(await title.innerText())![0].replaceAll(',', ''))
    expect(looked).toBeGreaterThan(0)
    expect(looked).toBeLessThanOrEqual(100_000)
    const found = page.locator('.jobs-snippet mark')
    while ((await found.count()) === 0) {
      await page.getByRole('button', { name: 'Search older jobs' }).click()
      await reader.settled()
    }
    expect(await found.allInnerTexts()).toEqual(['K-4711'])
    expect(await page.locator('.jobs-snippet').innerText()).toContain('order K-4711 for Ann')
    expect(await page.getByRole('table', { name: 'Jobs' }).locator('tbody a').first().getAttribute('href')).toContain(
      id,
    )
    expect(reader.troubles).toEqual([])
  })
})

describe('the keyboard', () => {
  it('moves through dead letters with j and k, and Enter opens one', async () => {
    await deadJobs(t, 3, { queue: 'keys' })
    await visitor.turn('/dead?view=jobs&queue=keys')
    const rows = page.getByRole('table', { name: 'Dead letters' }).locator('tbody tr')
    await rows.nth(2).waitFor()
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key)
    expect(await rows.nth(1).getAttribute('class')).toContain('focused')
    const href = await rows.nth(1).locator('a').first().getAttribute('href')
    await page.keyboard.press('Enter')
    await page.waitForURL(url => url.pathname === href)
  })

  it('submits dialogs with Enter', async () => {
    await visitor.turn('/alerts')
    await page.getByRole('button', { name: 'Create silence' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Comment').fill('known')
    await dialog.getByLabel('Comment').press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(async () => (await t.chronos.alerts.silences()).data.length).toBe(1)
    const { id } = await t.chronos.enqueue('mail', {}, { queue: 'enter', delay: '1h' })
    await visitor.turn(`/jobs/${id}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: /^Cancel/ }).click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await t.chronos.jobs.get(id))?.state).toBe('cancelled')
  })

  it('never puts the focus under the bar at the top', async () => {
    await t.chronos.enqueueMany('long', Array(60).fill({}), { queue: 'long', delay: '1h' })
    await visitor.turn('/jobs?queue=long')
    await page.getByRole('table', { name: 'Jobs' }).locator('tbody tr').nth(40).waitFor()
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
    await page.getByRole('button', { name: 'Next' }).focus()
    const hidden: string[] = []
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press('Shift+Tab')
      const found = await page.evaluate(() => {
        const at = document.activeElement!.getBoundingClientRect()
        const bar = document.querySelector('header.bar, .bar')!
        const isInBar = bar.contains(document.activeElement)
        return isInBar || at.top >= bar.getBoundingClientRect().bottom - 1 ? '' : document.activeElement!.outerHTML
      })
      if (found !== '') hidden.push(found)
    }
    expect(hidden).toEqual([])
  })
})

describe('forms', () => {
  it('suggest every filter that a list of jobs takes', async () => {
    const names: Readonly<Record<string, string>> = {
      phase: 'state',
      tenantId: 'tenant',
      redriveId: 'redrive',
      scheduleId: 'schedule',
      workerId: 'worker',
    }
    // Ids are for programs, text is typed as it is, and times have a control of their own beside `after` and `before`.
    const others = ['ids', 'state', 'q', ...TIME_FIELDS]
    const known = Object.keys(jobQuery.fields).filter(name => !others.includes(name))
    const expected = [...known.map(name => names[name] ?? name), 'after', 'before']
    expect(
      jobTokens()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(expected.sort())
    await visitor.turn('/jobs')
    await page.getByRole('combobox', { name: 'Filter jobs' }).click()
    const offered = (await page.getByRole('option').allInnerTexts()).map(text => text.split(/[:\n]/)[0]!.trim())
    expect(offered.sort()).toEqual(expected.sort())
    await page.keyboard.press('Escape')
  })

  it('have their submit button at the end, and a disabled button says why', async () => {
    await visitor.turn('/schedules/new')
    const submit = page.getByRole('button', { name: 'Create schedule' })
    expect(await submit.isDisabled()).toBe(true)
    await page.getByText('Some fields are missing or wrong.').waitFor()
    const isLast = await submit.evaluate(button => {
      const fields = [...button.closest('form')!.querySelectorAll('input, select, textarea')]
      return fields.every(field => (field.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0)
    })
    expect(isLast).toBe(true)
    await page.getByLabel('Id', { exact: true }).fill('nightly')
    await page.getByLabel('Cron', { exact: true }).fill('0 2 * * *')
    await page.getByRole('radio', { name: 'Run a named job' }).check()
    await page.getByLabel('Name', { exact: true }).fill('report')
    await expect.poll(() => submit.isEnabled()).toBe(true)
    await page.getByLabel('Name', { exact: true }).press('Enter')
    await page.waitForURL(/\/schedules\/nightly$/)

    const [dead] = await deadJobs(t, 1, { queue: 'none-left' }, 'nothing left to redrive')
    const { fingerprint } = (await t.chronos.jobs.get(dead!))!
    await t.chronos.jobs.retry(dead!)
    await visitor.turn(`/dead/${fingerprint}`)
    const redrive = page.getByRole('button', { name: 'Redrive', exact: true })
    await expect.poll(() => redrive.getAttribute('aria-description')).toBe('The group has no dead letters now')
    await redrive.hover()
    await page.getByRole('tooltip').getByText('The group has no dead letters now').waitFor()
    await redrive.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('name what each button copies', async () => {
    const [dead] = await deadJobs(t, 1, { queue: 'copied', payload: { order: 7 } }, 'copied error')
    const { fingerprint } = (await t.chronos.jobs.get(dead!))!
    const names: string[] = []
    for (const path of [`/jobs/${dead}`, `/dead/${fingerprint}`, '/schedules/nightly', '/jobs']) {
      await visitor.turn(path)
      const named = await page
        .getByRole('button', { name: /copy/i })
        .evaluateAll(all => all.map(each => each.getAttribute('aria-label') ?? each.textContent ?? ''))
      names.push(...named.map(name => name.trim()))
    }
    expect(names.length).toBeGreaterThan(6)
    expect(names.filter(name => /^copy$/i.test(name) || / copied /.test(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(['Copy timeline', 'Copy payload', `Copy fingerprint ${fingerprint}`]))
  })
})
