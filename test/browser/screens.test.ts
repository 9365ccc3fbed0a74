import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DARK_PHONE, LIGHT_WIDE, type Look, launch, Visitor } from './browser.js'
import { emptyWorld, fullWorld, type World } from './world.js'

/** Everything that there is to see: a name, where it is, and a word that must be there. */
const SCREENS: readonly (readonly [name: string, path: (world: World['ids']) => string, word: RegExp])[] = [
  ['overview', () => '/', /Dead letters/],
  ['queues', () => '/queues', /payments/],
  ['queue', () => '/queues/payments', /payments/],
  ['jobs', () => '/jobs', /charge-card/],
  ['job-succeeded', ids => `/jobs/${ids.succeeded}`, /Succeeded/],
  ['job-dead', ids => `/jobs/${ids.dead}`, /card declined by issuer/],
  ['job-retrying', ids => `/jobs/${ids.retrying}`, /SMTP 421/],
  ['dead', () => '/dead', /gateway answered/],
  ['dead-jobs', () => '/dead?view=jobs', /charge-card/],
  ['error-group', ids => `/dead/${ids.fingerprint}`, /As it was said/],
  ['redrives', () => '/redrives', /reason:permanent/],
  ['redrive', ids => `/redrives/${ids.redrive}`, /Succeeded/],
  ['schedules', () => '/schedules', /weekly-digest/],
  ['schedule', () => '/schedules/weekly-digest', /Europe\/Paris/],
  ['schedule-editor', () => '/schedules/weekly-digest/edit', /Europe\/Paris/],
  ['policies', () => '/policies', /outage/i],
  ['webhooks', () => '/webhooks', /shop\.example/],
  ['webhook', ids => `/webhooks/${ids.webhook}`, /shop\.example/],
  ['dependencies', () => '/dependencies', /api\.example/],
  ['alerts', () => '/alerts', /Silences/],
  ['workers', () => '/workers', /alive/i],
  ['system', () => '/system', /SQLite/],
  ['audit', () => '/audit', /audit/i],
  ['tokens', () => '/tokens', /token/i],
  ['new-job', () => '/jobs?open=new-job', /Enqueue/],
]

/** All of them take long: `npm run test:long` looks at every one in every light. */
const isLong = process.env['CHRONOS_BROWSER'] === 'all'
const LOOKS: readonly Look[] = isLong
  ? [LIGHT_WIDE, DARK_PHONE, { theme: 'dark', width: 1440 }, { theme: 'light', width: 390 }]
  : [LIGHT_WIDE, DARK_PHONE]

let browser: Browser
let world: World

beforeAll(async () => {
  ;[browser, world] = await Promise.all([launch(), fullWorld()])
})

afterAll(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

describe.each(LOOKS)('in $theme, $width pixels wide', look => {
  let visitor: Visitor

  beforeAll(async () => {
    visitor = await Visitor.at(browser, world.url, look)
  })

  afterAll(() => visitor[Symbol.asyncDispose]())

  it.each(SCREENS)('shows %s, to everybody', async (name, path, word) => {
    visitor.troubles.length = 0
    await visitor.turn(path(world.ids))
    await visitor.page.getByText(word).first().waitFor({ state: 'attached' })
    await visitor.screenshot(name)
    expect(await visitor.barriers()).toEqual([])
    expect(visitor.troubles).toEqual([])
    const overflow = await visitor.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overflow, 'wider than the window').toBeLessThanOrEqual(0)
  })
})

describe('with nothing to show', () => {
  const paths = ['/', '/queues', '/jobs', '/dead', '/redrives', '/schedules', '/webhooks', '/dependencies', '/workers']
  it('says so everywhere, and what to do', async () => {
    await using empty = await emptyWorld()
    await using visitor = await Visitor.at(browser, empty.url)
    for (const path of paths) {
      await visitor.turn(path)
      await visitor.screenshot(`empty-${path.slice(1) || 'overview'}`)
      expect((await visitor.page.locator('main').innerText()).length, path).toBeGreaterThan(20)
    }
    expect(visitor.troubles).toEqual([])
  })
})
