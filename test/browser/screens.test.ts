import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DARK_PHONE, LIGHT_WIDE, type Look, Visitor } from './browser.js'
import { emptyWorld, fullWorld, type World } from './world.js'

/** Every screen: a name, its path, and a text that only the loaded content of this screen shows inside <main>. */
const SCREENS: readonly (readonly [name: string, path: (world: World['ids']) => string, text: RegExp])[] = [
  ['overview', () => '/', /Job outcomes/],
  ['queues', () => '/queues', /payments/],
  ['queue', () => '/queues/payments', /Top errors/],
  ['names', () => '/names', /charge-card/],
  ['name', () => '/names/charge-card', /Slowest runs/],
  ['jobs', () => '/jobs', /charge-card/],
  ['job-succeeded', ids => `/jobs/${ids.succeeded}`, /r-A-1/],
  ['job-dead', ids => `/jobs/${ids.dead}`, /card declined by issuer/],
  ['job-retrying', ids => `/jobs/${ids.retrying}`, /SMTP 421/],
  ['dead', () => '/dead', /gateway answered/],
  ['dead-jobs', () => '/dead?view=jobs', /charge-card/],
  ['error-group', ids => `/dead/${ids.fingerprint}`, /gateway answered 503 for order A-/],
  ['incident', () => '/incident', /Events on one axis/],
  ['redrives', () => '/redrives', /permanent/],
  ['redrive', ids => `/redrives/${ids.redrive}`, /jobs per second/],
  ['schedules', () => '/schedules', /weekly-digest/],
  ['schedule', () => '/schedules/weekly-digest', /Upcoming runs/],
  ['schedule-by-the-path-of-a-job', () => '/jobs/weekly-digest', /Upcoming runs/],
  ['schedule-editor', () => '/schedules/weekly-digest/edit', /At 09:00 every Monday/],
  ['policies', () => '/policies', /Outage survived/],
  ['webhooks', () => '/webhooks', /shop\.example/],
  ['webhook', ids => `/webhooks/${ids.webhook}`, /Signature verification/],
  ['dependencies', () => '/dependencies', /api\.example/],
  ['alerts', () => '/alerts', /circuit-open/],
  ['workers', () => '/workers', /1 worker is alive/],
  ['workers-of-a-build', () => '/workers?build=v0', /No worker of build v0 is alive/],
  ['alert-that-is-gone', () => '/alerts?alert=x', /no longer stored/],
  ['audit-log-entry', () => '/audit?entry=x', /No such change/],
  ['worker', ids => `/workers/${ids.worker}`, /Running jobs/],
  ['system', () => '/system', /SQLite/],
  ['audit-log', () => '/audit', /No changes yet/],
  ['tokens', () => '/tokens', /No tokens/],
]

/** Counts below a bound, shares over one, ages of nothing, and long numbers without separators. */
const ODD_NUMBER =
  /\b0\+|\b\d+ \/ \d+\b|99\.99 %|oldest 0 ?ms|\b(?:10[1-9]|1[1-9]\d|[2-9]\d\d|\d{4,})(?:\.\d+)? %|\b\d{4,} (?:jobs?|runs?|retries|dead|of)\b/

async function oddNumbers(page: Page): Promise<readonly string[]> {
  const text = await page.locator('main').innerText()
  return text.split('\n').filter(line => ODD_NUMBER.test(line))
}

/** What buttons do. Others choose: a column to sort by, a view, a preset, a field to open. */
const VERB =
  /^(Abort|Acknowledge|Actions for|Add|Apply|Assign|Back|Cancel|Clear|Close|Collapse|Compare|Copy|Create|Delete|Discard|Drain|Edit|End|Enqueue|Expand|Hold|Limit|Next|Open|Pause|Recover|Redrive|Release|Remove|Reset|Resume|Retry|Run|Save|Search|Send|Set|Show|Sign|Silence|Simulate|Skip|Turn|Undo|More actions|Help|Display|Saved views|Time range|Updates|\d+ more)/

/** Buttons that are no verbs, and headings that are sentences or questions. */
async function oddWords(page: Page): Promise<readonly string[]> {
  const buttons = await page
    .locator('.button')
    .evaluateAll(all => all.map(each => each.getAttribute('aria-label') ?? each.textContent ?? ''))
  const headings = await page.locator('main :is(h1, h2):not(li *)').allInnerTexts()
  return [
    ...buttons.filter(text => !VERB.test(text.trim())),
    ...headings.filter(text => /[.?!]$|^(What|Why|How|Where|Leave|Of|By|For)\b/.test(text.trim())),
  ]
}

