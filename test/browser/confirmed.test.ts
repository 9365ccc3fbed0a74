import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AuditLogEntry } from '../../src/core/audit/entry.js'
import type { ErrorGroupView } from '../../src/engine/dead/dead.js'
import { say } from '../cli/memory-io.js'
import { deadJobs } from '../server/deaths.js'
import { Visitor } from './browser.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

// What an operator confirms is what happens: the count, the scope over tenants, and the entry in the audit log.

const { t, visitor, page } = await visit(() => emptyWorld({ maintenance: false }))

const groupOf = async (message: string): Promise<ErrorGroupView> =>
  (await t.chronos.dead.groups({ limit: 100 })).data.find(({ title }) => title.includes(message))!
const counted = async (filter: Parameters<typeof t.chronos.jobs.count>[0]): Promise<number> =>
  (await t.chronos.jobs.count(filter)).value
/** Without the enqueues and the runs, which the tests make themselves and which are summed up after a second. */
const entries = async (): Promise<readonly AuditLogEntry[]> =>
  (await t.api<{ data: readonly AuditLogEntry[] }>('GET', '/audit?limit=200')).body.data.filter(
    ({ action }) => !/ \/leases| \/jobs$/.test(action),
  )

/** An entry is stored after its change, before the response. */
const latest = async (): Promise<string | undefined> => (await entries())[0]?.summary

/** The items with this text among all that need attention on the Overview, which is loaded anew and drawn when all is known. */
async function attention(text: string): Promise<Locator> {
  await visitor.open('/')
  await page.locator('.attention').waitFor()
  const more = page.getByRole('button', { name: /^\d+ more$/ })
  if ((await more.count()) > 0) await more.click()
  await more.waitFor({ state: 'detached' })
  return page.locator('.attention li', { hasText: text })
}

/** Confirms a dialog, with its number if it asks for one. */
async function confirm(verb: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: `${verb}?` })
  await dialog.waitFor()
  const typed = dialog.getByRole('textbox')
  if ((await typed.count()) > 0) await typed.fill(/\d+/.exec(verb)![0])
  await dialog.getByRole('button', { name: verb, exact: true }).click()
}

