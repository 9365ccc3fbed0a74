import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { newDependency } from '../../src/core/dependency/dependency.js'
import { ratioText, retryRateText } from '../../src/core/values/number.js'
import { dependencyId } from '../../src/engine/dependencies/answer.js'
import { defineJob, fixed } from '../../src/index.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

// What an operator reads on the screens is compared with the store.

const { t, visitor } = await visit(() =>
  emptyWorld({ chronos: { queues: { calls: { circuit: true } } }, maintenance: false }),
)

describe('blocked jobs', () => {
  it('are counted and found with their reason, and the Overview does not say that nothing is due', async () => {
    const { page } = visitor
    await t.chronos.enqueueMany('export', [1, 2, 3], { queue: 'exports', tenantId: 'acme' })
    await t.chronos.enqueue('export', 4, { queue: 'exports', delay: '1h' })
    await t.chronos.queues.pause('exports')
    const sync = defineJob({ name: 'sync', queue: 'calls', dependsOn: 'api.example', run: () => undefined })
    await t.chronos.enqueue(sync)
    t.chronos.work([sync], { signals: false })
    await expect.poll(async () => (await t.chronos.circuits.list()).data.length).toBe(1)
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

  it('have their dependency above the closed ones, which come in pages and are found by name', async () => {
    const { page } = visitor
    const store = await t.chronos.store()
    await store.putRecords(
      Array.from({ length: 60 }, (_, n) => {
        const dependency = newDependency({ key: `host-${n}`, ...(n < 30 && { tenantId: 'acme' }) }, {}, 0)
        return { kind: 'dependency', id: dependencyId(dependency), body: JSON.stringify(dependency) }
      }),
    )
    await visitor.open('/dependencies')
    const cards = page.locator('.target-card h2')
    const rows = page.getByRole('table', { name: 'Dependencies with a closed circuit' }).locator('tbody tr')
    expect(await cards.allInnerTexts()).toEqual([expect.stringContaining('api.example')])
    expect(await rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => rows.count()).toBe(10)
    await page.getByRole('searchbox', { name: 'Find a dependency' }).fill('HOST-59')
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringContaining('host-59')])
    expect(await cards.count()).toBe(0)
    expect(visitor.troubles).toEqual([])
  })

  it('have a dependency that says once how long its circuit has its state', async () => {
    const store = await t.chronos.store()
    const { now } = await store.info()
    const probe = { jobId: 'j', workerId: 'w', until: now + 3_600_000 }
    const open = { circuit: 'open', changedAt: now - 90_000, openUntil: now - 1, openings: 1, probe } as const
    const dependency = { ...newDependency({ key: 'probed' }, {}, 0), ...open }
    await store.putRecords([{ kind: 'dependency', id: dependencyId(dependency), body: JSON.stringify(dependency) }])
    await visitor.open('/dependencies')
    const card = visitor.page.locator('.target-card', { hasText: 'probed' })
    expect((await card.textContent())!.match(/\bfor \d\w*/gi)).toEqual(['For 1m'])
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
    // The slots of a worker are those of all its queues, so the page of one queue does not count them as its own.
    await visitor.open('/queues/thrice')
    expect(await page.locator('.tiles').innerText()).not.toMatch(/slot/)
    expect(visitor.troubles).toEqual([])
  })
})

describe('redrives', () => {
  it('start with a tenth of the jobs, are one line in the list, and name their error', async () => {
    const { page } = visitor
    const [group] = (await t.chronos.dead.groups({ limit: 5 })).data.filter(({ dead }) => dead === 4)
    await visitor.open(`/dead/${group!.fingerprint}`)
    await page.getByRole('button', { name: 'Redrive' }).first().click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByLabel('Canary').inputValue()).toBe('1')
    await dialog.getByLabel('Canary').press('Enter')
    await page.waitForURL(/\/redrives\//)
    const error = page.locator('.panel', { has: page.getByRole('heading', { name: 'Error', exact: true }) })
    await error.getByRole('link', { name: group!.title }).waitFor()
    const head = await page.locator('.page-head').innerText()
    expect(head).toContain(group!.title)
    expect(head).not.toContain(group!.fingerprint)
    await expect.poll(() => error.innerText()).toMatch(/Died of the same error\s+\d+/)
    await visitor.open('/redrives')
    const row = page.getByRole('table', { name: 'Redrives' }).locator('tbody tr').first()
    expect((await row.boundingBox())!.height).toBeLessThan(60)
    expect(visitor.troubles).toEqual([])
  })
})

