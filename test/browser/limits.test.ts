import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { defineJob, PermanentError } from '../../src/index.js'
import type { TestServer } from '../server/server.js'
import { DARK_PHONE, LIGHT_WIDE, Visitor } from './browser.js'
import { emptyWorld } from './world.js'

const CODE = {
  limit: { concurrency: 4_000 },
  partitions: { concurrency: 2, override: { 'acct:7': { concurrency: 3 } } },
} as const

let t: TestServer
let dead: string
let blocked: string
let release: () => void

beforeAll(async () => {
  t = await emptyWorld({
    asAdmin: true,
    maintenance: false,
    chronos: {
      queues: {
        crm: CODE,
        many: { partitions: { concurrency: 1 } },
        later: { partitions: { concurrency: 10 } },
        feed: { partitions: { order: 'fifo', onDead: 'stop' } },
        ai: {
          limit: { rate: '2/h', burst: 2 },
          partitions: { rate: '1/h', burst: 1, units: { tokens: '90000/m' }, learn: true },
        },
      },
    },
  })
  const { chronos } = t
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const sync = defineJob({ name: 'sync', queue: 'crm', run: () => released })
  const feed = defineJob({
    name: 'import',
    queue: 'feed',
    run: () => {
      throw new PermanentError('row 3 is broken')
    },
  })
  const ask = defineJob({
    name: 'ask',
    queue: 'ai',
    units: { tokens: 1_200 },
    run: (model: string) => {
      if (model === 'busy') throw Object.assign(new Error('too many requests'), { status: 429 })
      return 'done'
    },
  })
  await chronos.enqueueMany(sync, [1, 2, 3, 4, 5], { partition: 'acct:1' })
  await chronos.enqueueMany(sync, [1, 2, 3, 4, 5], { partition: 'acct:7' })
  await chronos.enqueueMany(sync, [1, 2, 3], { tenantId: 'globex' })
  await chronos.enqueue(sync, 1)
  dead = (await chronos.enqueue(feed, 1, { partition: 'shop-a' })).id
  blocked = (await chronos.enqueue(feed, 2, { partition: 'shop-a' })).id
  await chronos.enqueueMany(ask, ['gpt', 'gpt', 'gpt'], { partition: 'gpt' })
  await chronos.enqueue(ask, 'busy', { partition: 'busy' })
  await chronos.enqueue('mail', null, { queue: 'mail' })
  await chronos.enqueue('later', null, { queue: 'later', partition: 'a', delay: '1h' })
  const wait = defineJob({ name: 'wait', queue: 'many', run: () => undefined })
  await chronos.enqueueMany(wait, Array(1_001).fill(null), { partition: 'p10' })
  for (let i = 11; i < 40; i++) await chronos.enqueue(wait, null, { partition: `p${i}` })
  chronos.work([sync, feed, ask], { concurrency: 50, signals: false, maintenance: false })
  // Every partition has what it may have, and the others wait.
  await vi.waitUntil(
    async () => {
      const [crm, shops, models] = await Promise.all(['crm', 'feed', 'ai'].map(name => chronos.queues.partitions(name)))
      const running = crm!.data.reduce((sum, { running: own }) => sum + own, 0)
      return (
        running === 8 &&
        shops!.data[0]?.stoppedBy === dead &&
        models!.data[1]?.blockedBy === 'rate' &&
        models!.data[0]?.learnedRate
      )
    },
    { timeout: 120_000 },
  )
})

afterAll(async () => {
  release?.()
  await t?.[Symbol.asyncDispose]()
})

const admin = async (look = LIGHT_WIDE): Promise<Visitor> => {
  const visitor = await Visitor.at(t.url, look)
  const { token } = await t.server.tokens.create({ name: 'admin', role: 'admin' })
  await visitor.signIn(token)
  return visitor
}

const panelOf = ({ page }: Visitor, title: string): Locator =>
  page.locator('.panel', { has: page.getByRole('heading', { name: title, exact: true }) })

const limitsOf = async (name: string) => (await t.chronos.queues.get(name)).limits

