import { chromium } from 'playwright-core'
import { launchOptions } from '../../build/chromium.js'
import { openServer } from '../rest-server.js'
import { pause, percentile } from '../sample.js'

export { fillMixed } from './rest.js'

const FILTERS = ['queue:mail', 'state:scheduled', 'tenant:tenant-7', 'tag:t77', 'state:dead']

/**
 * The dashboard over a large file while jobs come and end: how soon it is painted, how soon a filter shows its result,
 * and how much more memory the page holds after a while.
 *
 * @param {{ file: string, seconds: number, eventsPerSecond: number }} options
 */
export async function look({ file, seconds, eventsPerSecond }) {
  const server = await openServer({ file, eventsPerSecond })
  const browser = await chromium.launch(await launchOptions())
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: 'en-US' })
  const paints = []
  for (let i = 0; i < 5; i++) {
    await page.goto(`${server.url}jobs`)
    await page.locator('tbody tr').first().waitFor()
    paints.push(
      await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN),
    )
  }
  const filters = []
  for (const filter of [...FILTERS, ...FILTERS]) filters.push(await timeOfFilter(page, filter))
  await page.goto(`${server.url}jobs`)
  const session = await page.context().newCDPSession(page)
  const heapMb = async () => {
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = await session.send('Runtime.getHeapUsage')
    return usedSize / 2 ** 20
  }
  // What is read at first, and what is kept for Back, is there by then.
  await pause(Math.min(30_000, (seconds * 1_000) / 4))
  const before = await heapMb()
  await pause(seconds * 1_000)
  const after = await heapMb()
  await browser.close()
  await server.close()
  return {
    paintMs: percentile(paints, 0.5),
    filterMs: percentile(filters, 0.5),
    slowestFilterMs: Math.max(...filters),
    heapGrowthMb: after - before,
  }
}

/** Runs in the page: from the press of Enter until the answer to it is drawn, in milliseconds. */
const STOPWATCH = `
  window.filtered = new Promise(resolve => {
    addEventListener('keydown', function pressed(event) {
      if (event.key !== 'Enter') return
      removeEventListener('keydown', pressed, true)
      const startedAt = performance.now()
      const before = location.search
      const look = () => {
        const isDone = location.search !== before && document.querySelector('.stale, [aria-busy="true"]') === null
        if (isDone) resolve(performance.now() - startedAt)
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(() => requestAnimationFrame(look))
    }, true)
  })
  undefined`

/**
 * From the press of Enter until what the server found is on the screen.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} filter
 * @returns {Promise<number>}
 */
async function timeOfFilter(page, filter) {
  await page.goto(new URL('jobs', page.url()).href)
  await page.locator('tbody tr').first().waitFor()
  const input = page.getByLabel('Filter jobs').first()
  await input.fill(filter)
  await page.evaluate(STOPWATCH)
  await input.press('Enter')
  return Number(await page.evaluate('window.filtered'))
}
