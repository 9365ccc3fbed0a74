import { describe, expect, it, vi } from 'vitest'
import type { IncidentReport } from '../../../src/core/incident/report.js'
import type { ErrorBreakdown } from '../../../src/engine/dead/breakdown.js'
import type { SeriesPoint, StatsSeries } from '../../../src/engine/figures/series.js'
import { defineJob, fixed } from '../../../src/index.js'
import type { TestServer } from '../../server/server.js'
import { visit } from '../visit.js'
import { emptyWorld } from '../world.js'

/** An error as an installed package throws it. */
function down(): Error {
  const error = new Error('gateway answered 503')
  error.stack = [
    'Error: gateway answered 503',
    '    at charge (/app/src/charge.ts:12:9)',
    '    at Client.request (/app/node_modules/gateway/client.js:40:11)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    '    at run (/app/src/jobs.ts:7:3)',
  ].join('\n')
  return error
}

/** A night in two queues and for two tenants: successes at once and after a retry, and jobs that die. */
async function night({ chronos }: TestServer): Promise<void> {
  const charge = defineJob({
    name: 'charge-card',
    queue: 'payments',
    retry: fixed({ delay: '1ms', maxRetries: 1, jitter: 'none' }),
    run: ({ fate }: { fate: 'ok' | 'late' | 'dead' }, job) => {
      if (fate === 'dead' || (fate === 'late' && job.attempt === 1)) throw down()
    },
  })
  const mail = defineJob({ name: 'mail', queue: 'mail', run: (_to: string) => undefined })
  const fates = ['ok', 'ok', 'ok', 'late', 'late', 'dead', 'dead', 'dead'] as const
  for (const [n, fate] of fates.entries()) {
    await chronos.enqueue(charge, { fate }, n % 2 === 0 ? { tenantId: 'acme' } : { tenantId: 'globex' })
  }
  await chronos.enqueueMany(mail, ['ann', 'bob', 'cid', 'dan'])
  const ended = new Promise<void>(resolve => {
    let left = fates.length + 4
    const end = (): void => {
      left -= 1
      if (left === 0) resolve()
    }
    chronos.on('job.succeeded', end)
    chronos.on('job.dead', end)
  })
  chronos.work([charge, mail], { signals: false, maintenance: false, build: 'v42', queues: ['payments', 'mail'] })
  await ended
  // A worker is known after its first heartbeat.
  await vi.waitUntil(async () => (await chronos.workers()).length > 0, { timeout: 120_000 })
}

const { t, visitor, page } = await visit(async () => {
  const world = await emptyWorld()
  await night(world)
  return world
})
const { fingerprint } = (await t.chronos.dead.groups()).data[0]!

const parameters = (): Readonly<Record<string, string>> => Object.fromEntries(new URL(page.url()).searchParams)
/** A range that does not move while a test runs. */
const RANGE = (() => {
  const end = Math.ceil(Date.now() / 60_000) * 60_000 + 300_000
  const iso = (at: number): string => new Date(at).toISOString()
  return `from=${iso(end - 3_600_000)}&to=${iso(end)}`
})()
const series = async (): Promise<StatsSeries> => (await t.api<StatsSeries>('GET', `/stats/series?${RANGE}`)).body

/** Moves to a bar and to one of its outcomes with the keyboard. */
async function walk(index: number, outcome: string): Promise<void> {
  const chart = page.getByRole('group', { name: /^Job outcomes/ })
  await chart.focus()
  await chart.press('Home')
  for (let step = 0; step < index; step++) await chart.press('ArrowRight')
  for (let step = 0; step < 8; step++) {
    if ((await page.getByRole('tooltip').getByText('▸').allTextContents()).some(text => text.includes(outcome))) return
    await chart.press('ArrowUp')
  }
  throw new Error(`the chart has no outcome ${outcome}`)
}

