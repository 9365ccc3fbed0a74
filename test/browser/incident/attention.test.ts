import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Alert, alertId, type Labels, type Severity } from '../../../src/core/alert/alert.js'
import type { RuleName } from '../../../src/core/alert/rules.js'
import { type Dependency, newDependency } from '../../../src/core/dependency/dependency.js'
import type { Redrive, RedriveState } from '../../../src/core/redrive/redrive.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import { ERROR_GROUP, type ErrorGroup, type GroupState } from '../../../src/store/fold.js'
import type { RecordWrite } from '../../../src/store/record.js'
import { visit } from '../visit.js'
import { emptyWorld } from '../world.js'

// The records of a store after a bad week: more of everything than one page of a list has.

const { t, visitor, page } = await visit(() =>
  emptyWorld({ maintenance: false, chronos: { egress: { allow: ['loopback'] } } }),
)
const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Needs attention' }) })
const PAGE = 50
const MANY = PAGE + 10
const STEP_MS = 60_000

const number = (n: number): string => String(n).padStart(3, '0')
const fresh = await t.chronos.store()
const { now } = await fresh.info()

function group(fingerprint: string, state: GroupState, dead: number): RecordWrite {
  const counts = { failures: dead, deaths: dead, dead, trend: {}, samples: [], names: ['pay'], queues: ['payments'] }
  const times = { firstSeen: now - STEP_MS, lastSeen: now - STEP_MS, stateAt: now - STEP_MS }
  const body: ErrorGroup = { fingerprint, title: `error ${fingerprint}`, error: 'Error', state, ...counts, ...times }
  return { kind: ERROR_GROUP, id: fingerprint, body: JSON.stringify(body) }
}

function redrive(n: number, state: RedriveState): RecordWrite {
  const id = `01940000-0000-7000-8000-000000000${number(n)}`
  const rules = { perSecond: 10, canary: 0, stopWhenFailing: 0.2, force: false, isListed: true }
  const counts = { total: { value: 4, relation: 'exact' }, skipped: 0, conflicts: [], conflictCount: 0 } as const
  const why = state === 'stopped' ? '3 of 4 failed again (75 %), over 20 %' : undefined
  const body: Redrive = { id, filter: {}, state, createdAt: now - n, ...rules, ...counts, ...(why && { why }) }
  return { kind: 'redrive', id, body: JSON.stringify(body) }
}

function dependency(key: string, how: Partial<Dependency>): RecordWrite {
  const body = { ...newDependency({ key }, {}, now - STEP_MS), ...how }
  return { kind: 'dependency', id: dependencyId(body), body: JSON.stringify(body) }
}

function alert(rule: RuleName, labels: Labels, severity: Severity = 'warning', minutes = 1): RecordWrite {
  const id = alertId(rule, labels)
  const times = { since: now - minutes * STEP_MS, evaluatedAt: now, trueAt: now, firedAt: now }
  const summary = `${rule} of ${Object.values(labels).join(' ')}`
  const body: Alert = { id, rule, labels, state: 'firing', severity, value: 1, summary, ...times }
  return { kind: 'alert', id, body: JSON.stringify(body) }
}

async function disableOneOf(webhooks: number): Promise<string> {
  const { webhooks: own } = t.chronos
  let last = ''
  for (let n = 0; n < webhooks; n++)
    last = (await own.create({ url: `http://127.0.0.1:9/${n}`, events: ['job.dead'] })).id
  await own.disable(last)
  return last
}

let disabled = ''
beforeAll(async () => {
  disabled = await disableOneOf(MANY)
  const several = Array.from({ length: MANY }, (_, n) => n)
  await fresh.putRecords([
    ...several.map(n => group(`resolved-${number(n)}`, 'resolved', 90)),
    ...several.slice(0, PAGE + 3).map(n => group(`open-${number(n)}`, 'open', 3)),
    group('again', 'regressed', 40),
    group('gone', 'open', 0),
    // The newest have the highest id.
    ...several.map(n => redrive(n + 1, 'done')),
    redrive(0, 'stopped'),
    redrive(MANY + 1, 'running'),
    ...several.map(n => dependency(`held-${number(n)}`, { forced: 'closed' })),
    dependency('zahlung.example', { circuit: 'open', reason: '9 of 10 calls failed', openUntil: now + STEP_MS }),
    dependency('known.example', { circuit: 'open', reason: 'it is down', openUntil: now + STEP_MS }),
    alert('circuit-open', { circuit: 'known.example' }, 'warning', 60),
    alert('retry-rate', { queue: 'mail' }, 'warning', 3),
    alert('retry-rate', { queue: 'payments' }, 'warning', 50),
    alert('dead-letters', { queue: 'exports' }, 'critical'),
    alert('queue-latency', { queue: 'slow' }),
  ])
  await t.chronos.alerts.silence({ rule: 'queue-latency', labels: {}, for: '1h' })
  // An alert about its dead letters does not say that the queue is paused.
  await t.chronos.enqueueMany('export', [1, 2], { queue: 'exports' })
  await t.chronos.queues.pause('exports')
})