describe('a bulk action confirms the number that the server counts, and asks again if more match by then', () => {
  it.each([
    ['Acknowledge', { acknowledged: true }],
    ['Discard', { reason: 'discarded' }],
  ])('%s on an error of all tenants', async (verb, after) => {
    const message = `${verb} this`
    const queue = verb.toLowerCase()
    await deadJobs(t, 2, { queue }, message)
    await deadJobs(t, 3, { queue, tenantId: 'acme' }, message)
    const { fingerprint, title } = await groupOf(message)
    await visitor.turn(`/dead/${fingerprint}`)
    await page.getByRole('button', { name: `Actions for ${title}` }).click()
    await page.getByRole('menuitem', { name: new RegExp(`^${verb}`) }).click()
    await page.getByRole('dialog', { name: `${verb} 5 dead letters?` }).waitFor()
    await deadJobs(t, 1, { queue, tenantId: 'globex' }, message)
    await confirm(`${verb} 5 dead letters`)
    const again = page.getByRole('dialog', { name: `${verb} 6 dead letters?` })
    expect(await again.innerText()).toContain('More match now than you confirmed.')
    expect(await counted({ queue, ...after })).toBe(0)
    await confirm(`${verb} 6 dead letters`)
    await expect.poll(() => counted({ queue, ...after })).toBe(6)
    await expect
      .poll(latest)
      .toBe(`${queue}${verb === 'Discard' ? 'ed' : 'd'} 6 dead letters (error group ${fingerprint})`)
  })

  it('Redrive of an error of all tenants', async () => {
    const queue = 'redriven'
    await deadJobs(t, 2, { queue }, 'redrive this')
    await deadJobs(t, 1, { queue, tenantId: 'acme' }, 'redrive this')
    const { fingerprint } = await groupOf('redrive this')
    await visitor.turn(`/dead/${fingerprint}`)
    await page.getByRole('button', { name: 'Redrive', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Redrive 3 jobs' }).waitFor()
    expect(await dialog.innerText()).toContain(
      'One job runs first. If it succeeds, the other 2 follow at up to 20 per second, which takes at least 100ms.',
    )
    const uncertain = dialog.getByRole('switch').or(dialog.getByRole('checkbox'))
    let answer = (): void => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    await page.route('**/redrives*', async route => {
      await answered
      await route.continue()
    })
    await uncertain.check({ force: true })
    expect(await dialog.innerText()).toContain('A redrive may do it a second time')
    // The number of the other setting can't be confirmed meanwhile.
    expect(await dialog.getByRole('button', { name: 'Redrive', exact: true }).isDisabled()).toBe(true)
    expect(await dialog.innerText()).toContain('Counting the jobs…')
    answer()
    await dialog.getByRole('button', { name: 'Redrive 3 jobs' }).waitFor()
    await page.unroute('**/redrives*')
    await uncertain.uncheck({ force: true })
    await visitor.settled()
    await dialog.getByRole('button', { name: 'Redrive 3 jobs' }).waitFor()
    await deadJobs(t, 1, { queue, tenantId: 'globex' }, 'redrive this')
    await dialog.getByRole('button', { name: 'Redrive 3 jobs' }).click()
    await dialog.getByRole('button', { name: 'Redrive 4 jobs' }).waitFor()
    expect((await t.chronos.redrives.list()).data).toEqual([])
    await dialog.getByRole('button', { name: 'Redrive 4 jobs' }).click()
    await page.waitForURL(/\/redrives\//)
    expect((await t.chronos.redrives.list()).data).toMatchObject([{ total: { value: 4 } }])
    await expect.poll(latest).toContain('4')
  })

  it.each([
    ['Cancel', async () => 5 - (await counted({ queue: 'all-Cancel', state: 'waiting' }))],
    ['Delete', async () => 5 - (await counted({ queue: 'all-Delete' }))],
    ['Retry', async () => counted({ queue: 'all-Retry', phase: 'queued' })],
  ] as const)('%s on all jobs of a filter', async (verb, changed) => {
    const queue = `all-${verb}`
    const add = async (count: number, tenantId: string): Promise<void> => {
      if (verb === 'Retry') await deadJobs(t, count, { queue, tenantId })
      else await t.chronos.enqueueMany('mail', Array(count).fill({}), { queue, tenantId, delay: '1h' })
    }
    await add(3, 'acme')
    await add(1, 'globex')
    await t.chronos.enqueue('mail', {}, { queue: 'others', delay: '1h' })
    await visitor.turn(`/jobs?queue=${queue}`)
    await page.getByText('4 of 4 jobs').waitFor()
    await page.keyboard.press('A')
    const bar = page.getByRole('region', { name: 'Selected jobs' })
    await bar.getByRole('button', { name: verb, exact: true }).click()
    const dialog = page.getByRole('dialog', { name: `${verb} 4 jobs?` })
    expect(await dialog.innerText()).toContain(`queue:${queue}`)
    await add(1, 'acme')
    await confirm(`${verb} 4 jobs`)
    await page.getByRole('dialog', { name: `${verb} 5 jobs?` }).waitFor()
    expect(await changed()).toBe(0)
    await confirm(`${verb} 5 jobs`)
    await expect.poll(changed).toBe(5)
    expect(await counted({ queue: 'others', state: 'waiting' })).toBeGreaterThan(0)
    await expect.poll(latest).toMatch(new RegExp(`5 jobs \\(queue ${queue}\\)$`))
  })

  it('must be typed if there are many, and a plain number is not enough for another one', async () => {
    const queue = 'many'
    await t.chronos.enqueueMany('mail', Array(1_234).fill({}), { queue, delay: '1h' })
    for (const path of ['/queues', `/queues/${queue}`, '/system']) {
      await visitor.turn(path)
      expect(await page.getByRole('main').innerText()).not.toMatch(/\b1234\b/)
    }
    await visitor.turn(`/queues/${queue}`)
    expect(await page.getByRole('link', { name: /^Scheduled/ }).innerText()).toContain('1,234')
    await visitor.turn(`/jobs?queue=${queue}`)
    await page.getByText('50 of 1,234 jobs').waitFor()
    await page.keyboard.press('A')
    await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Cancel' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel 1,234 jobs?' })
    const yes = dialog.getByRole('button', { name: 'Cancel 1,234 jobs', exact: true })
    await dialog.getByRole('textbox').fill('1233')
    expect(await yes.isDisabled()).toBe(true)
    await dialog.getByRole('textbox').fill('1234')
    await dialog.getByRole('textbox').press('Enter')
    await expect.poll(() => counted({ queue, state: 'cancelled' })).toBe(1_234)
    await expect.poll(latest).toBe(`cancelled 1,234 jobs (queue ${queue})`)
  })
})

describe('one error of several tenants', () => {
  const queue = 'shared'
  const message = 'the gateway is gone'
  let fingerprint: string

  beforeAll(async () => {
    await deadJobs(t, 2, { queue }, message)
    await deadJobs(t, 3, { queue, tenantId: 'acme' }, message)
    await deadJobs(t, 4, { queue, tenantId: 'globex' }, message)
    fingerprint = (await groupOf(message)).fingerprint
  })

  it('is one row with the sum on Dead letters, the Overview and the page of its queue', async () => {
    await visitor.turn('/dead')
    const rows = page.locator('.dead-group', { hasText: message })
    expect(await rows.count()).toBe(1)
    expect(await rows.locator('.dead-group-count').innerText()).toBe('9')
    const items = await attention(message)
    expect(await items.count()).toBe(1)
    expect(await items.innerText()).toContain('9 dead jobs')
    await visitor.turn(`/queues/${queue}`)
    const errors = page.locator('.panel', { has: page.getByRole('heading', { name: 'Top errors' }) })
    expect(await errors.getByRole('link').count()).toBe(1)
    expect(await errors.innerText()).toMatch(/the gateway is gone\s+9 dead/)
  })

  it('is on the Overview although larger errors are resolved', async () => {
    for (const name of ['first', 'second', 'third', 'fourth']) {
      await deadJobs(t, 10, { queue }, `${name} of the large errors`)
      await t.chronos.dead.setGroup((await groupOf(`${name} of the large`)).fingerprint, 'resolved')
    }
    expect(await (await attention(message)).count()).toBe(1)
    expect(await (await attention('of the large errors')).count()).toBe(0)
  })

  it('is one group in REST and on the command line', async () => {
    const { body } = await t.api<{ data: readonly ErrorGroupView[] }>('GET', '/dead/groups?limit=100')
    expect(body.data.filter(({ title }) => title === message)).toMatchObject([
      {
        fingerprint,
        dead: 9,
        tenants: expect.arrayContaining([expect.objectContaining({ tenantId: 'acme', dead: 3 })]),
      },
    ])
    const { stdout } = await say(['dead', 'groups', '--url', t.url], { columns: 200 })
    expect(stdout.split('\n').filter(line => line.includes(message))).toEqual([expect.stringMatching(/\b9\b/)])
  })

  it('has its tenants inside', async () => {
    await visitor.turn(`/dead/${fingerprint}`)
    const table = page.getByRole('table', { name: 'Dead letters by tenant' })
    for (const row of [/acme\s+Open\s+3/, /globex\s+Open\s+4/, /No tenant\s+Open\s+2/])
      expect(await table.innerText()).toMatch(row)
  })
})

describe('the audit log', () => {
  it('says what was done, and nothing of a dialog that was closed', async () => {
    await deadJobs(t, 2, { queue: 'looked-at' }, 'only looked at')
    const { fingerprint, title } = await groupOf('only looked at')
    const before = (await entries()).length
    await visitor.turn(`/dead/${fingerprint}`)
    await page.getByRole('button', { name: `Actions for ${title}` }).click()
    await page.getByRole('menuitem', { name: /^Discard/ }).click()
    await page.getByRole('dialog', { name: 'Discard 2 dead letters?' }).getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Redrive', exact: true }).click()
    await page.getByRole('button', { name: 'Redrive 2 jobs' }).waitFor()
    await page.keyboard.press('Escape')
    expect((await entries()).length).toBe(before)

    await visitor.turn('/queues/looked-at')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).first().waitFor()
    await visitor.turn('/alerts')
    await page.getByRole('button', { name: 'Create silence' }).click()
    const silence = page.getByRole('dialog')
    await silence.getByLabel('Rule').selectOption('dead-letters')
    await silence.getByRole('button', { name: 'Create silence' }).click()
    await silence.waitFor({ state: 'detached' })
    await visitor.turn('/audit')
    const actions = await page.getByRole('table', { name: 'Audit log' }).locator('tbody tr').allInnerTexts()
    expect(actions[0]).toContain('silenced alert dead-letters')
    expect(actions[1]).toContain('paused queue looked-at')
    // Its answers to a second question were 409, which the browser reports as errors.
    expect(visitor.troubles.filter(trouble => !trouble.includes('409'))).toEqual([])
  })
})

// Last, because with the first token every request needs one.
it('the token of a tenant sees its own part of an error of several tenants', async () => {
  await deadJobs(t, 2, { queue: 'parts' }, 'parts of an error')
  await deadJobs(t, 3, { queue: 'parts', tenantId: 'acme' }, 'parts of an error')
  const { token } = await t.server.tokens.create({ name: 'acme', role: 'operator', tenantId: 'acme' })
  await using acme = await Visitor.at(t.url)
  await acme.signIn(token)
  await acme.open('/dead')
  const row = acme.page.locator('.dead-group', { hasText: 'parts of an error' })
  expect(await row.locator('.dead-group-count').innerText()).toBe('3')
})