describe('a bar of a chart', () => {
  it.each<[outcome: string, key: keyof SeriesPoint & ('firstTry' | 'retried' | 'dead')]>([
    ['succeeded at first attempt', 'firstTry'],
    ['succeeded after retries', 'retried'],
    ['dead', 'dead'],
  ])('leads to exactly the jobs that it counts: %s', async (outcome, key) => {
    await visitor.turn(`/?${RANGE}`)
    const { points } = await series()
    const index = points.findIndex(point => point[key] > 0)
    const before = points[index]!
    await walk(index, outcome)
    await page.keyboard.press('Enter')
    await visitor.settled()
    expect(new URL(page.url()).pathname).toBe('/jobs')
    const { from, to, state, retried } = parameters()
    expect(from).toBe(before.at)
    const counted = await t.chronos.jobs.count({
      state: state as 'succeeded',
      ...(retried !== undefined && { retried: retried === 'true' }),
      finishedAfter: from!,
      finishedBefore: to!,
    })
    expect(counted).toEqual({ value: before[key], relation: 'exact' })
    const words = `${before[key]} of ${before[key]} ${before[key] === 1 ? 'job' : 'jobs'}`
    await page.getByRole('navigation', { name: 'Pages' }).getByText(words, { exact: true }).waitFor()
  })
})

describe('the time range', () => {
  it('is one control for every screen, and in the URL', async () => {
    await visitor.turn('/')
    await page.getByRole('button', { name: 'Time range: 1 h' }).click()
    await page.getByRole('menuitemradio', { name: 'Last 6 hours' }).click()
    await visitor.settled()
    expect(parameters()).toEqual({ range: '6h' })
    await page.getByRole('link', { name: 'Jobs', exact: true }).click()
    await visitor.settled()
    expect(parameters()).toEqual({ range: '6h' })
    await page.getByText('12 of 12 jobs').waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Time range: 6 h' }).waitFor()
  })

  it('takes two times, and says what is wrong with them', async () => {
    await visitor.turn('/jobs')
    await page.getByRole('button', { name: 'Time range: All time' }).click()
    await page.getByRole('menuitemradio', { name: 'Custom range …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From').fill('2026-01-02T03:00')
    await dialog.getByLabel('To').fill('2026-01-02T02:00')
    await dialog.getByText('The start must be before the end.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Apply range' }).isDisabled()).toBe(true)
    await dialog.getByLabel('To').fill('2026-01-02T04:00')
    await dialog.getByLabel('To').press('Enter')
    await page.getByText('No matching jobs').waitFor()
    expect(Date.parse(parameters()['to']!) - Date.parse(parameters()['from']!)).toBe(3_600_000)
    await page.getByRole('button', { name: 'Show all time' }).click()
    await page.getByText('12 of 12 jobs').waitFor()
  })

  it('finds jobs by when they failed, also those that have succeeded since', async () => {
    await visitor.turn('/jobs?range=1h')
    await page.getByRole('radio', { name: 'Failed' }).click()
    await page.getByText('5 of 5 jobs').waitFor()
    expect(parameters()['by']).toBe('failed')
  })

  it('is selected by dragging over a chart, or with Shift and the arrow keys', async () => {
    await visitor.turn('/')
    const chart = page.getByRole('group', { name: /^Job outcomes/ })
    const box = (await chart.boundingBox())!
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2)
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2)
    await page.mouse.up()
    await visitor.settled()
    expect(new URL(page.url()).pathname).toBe('/')
    const { from, to } = parameters()
    const minutes = (Date.parse(to!) - Date.parse(from!)) / 60_000
    expect(minutes).toBeGreaterThan(5)
    expect(minutes).toBeLessThan(20)
    await visitor.turn('/')
    await chart.focus()
    await chart.press('Home')
    for (let step = 0; step < 3; step++) await chart.press('Shift+ArrowRight')
    await chart.press('Enter')
    await visitor.settled()
    expect(Date.parse(parameters()['to']!) - Date.parse(parameters()['from']!)).toBe(3 * 60_000)
  })

  it('limits error groups to those that failed in it', async () => {
    await visitor.turn('/dead?range=1h')
    const group = page.getByText('8 failed runs in the time range')
    await group.waitFor()
    await visitor.turn('/dead?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z')
    await page.getByText('No errors in this time range').waitFor()
    expect(await group.count()).toBe(0)
  })
})

