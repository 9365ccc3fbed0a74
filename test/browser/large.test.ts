import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { Count } from '../../src/core/values/count.js'
import { countText } from '../../src/core/values/number.js'
import { defineJob, fixed } from '../../src/index.js'
import { loadDriver } from '../../src/store/sqlite/file/driver.js'
import { temporaryFolder } from '../support/process.js'
import { visit } from './visit.js'
import { emptyWorld } from './world.js'

// Many jobs: numbers are exact as far as they are counted, and say so where counting stopped.

const QUEUES = 11
const EACH = 5_000

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const file = join(folder.path, 'chronos.db')

const { t, visitor, page } = await visit(() => emptyWorld({ maintenance: false, chronos: { store: `sqlite:${file}` } }))

const rows = async (label: string): Promise<readonly Readonly<Record<string, string>>[]> => {
  const table = page.getByRole('table', { name: label, exact: true })
  const titles = await table.locator('thead th').allInnerTexts()
  const lines = await table.locator('tbody tr').all()
  const texts = await Promise.all(lines.map(line => line.locator('td').allInnerTexts()))
  return texts.map(cells => Object.fromEntries(titles.map((title, i) => [title.trim(), cells[i]!.trim()])))
}

it('counts the jobs of each queue and phase behind thousands of others', async () => {
  for (let n = 0; n < QUEUES; n++) {
    await t.chronos.enqueueMany('later', Array(EACH).fill(null), {
      queue: `queue-${n}`,
      delay: '1d',
      ...(n % 2 === 0 && { tenantId: 'acme' }),
    })
  }
  await visitor.open('/queues')
  const shown = await rows('Queues')
  expect(shown).toHaveLength(QUEUES)
  for (const row of shown) {
    expect(row).toMatchObject({ Scheduled: '5,000', Queued: '0', Retrying: '0', Blocked: '0' })
  }
})

it('has one time for the next run on the page of a job that is retried', async () => {
  const retried = new Promise<string>(resolve => t.chronos.on('job.retrying', ({ job }) => resolve(job.id)))
  const failing = defineJob({
    name: 'failing',
    retry: fixed({ delay: '1h', maxRetries: 3, jitter: 'none' }),
    run: () => Promise.reject(new Error('down')),
  })
  t.chronos.work([failing], { signals: false, maintenance: false })
  await t.chronos.enqueue(failing)
  await visitor.open(`/jobs/${await retried}`)
  const times = await page.evaluate(() =>
    ['Next run', 'Planned for'].map(
      name =>
        [...document.querySelectorAll('dt')].find(term => term.textContent === name)?.nextElementSibling?.textContent,
    ),
  )
  expect(times[0]).toMatch(/^in 59m( \d+s)?$/)
  expect(times[1]).toBe(times[0])
})

it('says where counting stopped: with a plus, or a word that fits', async () => {
  await t.chronos.enqueueMany('later', Array(9_000).fill(null), { queue: 'queue-0', delay: '1d' })
  const database = (await loadDriver()).open(file)
  // Written directly, because only their number matters.
  database.exec(`
    UPDATE jobs SET state = 'dead', finished_at = created_at
    WHERE pk IN (SELECT pk FROM jobs WHERE queue > 'queue-0' AND queue < 'queue-4' AND state = 'waiting' LIMIT 12000)`)
  database.close()
  await visitor.open('/')
  const tile = (label: string) => page.locator('.tile', { has: page.locator('.label', { hasText: label }) })
  expect(await tile('Retrying').locator('.value').innerText()).toBe('1+')
  expect(await tile('Blocked').locator('.value').innerText()).toBe('unknown')
  for (const one of await page.locator('.tile .value').all()) {
    expect(await one.evaluate(value => value.scrollWidth <= value.clientWidth)).toBe(true)
  }
  const { body } = await t.api<{ count: Count }>('GET', '/jobs?phase=dead&acknowledged=false&limit=1')
  expect(body.count).toMatchObject({ relation: 'at-least' })
  const dead = countText(body.count)
  expect(await page.getByRole('navigation').locator('.tally').first().innerText()).toBe(dead)
  expect(await page.title()).toBe(`(${dead}) Overview · Chronos`)
  expect(visitor.troubles).toEqual([])
})