const titles = (): Promise<readonly string[]> => panel.locator('.title').allInnerTexts()
const itemOf = (title: string): Locator => panel.locator('li', { has: page.getByText(title, { exact: true }) })

describe('what needs attention', () => {
  it('is limited to five, worst first, with the alerts of a rule as one line and without silenced ones', async () => {
    await visitor.open('/')
    expect(await titles()).toEqual([
      'dead-letters of exports',
      'retry-rate: 2 alerts',
      'circuit-open of known.example',
      'Queue exports is paused',
      'The circuit of zahlung.example is open',
    ])
    expect(await itemOf('retry-rate: 2 alerts').locator('.note').innerText()).toMatch(/^mail, payments · for 5\dm/)
    expect(await itemOf('Queue exports is paused').locator('.note').innerText()).toBe('2 jobs wait')
    // The circuit, the endpoint, two redrives, fifty errors, and a line for the other errors.
    expect(await panel.getByRole('button').innerText()).toBe(`${3 + PAGE + 1} more`)
    expect(await visitor.barriers()).toEqual([])
    expect(visitor.troubles).toEqual([])
  })

  it('is all shown on request, behind fifty things that need none, and with the number of all other errors', async () => {
    await visitor.open('/')
    await panel.getByRole('button').click()
    const all = await titles()
    expect(all).toHaveLength(8 + PAGE + 1)
    expect(all.slice(5, 9)).toEqual([
      'The webhook to 127.0.0.1:9 is disabled',
      'A redrive has stopped',
      'error again',
      'error open-000',
    ])
    expect(all.slice(-2)).toEqual(['4 more errors have dead letters', 'A redrive is running'])
    expect(all.some(title => title.includes('resolved') || title.includes('gone') || title.includes('held'))).toBe(
      false,
    )
    expect(await itemOf('error again').locator('.note').innerText()).toMatch(/^40 dead jobs, regressed · last /)
    expect(await itemOf('A redrive has stopped').locator('.note').innerText()).toContain('3 of 4 failed again')
    const stated = await itemOf('The webhook to 127.0.0.1:9 is disabled').locator('.note').innerText()
    expect(stated).toBe('It was disabled by a user.')
  })

  it('leads to its cause', async () => {
    await visitor.open('/')
    await panel.getByRole('button').click()
    const hrefs = await panel.getByRole('link').evaluateAll(all => all.map(link => link.getAttribute('href')))
    expect(hrefs.slice(0, 9)).toEqual([
      '/dead?view=jobs&queue=exports',
      '/queues',
      '/dependencies?q=known.example',
      '/queues/exports',
      '/dependencies?q=zahlung.example',
      `/webhooks/${disabled}`,
      '/redrives/01940000-0000-7000-8000-000000000000',
      '/dead/again',
      '/dead/open-000',
    ])
    expect(hrefs.at(-2)).toBe('/dead')
  })

  it('loses a stopped redrive that is aborted', async () => {
    await visitor.open('/redrives/01940000-0000-7000-8000-000000000000')
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort redrive' }).click()
    await page.locator('.page-head').getByText('Aborted').waitFor()
    await visitor.open('/')
    await panel.getByRole('button').click()
    expect(await titles()).not.toContain('A redrive has stopped')
    expect(visitor.troubles).toEqual([])
  })

  it('stays hidden while the only alert about it is silenced', async () => {
    await t.chronos.alerts.silence({ rule: 'circuit-open', labels: { circuit: 'known.example' }, for: '1h' })
    await visitor.open('/')
    await panel.getByRole('button').click()
    expect((await titles()).filter(title => title.includes('known.example'))).toEqual([])
  })
})