describe('the limits of a queue', () => {
  it('call no partition full whose jobs wait for their own time', async () => {
    await using visitor = await admin()
    await visitor.open('/queues/later')
    const row = await visitor.page.getByRole('table', { name: 'Partitions' }).locator('tbody tr').innerText()
    expect(row.replaceAll(/\s+/g, ' ')).toMatch(/^a 0 of 10 1 – Open, next job in \d/)
  })

  it.each([LIGHT_WIDE, DARK_PHONE])('show the numbers of the store, $theme at $width', async look => {
    await using visitor = await admin(look)
    const { page } = visitor
    const check = async (name: string): Promise<void> => {
      await visitor.screenshot(`limits-${name}`)
      expect(await visitor.barriers()).toEqual([])
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect(overflow, 'wider than the window').toBeLessThanOrEqual(0)
    }
    await visitor.open('/queues/crm')
    const limits = await panelOf(visitor, 'Limits').innerText()
    expect(limits).toContain('declared in the code')
    expect(limits).toContain('8 of 4,000')
    expect(limits).toContain('at most 2 jobs at a time; 1 with a limit of its own')
    const rows = page.getByRole('table', { name: 'Partitions' }).locator('tbody tr')
    const shown = (await rows.allInnerTexts()).map(text => text.replaceAll(/\s+/g, ' ').trim())
    const { data } = await t.chronos.queues.partitions('crm')
    expect(data.map(({ name, running, waiting }) => [name, running, waiting.value])).toEqual([
      ['', 1, 0],
      ['acct:1', 2, 3],
      ['acct:7', 3, 2],
      ['globex', 2, 1],
    ])
    expect(shown).toHaveLength(data.length)
    for (const [i, { name, running, waiting, limit, blockedBy }] of data.entries()) {
      expect(shown[i]).toContain(name === '' ? '(none)' : name)
      expect(shown[i]).toContain(`${running} of ${limit!.concurrency}`)
      expect(shown[i]).toMatch(new RegExp(` ${waiting.value} `))
      expect(shown[i]).toContain(blockedBy === 'limit' ? 'Full' : 'Open')
    }
    await check('crm')
    await visitor.open('/queues/ai')
    const [busy, gpt] = await rows.allInnerTexts()
    expect(busy).toMatch(/busy[\s\S]*0\.\d+\/h/)
    expect(gpt).toContain('1/h, 90,000/m tokens')
    expect(gpt).toMatch(/Rate limited\s+next start in (\d+m|1h)/)
    expect(await panelOf(visitor, 'Limits').innerText()).toMatch(/2\/h \(2 at once\)[\s\S]*Next start\s+in \d+m/)
    await check('ai')
    await visitor.open('/queues/feed?partitions=stopped')
    await check('feed')
    expect(visitor.troubles).toEqual([])
  })

  it('lead from a stopped partition to its dead letter', async () => {
    await using visitor = await admin()
    const { page } = visitor
    await visitor.open('/queues/feed')
    await page.getByRole('radio', { name: 'Stopped' }).check()
    await visitor.settled()
    expect(page.url()).toContain('partitions=stopped')
    const rows = page.getByRole('table', { name: 'Partitions' }).locator('tbody tr')
    expect(await rows.allInnerTexts()).toEqual([expect.stringMatching(/shop-a[\s\S]*Stopped/)])
    await rows.getByRole('link', { name: /by dead letter/ }).click()
    await page.waitForURL(`**/jobs/${dead}`)
    await visitor.settled()
    expect(await panelOf(visitor, 'Details').innerText()).toMatch(/Partition\s+shop-a/)
    await visitor.open(`/jobs/${blocked}`)
    expect(await panelOf(visitor, 'Explanation').innerText()).toContain(`is stopped by dead letter ${dead}`)
    await visitor.open('/queues/crm?partitions=stopped')
    expect(await page.locator('main').innerText()).toContain('No dead letter stops a partition.')
    const { data } = await t.chronos.jobs.list({ name: 'ask' })
    await visitor.open(`/jobs/${data[0]!.id}`)
    expect(await panelOf(visitor, 'Details').innerText()).toMatch(/Units\s+1,200 tokens/)
    expect(visitor.troubles).toEqual([])
  })

  it('list partitions in pages, with at-least counts', async () => {
    await using visitor = await admin()
    const { page } = visitor
    const rows = page.getByRole('table', { name: 'Partitions' }).locator('tbody tr')
    await visitor.open('/queues/many')
    expect(await rows.count()).toBe(25)
    expect(await rows.first().innerText()).toMatch(/p10[\s\S]*1,000\+/)
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => rows.count(), { timeout: 120_000 }).toBe(5)
    expect(await rows.first().innerText()).toContain('p35')
    await page.getByRole('button', { name: 'First page' }).click()
    await expect.poll(() => rows.count(), { timeout: 120_000 }).toBe(25)
    expect(visitor.troubles).toEqual([])
  })

  it('are changed after a confirmation, and reset to those of the code', async () => {
    await using visitor = await admin()
    const { page } = visitor
    await visitor.open('/queues/crm')
    await page.getByRole('button', { name: 'Change limits' }).click()
    const editor = page.getByRole('dialog', { name: 'Limits of crm' })
    const save = editor.getByRole('button', { name: 'Set limits' })
    expect(await save.isDisabled()).toBe(true)
    const partition = editor.getByRole('group', { name: 'Each partition' })
    expect(await partition.getByLabel('Concurrency').inputValue()).toBe('2')
    await partition.getByLabel('Burst').fill('5')
    const field = partition.locator('.field.wrong')
    expect(await field.innerText()).toMatch(/Burst[\s\S]*Burst needs a rate/)
    await partition.getByLabel('Burst').fill('')
    await partition.getByLabel('Single partitions (JSON)').fill('{"acct:7":')
    expect(await field.innerText()).toMatch(/Single partitions[\s\S]*Expected JSON/)
    expect(await save.isDisabled()).toBe(true)
    await partition.getByLabel('Single partitions (JSON)').fill('')
    await partition.getByLabel('Concurrency').fill('5')
    await partition.getByLabel('Rate', { exact: true }).fill('9000/m')
    await visitor.screenshot('limits-editor')
    expect(await visitor.barriers()).toEqual([])
    await save.click()
    const confirm = page.getByRole('dialog', { name: 'Set the limits of crm?' })
    expect(await confirm.innerText()).toContain(
      'Each partition: at most 5 jobs at a time, 9,000/m (until now: at most 2 jobs at a time; 1 with a limit of its own).',
    )
    expect(await confirm.innerText()).not.toContain('The queue:')
    expect(await limitsOf('crm')).toEqual({ ...CODE, from: 'code' })
    await confirm.getByRole('button', { name: 'Set limits' }).click()
    await editor.waitFor({ state: 'hidden' })
    const partitions = { concurrency: 5, rate: '9000/m' }
    expect(await limitsOf('crm')).toEqual({ limit: CODE.limit, partitions, from: 'operator', code: CODE })
    const panel = panelOf(visitor, 'Limits')
    await expect.poll(() => panel.innerText(), { timeout: 120_000 }).toContain('set by an operator')
    await page.getByRole('button', { name: 'Reset to the code' }).click()
    const reset = page.getByRole('dialog')
    expect(await reset.innerText()).toContain(
      'queue: at most 4,000 jobs at a time; each partition: at most 2 jobs at a time; 1 with a limit of its own',
    )
    await reset.getByRole('button', { name: 'Reset limits' }).click()
    await expect.poll(() => limitsOf('crm'), { timeout: 120_000 }).toEqual({ ...CODE, from: 'code' })
    await expect.poll(() => panel.innerText(), { timeout: 120_000 }).toContain('declared in the code')
    expect(visitor.troubles).toEqual([])
  })

  it('show an error of the server at its field', async () => {
    await using visitor = await admin()
    const { page } = visitor
    await visitor.open('/queues/mail')
    expect(await panelOf(visitor, 'Limits').innerText()).toContain('No limits: its jobs start as soon as')
    await visitor.screenshot('limits-none')
    await page.getByRole('button', { name: 'Set limits' }).click()
    const editor = page.getByRole('dialog', { name: 'Limits of mail' })
    await editor.getByRole('group', { name: 'Whole queue' }).getByLabel('Rate').fill('20/s')
    // An older or stricter server refuses what the page allows.
    await page.route('**/api/v1/queues/mail', async route => {
      if (route.request().method() !== 'PUT') return route.continue()
      const errors = [{ pointer: '/limit/rate', detail: 'expected a rate below 10/s' }]
      const problem = { title: 'Invalid', code: 'INVALID_OPTION', detail: 'limit.rate: too high', errors }
      return route.fulfill({ status: 422, contentType: 'application/problem+json', body: JSON.stringify(problem) })
    })
    await editor.getByRole('button', { name: 'Set limits' }).click()
    await page
      .getByRole('dialog', { name: 'Set the limits of mail?' })
      .getByRole('button', { name: 'Set limits' })
      .click()
    const field = editor.locator('.field.wrong')
    await field.waitFor()
    expect(await field.innerText()).toMatch(/Rate[\s\S]*Expected a rate below 10\/s/)
    await editor.getByRole('group', { name: 'Whole queue' }).getByLabel('Rate').fill('5/s')
    expect(await field.count()).toBe(0)
    expect(await limitsOf('mail')).toBeUndefined()
  })

  it('can be seen but not changed with a viewer token', async () => {
    await using visitor = await Visitor.at(t.url)
    const { token } = await t.server.tokens.create({ name: 'night watch', role: 'viewer' })
    await visitor.signIn(token)
    for (const [path, text] of [
      ['/queues/crm', ' of 4,000'],
      ['/queues/mail', 'Guide to limits'],
    ] as const) {
      await visitor.open(path)
      const panel = panelOf(visitor, 'Limits')
      expect(await panel.innerText()).toContain(text)
      expect(await panel.getByRole('button').count()).toBe(0)
    }
    expect(visitor.troubles).toEqual([])
  })
})