describe('the keyboard', () => {
  it('moves through error groups and submits a dialog with Enter', async () => {
    const { page } = visitor
    await visitor.open('/dead')
    const titles = await page.locator('.dead-group-title').allInnerTexts()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(titles[Math.min(1, titles.length - 1)])
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/dead\/./)
    await visitor.open('/queues/exports')
    await page.getByRole('button', { name: 'Resume' }).first().waitFor()
  })

  it('gets the error of a bad date once, and the date is not sent again', async () => {
    const { page } = visitor
    let refused = 0
    page.on('response', response => {
      if (response.status() === 422) refused++
    })
    await visitor.open('/jobs?after=yesterday')
    await t.chronos.enqueue('another', null, { delay: '1h' })
    await visitor.settled()
    expect(refused).toBe(1)
    visitor.troubles.length = 0
  })
})

describe('a worker', () => {
  it('shows what it runs with its progress, and is drained after a confirmation', async () => {
    const { page } = visitor
    let finish = (): void => undefined
    const began = new Promise<void>(resolve => {
      const slow = defineJob({
        name: 'render',
        queue: 'render',
        run: (_payload: unknown, job) => {
          job.progress({ frames: 41 })
          resolve()
          return new Promise<void>(end => {
            finish = end
          })
        },
      })
      t.chronos.work([slow], { signals: false, build: 'v9', concurrency: 3 })
      void t.chronos.enqueue(slow, {})
    })
    await began
    const own = async () => (await t.chronos.workers()).find(({ build }) => build === 'v9')
    await expect.poll(own, { timeout: 60_000 }).toMatchObject({ running: 1 })
    await expect
      .poll(async () => (await t.chronos.fleet.get((await own())!.id)).jobs)
      .toMatchObject([{ name: 'render' }])
    await visitor.open(`/workers/${(await own())!.id}`)
    const row = page.getByRole('table', { name: 'Running jobs' }).locator('tbody tr')
    await expect.poll(() => row.allInnerTexts()).toEqual([expect.stringMatching(/render[\s\S]*Initial[\s\S]*41/)])
    expect([await fact(page, 'Build'), await fact(page, 'Slots')]).toEqual(['v9', '1 of 3 busy'])
    expect(await visitor.barriers()).toEqual([])
    await visitor.screenshot('worker')
    await page.getByRole('button', { name: 'Drain worker' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.innerText()).toContain('1 job may end first')
    await dialog.getByRole('button', { name: 'Drain worker' }).click()
    await expect.poll(async () => (await own())?.draining).toBe(true)
    await expect.poll(() => page.locator('.page-head .badge').innerText()).toBe('Draining')
    finish()
    expect(visitor.troubles).toEqual([])
  })
})

/** The value of a term on the page of a job. */
async function fact(page: Page, name: string): Promise<string> {
  const term = page.locator('dt', { hasText: new RegExp(`^${name}$`) })
  return term.locator('xpath=following-sibling::dd[1]').innerText()
}

it('counts the queues once for all panels of the Overview', async () => {
  const { page } = visitor
  const asked: string[] = []
  page.on('request', request => asked.push(new URL(request.url()).pathname.replace(/^\/api\/v1/, '')))
  await visitor.open('/')
  expect(asked).toContain('/stats')
  expect(asked.filter(path => path === '/queues')).toHaveLength(1)
})