/** What does not fit into a window that is wide, but not very wide: the page, a table, the names of its rows. */
async function cramped(page: Page): Promise<readonly string[]> {
  const size = page.viewportSize()!
  await page.setViewportSize({ ...size, width: SMALL_SCREEN })
  const found = await page.evaluate(async leastName => {
    // Charts follow the width in the next frame.
    for (let frames = 0; frames < 2; frames++) await new Promise(done => requestAnimationFrame(done))
    const isWider = ({ scrollWidth, clientWidth }: Element): boolean => scrollWidth > clientWidth
    const labelOf = (box: Element): string => box.querySelector('table')?.getAttribute('aria-label') ?? ''
    const names = [...document.querySelectorAll('main td:first-child.grow .clip')]
    return [
      ...(document.documentElement.scrollWidth > window.innerWidth ? ['the page'] : []),
      ...[...document.querySelectorAll('main .table-box')].filter(isWider).map(box => `table ${labelOf(box)}`),
      ...names
        .filter(name => isWider(name) && name.clientWidth < leastName)
        .map(name => `the name ${name.textContent}, of which ${name.clientWidth} pixels are left`),
    ]
  }, NAME_MIN)
  await page.setViewportSize(size)
  return found
}

/** On phones, the cells of a row stand beside each other with a gap: what is wider is written over the next one. */
function overlapping(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('main tr')].flatMap(row => {
      const gap = Number.parseFloat(getComputedStyle(row).columnGap)
      const cells = [...row.querySelectorAll('td')].filter(cell => cell.clientWidth > 0)
      return cells.filter(cell => cell.scrollWidth >= cell.clientWidth + gap).map(cell => cell.innerText)
    }),
  )
}

const SMALL_SCREEN = 1280
const NAME_MIN = 90

/** `npm run test:long` checks every screen in every theme and width. */
const isLong = process.env['CHRONOS_BROWSER'] === 'all'
const LOOKS: readonly Look[] = isLong
  ? [LIGHT_WIDE, DARK_PHONE, { theme: 'dark', width: 1440 }, { theme: 'light', width: 390 }]
  : [LIGHT_WIDE, DARK_PHONE]

let world: World

beforeAll(async () => {
  world = await fullWorld()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

describe.each(LOOKS)('in $theme, $width pixels wide', look => {
  let visitor: Visitor

  beforeAll(async () => {
    visitor = await Visitor.at(world.url, look)
  })

  afterAll(() => visitor[Symbol.asyncDispose]())

  const check = async (name: string): Promise<void> => {
    await visitor.screenshot(name)
    expect(await visitor.barriers()).toEqual([])
    expect(visitor.troubles).toEqual([])
    expect(await oddNumbers(visitor.page)).toEqual([])
    expect(await oddWords(visitor.page)).toEqual([])
    const overflow = await visitor.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overflow, 'wider than the window').toBeLessThanOrEqual(0)
    if (look.width > SMALL_SCREEN) expect(await cramped(visitor.page), 'on a smaller screen').toEqual([])
    else expect(await overlapping(visitor.page), 'wider than their place').toEqual([])
  }

  it.each(SCREENS)('shows %s without barriers, errors or overflow', async (name, path, text) => {
    visitor.troubles.length = 0
    await visitor.turn(path(world.ids))
    await visitor.page.locator('main').getByText(text).first().waitFor({ state: 'attached' })
    await check(name)
  })

  it('shows the form of a new job without barriers, errors or overflow', async () => {
    visitor.troubles.length = 0
    await visitor.turn('/jobs?open=new-job')
    await visitor.page.getByRole('dialog').getByText('Enqueue and create another').waitFor({ state: 'attached' })
    await check('new-job')
  })
})

describe('an empty store', () => {
  const EMPTY = [
    ['/', 'First job'],
    ['/queues', 'First job'],
    ['/names', 'No jobs in this time range'],
    ['/jobs', 'First job'],
    ['/dead', 'No dead letters'],
    ['/redrives', 'No redrives'],
    ['/schedules', 'No schedules'],
    ['/webhooks', 'No webhooks'],
    ['/dependencies', 'No dependencies yet'],
    ['/workers', 'No workers alive'],
  ] as const
  it('shows an empty state on every screen', async () => {
    await using empty = await emptyWorld()
    await using visitor = await Visitor.at(empty.url)
    for (const [path, text] of EMPTY) {
      await visitor.turn(path)
      await visitor.screenshot(`empty-${path.slice(1) || 'overview'}`)
      expect(await visitor.page.locator('main').innerText(), path).toContain(text)
    }
    expect(visitor.troubles).toEqual([])
  })
})