describe('the operator who asks what happened', () => {
  it('reads the report, the error and an affected job in at most eight clicks', async () => {
    let clicks = 0
    const click = async (name: string | RegExp, role: 'button' | 'link' | 'menuitem' = 'link'): Promise<void> => {
      await page
        .getByRole(role, { name, exact: typeof name === 'string' })
        .first()
        .click()
      clicks += 1
      await visitor.settled()
    }
    await visitor.turn('/')
    await click('Time range: 1 h', 'button')
    await click(/^Show incident report/, 'menuitem')
    const { body: report } = await t.api<IncidentReport>('GET', '/incident')
    const main = page.getByRole('main')
    for (const line of report.summary) await main.getByText(line, { exact: true }).waitFor()
    expect(report.timeline.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['deploy', 'error']))
    await main.getByRole('listitem').getByText('build v42 was deployed: 1 worker started on 1 host').waitFor()
    await click(/^error "gateway answered/)
    await page.getByRole('heading', { name: /gateway answered/ }).waitFor()
    await click('Show job')
    await page.getByText('charge-card').first().waitFor()
    expect(clicks).toBeLessThanOrEqual(8)
  })

  it('has screens without barriers', async () => {
    for (const path of ['/incident', `/dead/${fingerprint}`, '/jobs?range=1h']) {
      await visitor.turn(path)
      expect(await visitor.barriers()).toEqual([])
      await visitor.screenshot(path.split('/')[1]!.replace(/\W.*/, ''))
    }
  })
})

describe('the page of an error', () => {
  it('breaks its failed runs down, with the numbers of the store', async () => {
    await visitor.turn(`/dead/${fingerprint}`)
    const { body } = await t.api<ErrorBreakdown>('GET', `/dead/groups/${fingerprint}/breakdown`)
    expect(body).toMatchObject({ failures: 8, deaths: 3 })
    for (const [title, shares] of Object.entries({
      Tenants: body.tenants,
      Queues: body.queues,
      'Job names': body.names,
      Builds: body.builds,
    })) {
      const part = page.getByRole('region', { name: title, exact: true })
      const rows = await part.getByRole('listitem').allInnerTexts()
      expect(rows.map(row => row.split('\n').slice(0, 2))).toEqual(
        shares.map(({ value, failures }) => [value, String(failures)]),
      )
    }
    expect(body.builds).toEqual([{ value: 'v42', failures: 8 }])
  })

  it('keeps an assignee and notes', async () => {
    await visitor.turn(`/dead/${fingerprint}`)
    await page.getByRole('button', { name: 'Assign', exact: true }).click()
    await page.getByLabel('Assignee').fill('ann')
    await page.getByLabel('Assignee').press('Enter')
    await page.getByText('Assigned to ann').first().waitFor()
    await page.getByLabel('New note').fill('the gateway is down, see TICKET-7')
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByRole('listitem').getByText('the gateway is down, see TICKET-7').waitFor()
    expect(await t.chronos.dead.group(fingerprint)).toMatchObject({
      assignee: 'ann',
      notes: [{ text: 'the gateway is down, see TICKET-7' }],
    })
  })

  it('compares two attempts, and unfolds the frames of libraries with the keyboard', async () => {
    await visitor.turn(`/dead/${fingerprint}`)
    const [left, right] = [
      page.getByRole('region', { name: 'Left attempt' }),
      page.getByRole('region', { name: 'Right attempt' }),
    ]
    const jobs = await Promise.all(
      [left, right].map(side => side.getByRole('link', { name: 'Show job' }).getAttribute('href')),
    )
    expect(jobs[0]).not.toBe(jobs[1])
    expect(await left.getByRole('img', { name: 'differs' }).count()).toBeGreaterThan(0)
    const fold = left.locator('summary').first()
    expect(await fold.innerText()).toBe('2 library frames')
    await fold.press('Enter')
    expect(await left.locator('details[open] pre').first().isVisible()).toBe(true)
  })

  it('caused no errors in the browser', () => {
    expect(visitor.troubles).toEqual([])
  })
})
