/**
 * Takes the pictures of the README: `npm run screenshots` (after a build). The demo runs for a while, then each screen is
 * captured in light and dark.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { launchOptions } from '../../build/chromium.js'

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url))
const PORT = 4187
const LIVED_MS = Number(process.env['CHRONOS_DEMO_MS'] ?? 90_000)
const SIZE = { width: 1360, height: 850 }

/** @param {number} ms */
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
async function api(path) {
  return (await fetch(`http://127.0.0.1:${PORT}/api/v1${path}`)).json()
}

/** A job that failed more than once, for a timeline with retries. */
async function storiedJob() {
  for (const filter of ['state=succeeded', 'phase=retrying', 'state=dead']) {
    const { data } = await api(`/jobs?${filter}&limit=200`)
    const most = data.sort((/** @type {any} */ a, /** @type {any} */ b) => b.attempt - a.attempt)[0]
    if (most && most.attempt >= 3) return most.id
  }
  throw new Error('no job of the demo was retried; let it run longer with CHRONOS_DEMO_MS')
}

const folder = await mkdtemp(join(tmpdir(), 'chronos-screenshots-'))
const demo = spawn(
  process.execPath,
  [CLI, 'dev', '--demo', '--port', String(PORT), '--store', `sqlite:${join(folder, 'demo.db')}`],
  { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, CHRONOS_LOG_LEVEL: 'error' } },
)
await pause(LIVED_MS)
const screens = /** @type {const} */ ([
  ['overview', '/'],
  ['job', `/jobs/${await storiedJob()}`],
  ['dead-letters', '/dead'],
  ['simulator', '/policies'],
])
await mkdir(IMAGES, { recursive: true })
const browser = await chromium.launch(await launchOptions())
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const context = await browser.newContext({ viewport: SIZE, colorScheme, locale: 'en-US', reducedMotion: 'reduce' })
  const page = await context.newPage()
  for (const [name, path] of screens) {
    await page.goto(`http://127.0.0.1:${PORT}${path}`)
    await page.locator('main').waitFor()
    await pause(2_000)
    await page.screenshot({ path: join(IMAGES, `${name}-${colorScheme}.png`) })
  }
  await context.close()
}
await browser.close()
demo.kill()
await once(demo, 'exit')
await rm(folder, { recursive: true, force: true })
