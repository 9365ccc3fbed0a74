import { describe, expect, it } from 'vitest'
import { type Alert, alertId } from '../../../src/core/alert/alert.js'
import { newDependency } from '../../../src/core/dependency/dependency.js'
import { ALERT, ALERTS_MAX } from '../../../src/engine/alerts/records.js'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import { silentLog } from '../../../src/engine/client/log.js'
import { STORES } from '../../support/stores.js'
import { die, late, World, work } from './world.js'

const OTHERS_OFF = {
  'retry-rate': false,
  'exhausted-burst': false,
  'retry-latency': false,
  'retries-late': false,
  'queue-latency': false,
  'no-workers': false,
} as const

describe.each(STORES)('dead letters on %s', (_, open) => {
  it('are notified after five minutes, and resolved when an operator has acknowledged them', async () => {
    await using world = new World(open)
    const chronos = world.start()
    await die(world, chronos, 3)
    await world.advance('5m')
    expect(world.heard()).toEqual([])
    expect((await chronos.alerts.list()).data).toMatchObject([{ rule: 'dead-letters', state: 'pending', value: 3 }])
    await world.advance('30s')
    expect(world.heard()).toEqual(['firing dead-letters 315s'])
    expect(world.told[0]).toMatchObject({
      labels: { queue: 'payments' },
      summary: '3 unacknowledged dead letters in queue payments, the oldest for 5m 14s',
    })
    await chronos.dead.acknowledge({})
    await world.advance('3m')
    expect(world.heard().slice(1)).toEqual(['resolved dead-letters 450s'])
    expect((await chronos.alerts.list()).data).toMatchObject([{ state: 'resolved', severity: 'warning' }])
  })

  it('are notified again while they remain, as critical after a day', async () => {
    await using world = new World(open)
    const rules = { 'dead-letters': { for: '1m', repeat: '10m' } } as const
    const first = world.start({ alerts: { rules } })
    await die(world, first, 1)
    await world.advance('25m')
    expect(world.heard()).toEqual(['firing dead-letters 75s', 'repeat dead-letters 675s', 'repeat dead-letters 1275s'])
    await world.stop(first)
    await world.advance('24h')
    const second = world.start({ alerts: { rules } })
    await world.advance('15s')
    expect((await second.alerts.list()).data).toMatchObject([{ state: 'firing', severity: 'critical' }])
  })

  it('are deleted a day after they were resolved', async () => {
    await using world = new World(open)
    const rules = { 'dead-letters': { for: '0s', keep: '0s' } } as const
    const first = world.start({ alerts: { rules } })
    await die(world, first, 1)
    await world.advance('15s')
    await first.dead.acknowledge({})
    await world.advance('15s')
    expect((await first.alerts.list()).data).toMatchObject([{ state: 'resolved' }])
    await world.stop(first)
    await world.advance('24h')
    const second = world.start({ alerts: { rules } })
    await world.advance('15s')
    expect((await second.alerts.list()).data).toEqual([])
  })

  it('raise no alert after they were discarded', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: OTHERS_OFF } })
    await die(world, chronos, 2)
    await world.advance('1m')
    await chronos.dead.discard({})
    await world.advance('10m')
    expect(world.heard()).toEqual([])
    expect((await chronos.alerts.list()).data).toEqual([])
  })
})

describe.each(STORES)('alerts on %s', (_, open) => {
  it('continue unchanged after a restart', async () => {
    await using world = new World(open)
    const first = world.start()
    await die(world, first, 1)
    await world.advance('2m')
    await world.stop(first)
    await world.advance('1m')
    const second = world.start()
    await world.advance('2m')
    expect(world.heard()).toEqual([])
    await world.advance('1m')
    // The first look after five minutes from when the other process saw it.
    expect(world.heard()).toEqual(['firing dead-letters 317s'])
    await world.stop(second)
    world.start()
    await world.advance('30m')
    expect(world.heard()).toEqual(['firing dead-letters 317s'])
  })

  it('are notified once, however many processes evaluate them', async () => {
    await using world = new World(open)
    const channels = { ops: { type: 'email', from: 'a@example.com', to: 'b@example.com', transport: deaf } } as const
    const [chronos] = [1, 2, 3].map(() => world.start({ alerts: { channels } }))
    await die(world, chronos!, 12)
    await world.advance('10m')
    expect(world.told.map(({ notice, rule }) => `${notice} ${rule}`)).toEqual([
      'firing exhausted-burst',
      'firing dead-letters',
      'firing retry-rate',
    ])
    expect(await world.store.count({ queue: 'chronos:deliveries' }, 100)).toMatchObject({ value: 3 })
  })

  it('are evaluated by the processes whose code configures them', async () => {
    await using world = new World(open)
    const plain = world.start()
    const sure = world.start({ alerts: { rules: { 'dead-letters': { for: '1m' } } } })
    await die(world, plain, 1)
    await world.advance('90s')
    expect(world.heard()).toEqual(['firing dead-letters 75s'])
    await world.stop(sure)
    await plain.dead.acknowledge({})
    await world.advance('4m')
    expect(world.heard().map(line => line.split(' ')[0])).toEqual(['firing', 'resolved'])
  })

  it('are suppressed by a silence, and notified when it ends', async () => {
    await using world = new World(open)
    const chronos = world.start()
    const { id } = await chronos.alerts.silence({ rule: 'dead-letters', labels: { queue: 'payments' }, for: '20m' })
    await die(world, chronos, 1)
    await world.advance('10m')
    expect(world.heard()).toEqual([])
    expect((await chronos.alerts.list({ state: 'firing' })).data).toHaveLength(1)
    await world.advance('11m')
    expect(world.heard()).toEqual(['firing dead-letters 1200s'])
    expect((await chronos.alerts.silences()).data).toMatchObject([{ id, rule: 'dead-letters' }])
    await chronos.alerts.unsilence(id)
    expect((await chronos.alerts.silences()).data).toEqual([])
    await expect(chronos.alerts.unsilence(id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  const SILENCE = { rule: 'dead-letters', for: '20m' } as const
  const RESOLVED = 'alert dead-letters was resolved after'
  const COURSES: [string, (world: World, chronos: Chronos) => Promise<void>, told: string[], lines: string[]][] = [
    [
      'is silenced all the time',
      async (world, { alerts, dead }) => {
        await alerts.silence(SILENCE)
        await world.advance('6m')
        await dead.acknowledge({})
        await world.advance('4m')
      },
      [],
      ['fired 315s', 'resolved 480s'],
    ],
    [
      'is silenced after it fired',
      async (world, { alerts, dead }) => {
        await world.advance('6m')
        await alerts.silence(SILENCE)
        await dead.acknowledge({})
        await world.advance('4m')
      },
      ['firing dead-letters 315s'],
      ['fired 315s', 'resolved 480s'],
    ],
    [
      'is still firing when its silence ends',
      async (world, { alerts }) => {
        await alerts.silence(SILENCE)
        await world.advance('21m')
      },
      ['firing dead-letters 1215s'],
      ['fired 315s'],
    ],
    [
      'is ended by turning its rule off',
      async (world, { alerts }) => {
        await world.advance('6m')
        await alerts.setRules({ 'dead-letters': false })
        await world.advance('15s')
      },
      ['firing dead-letters 315s'],
      ['fired 315s', 'resolved 375s'],
    ],
  ]

  it.each(COURSES)('have their lines in the incident report: one that %s', async (_what, happen, told, lines) => {
    await using world = new World(open)
    const chronos = world.start()
    const start = world.clock.now()
    await die(world, chronos, 1)
    await happen(world, chronos)
    expect(world.heard()).toEqual(told)
    const { timeline } = await chronos.incident({ from: start })
    const found = timeline.filter(({ kind }) => kind === 'alert')
    expect(
      found.map(({ at, text }) => {
        const seconds = Math.floor((Date.parse(at) - start) / 1000)
        return `${text.startsWith(RESOLVED) ? 'resolved' : 'fired'} ${seconds}s`
      }),
    ).toEqual(lines)
  })

  it('that are new replace the oldest resolved ones if there are too many', async () => {
    await using world = new World(open)
    const chronos = world.start()
    const now = world.clock.now()
    const resolved = ['lonely', ...Array.from({ length: ALERTS_MAX - 1 }, (_each, n) => `queue-${n}`)].map(
      (queue, n): Alert => {
        const labels = { queue }
        const at = now - ALERTS_MAX + n
        return {
          ...{ id: alertId('no-workers', labels), rule: 'no-workers', labels, state: 'inactive', severity: 'critical' },
          ...{ value: 0, summary: '', since: at, evaluatedAt: at, trueAt: at, firedAt: at, resolvedAt: at },
        }
      },
    )
    await world.store.putRecords(resolved.map(alert => ({ kind: ALERT, id: alert.id, body: JSON.stringify(alert) })))
    await chronos.enqueue('mail', {}, { queue: 'lonely' })
    await world.advance('10m')
    expect(world.heard()).toEqual(['firing no-workers 60s', 'firing queue-latency 375s'])
    const kept = (await chronos.alerts.list()).data
    expect(kept).toHaveLength(ALERTS_MAX)
    const left = new Set(kept.map(({ id }) => id))
    // The first one fired again, so the next one made room.
    expect(resolved.filter(({ id }) => !left.has(id)).map(({ labels }) => labels['queue'])).toEqual(['queue-0'])
  })

  it('are not raised while there is no room beside those that have not ended', async () => {
    await using world = new World(open)
    const warnings: object[] = []
    const log = { ...silentLog, warn: (facts: object) => void warnings.push(facts) }
    const chronos = world.start({ log })
    const now = world.clock.now()
    const labels = { queue: 'lonely' }
    const live = Array.from({ length: ALERTS_MAX }, (_each, n): Alert => {
      const times = { since: now, evaluatedAt: now, trueAt: now, firedAt: now }
      // This version does not know their rule, so nothing ends them.
      const rule = 'later' as Alert['rule']
      return { ...times, id: `later-${n}`, rule, labels, state: 'firing', severity: 'warning', value: 1, summary: '' }
    })
    await world.store.putRecords(live.map(alert => ({ kind: ALERT, id: alert.id, body: JSON.stringify(alert) })))
    await chronos.enqueue('mail', {}, { queue: 'lonely' })
    await world.advance('2m')
    expect(await world.store.records(ALERT, { limit: 2 * ALERTS_MAX })).toHaveLength(ALERTS_MAX)
    expect(warnings).toContainEqual({ event: 'alerts.too-many', max: ALERTS_MAX })
    expect(world.heard()).toEqual([])
  })

  it('have rules that can be changed at run time and override the code', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: { 'dead-letters': { for: '30m', fire: 5 } } } })
    const ruleOf = async () => (await chronos.alerts.rules()).find(({ name }) => name === 'dead-letters')
    expect(await ruleOf()).toMatchObject({ for: '30m', fire: 5 })
    await chronos.alerts.setRules({ 'dead-letters': { for: '1m' } })
    await chronos.alerts.setRules({ 'dead-letters': { fire: 1 } })
    expect(await ruleOf()).toMatchObject({ for: '1m', fire: 1, clear: 0 })
    await die(world, chronos, 2)
    await world.advance('90s')
    expect(world.heard()).toEqual(['firing dead-letters 75s'])
    await chronos.alerts.setRules({ 'dead-letters': false })
    await world.advance('1m')
    expect((await chronos.alerts.list()).data).toEqual([])
    await chronos.alerts.setRules({ 'dead-letters': null })
    expect(await ruleOf()).toMatchObject({ enabled: true, for: '30m', fire: 5 })
    await expect(chronos.alerts.setRules({ 'dead-letters': { fire: -1 } })).rejects.toThrow(
      'alerts.setRules.dead-letters',
    )
    expect(await ruleOf()).toMatchObject({ for: '30m' })
  })
})

describe.each(STORES)('the rule on %s', (_, open) => {
  /** So many jobs every 15 seconds, of which some need a retry. */
  async function traffic(
    world: World,
    chronos: ReturnType<World['start']>,
    all: number,
    failing: number,
    minutes: number,
  ) {
    for (let round = 0; round < minutes * 4; round++) {
      await chronos.enqueueMany(
        work,
        Array.from({ length: all }, (_each, index) => ({ fails: index < failing ? 1 : 0 })),
      )
      await world.advance('15s')
    }
  }

  it('retry-rate fires when more than a tenth is retried for five minutes, and ends with it', async () => {
    await using world = new World(open)
    const chronos = world.start()
    await traffic(world, chronos, 20, 2, 8)
    expect(world.heard()).toEqual([])
    await traffic(world, chronos, 20, 4, 11)
    expect(world.told.map(({ notice, rule }) => `${notice} ${rule}`)).toEqual(['firing retry-rate'])
    expect(world.told[0]!.summary).toMatch(
      /^queue payments has \d+(\.\d)?( %)? retries( per first attempt)?: \d+ retries to \d+ first attempts in the last 5m( \d+s)?$/,
    )
    await traffic(world, chronos, 20, 0, 12)
    expect(world.told.map(({ notice }) => notice)).toEqual(['firing', 'resolved'])
  })

  it('retry-rate fires at low volume, from five retries on, and states its true window', async () => {
    await using world = new World(open)
    const chronos = world.start()
    await traffic(world, chronos, 1, 1, 12)
    expect(world.told.map(({ notice, rule }) => `${notice} ${rule}`)).toEqual(['firing retry-rate'])
    const [, retries, seconds] = /: (\d+) retries to \d+ first attempts in the last 5m(?: (\d+)s)?$/.exec(
      world.told[0]!.summary,
    )!
    // One job every 15 seconds, each with one retry: the count and the window must agree.
    expect(Math.abs(Number(retries) - (300 + Number(seconds ?? 0)) / 15)).toBeLessThanOrEqual(1)
  })

  it('retry-rate does not fire for four retries in the window, unless its minimum is lower', async () => {
    await using world = new World(open)
    const chronos = world.start()
    const four = async () => {
      for (let round = 0; round < 8; round++) {
        await chronos.enqueueMany(work, [{ fails: 1 }])
        await world.advance('90s')
      }
    }
    await four()
    expect(world.heard()).toEqual([])
    await chronos.alerts.setRules({ 'retry-rate': { minRetries: 2 } })
    await four()
    expect(world.told).toMatchObject([{ notice: 'firing', rule: 'retry-rate' }])
  })

  it('retry-rate has no value while only retries end', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: { 'retry-rate': { for: '0s', window: '1m' } } } })
    await chronos.enqueueMany(late, Array.from({ length: 6 }))
    await world.advance('20m')
    expect(world.told.filter(({ rule }) => rule === 'retry-rate')).toEqual([])
  })

  it('retry-latency measures from the failure to the next start, backoff included', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: { 'retry-latency': { for: '0s' } } } })
    await chronos.enqueueMany(late, Array.from({ length: 4 }))
    await world.advance('20m')
    expect(world.heard()).toEqual([])
    await chronos.enqueueMany(late, Array.from({ length: 5 }))
    await world.advance('20m')
    expect(world.told).toMatchObject([{ rule: 'retry-latency', labels: { queue: 'payments' }, value: 720_000 }])
    expect(world.told[0]!.summary).toMatch(
      /^retries of queue payments start 12m after the failure: the mean of 5 in the last 15m( \d+s)?$/,
    )
  })

  it('retry-latency counts from a failure in another process, and over deferrals', async () => {
    await using world = new World(open)
    const rules = { 'retry-latency': { for: '0s', minRetries: 1 } } as const
    const first = world.start({ alerts: { rules } })
    await first.enqueueMany(late, [undefined])
    await world.advance('10s')
    await world.stop(first)
    await world.advance('30m')
    world.start({ alerts: { rules } })
    await world.advance('1m')
    const told = world.told.filter(({ rule }) => rule === 'retry-latency')
    expect(told).toHaveLength(1)
    expect(told[0]!.value).toBeGreaterThanOrEqual(30 * 60_000)
    expect(told[0]!.value).toBeLessThan(31 * 60_000)
  })

  it('exhausted-burst fires at once when ten run out of retries, and not for nine', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: { 'dead-letters': false } } })
    await die(world, chronos, 9)
    await world.advance('1m')
    expect(world.heard()).toEqual([])
    await die(world, chronos, 1)
    await world.advance('15s')
    expect(world.told).toMatchObject([{ notice: 'firing', rule: 'exhausted-burst', value: 10 }])
    await die(world, chronos, 10)
    await world.advance('15s')
    expect(world.told.slice(1)).toMatchObject([{ notice: 'repeat', value: 20 }])
  })

  it('no-workers and queue-latency fire for a queue without a worker, unless it is paused', async () => {
    await using world = new World(open)
    const chronos = world.start()
    await chronos.queues.pause('held')
    await chronos.enqueue('mail', {}, { queue: 'lonely' })
    await chronos.enqueue('mail', {}, { queue: 'held' })
    await world.advance('10m')
    expect(world.heard()).toEqual(['firing no-workers 60s', 'firing queue-latency 375s'])
    expect(world.told.map(({ labels }) => labels)).toEqual([{ queue: 'lonely' }, { queue: 'lonely' }])
    await chronos.queues.resume('held')
    await world.advance('2m')
    expect(world.told.at(-1)).toMatchObject({ labels: { queue: 'held' } })
  })

  it('queue-latency does not fire for jobs that wait for a limit', async () => {
    await using world = new World(open)
    const chronos = world.start()
    await chronos.queues.set('payments', { partitions: { rate: '1/h', burst: 1 } })
    await chronos.enqueueMany(work, [{ fails: 0 }, { fails: 0 }], { partition: 'acme' })
    await world.advance('20m')
    expect((await chronos.jobs.list({ phase: 'blocked' })).data).toMatchObject([{ blockedBy: 'rate' }])
    expect(world.heard()).toEqual([])
  })

  it('retries-late fires when a retry is due and no worker takes it', async () => {
    await using world = new World(open)
    const first = world.start()
    await first.enqueueMany(work, [{ fails: 1 }])
    await world.advance('100ms')
    await world.stop(first)
    const second = world.start({ alerts: { rules: { 'queue-latency': false, 'no-workers': false } } }, ['other'])
    await world.advance('4m')
    expect(world.told).toMatchObject([{ rule: 'retries-late', labels: { queue: 'payments' } }])
    await world.stop(second)
    world.start()
    await world.advance('4m')
    expect(world.told.map(({ notice }) => notice)).toEqual(['firing', 'resolved'])
  })

  it('circuit-open fires when a circuit is open for two minutes', async () => {
    await using world = new World(open)
    world.start()
    const now = world.clock.now()
    const dependency = {
      ...newDependency({ key: 'api.example' }, {}, now),
      circuit: 'open',
      openUntil: now + 3_600_000,
      reason: '9 of 10 failed',
    }
    await world.store.putRecords([{ kind: 'dependency', id: dependency.key, body: JSON.stringify(dependency) }])
    await world.advance('150s')
    expect(world.told).toMatchObject([
      { rule: 'circuit-open', labels: { circuit: 'api.example' }, summary: expect.stringContaining('9 of 10 failed') },
    ])
  })

  it('circuit-open names the tenant whose jobs wait', async () => {
    await using world = new World(open)
    world.start()
    const now = world.clock.now()
    const tenant = newDependency({ key: 'api.example', tenantId: 'acme' }, {}, now)
    const dependency = { ...tenant, circuit: 'open', openUntil: now + 3_600_000 }
    await world.store.putRecords([{ kind: 'dependency', id: 'any', body: JSON.stringify(dependency) }])
    await world.advance('150s')
    expect(world.told).toMatchObject([
      {
        labels: { circuit: 'api.example', tenant: 'acme' },
        summary: 'the circuit of api.example for tenant acme is open',
      },
    ])
  })

  it('endpoint-disabled fires for an endpoint that Chronos disabled, and not for one that a user disabled', async () => {
    await using world = new World(open)
    world.start()
    const bodies = [
      { id: 'a', state: 'disabled', disabledReason: 'gone' },
      { id: 'b', state: 'disabled', disabledReason: 'by-hand' },
      { id: 'c', state: 'enabled' },
    ].map(body => ({ ...body, url: `https://${body.id}.example/hooks?key=secret`, events: [], secrets: [] }))
    await world.store.putRecords(bodies.map(body => ({ kind: 'webhook', id: body.id, body: JSON.stringify(body) })))
    await world.advance('1m')
    const summary = 'the webhook to a.example is disabled: it answered 410'
    expect(world.told).toMatchObject([{ rule: 'endpoint-disabled', labels: { endpoint: 'a' }, summary }])
  })

  it('no-handler names the job, its queue and the nearest known name', async () => {
    await using world = new World(open)
    const chronos = world.start({ alerts: { rules: OTHERS_OFF } })
    chronos.work([work], { signals: false, maintenance: false, queues: ['payments'] })
    await chronos.enqueue('wrok', {}, { queue: 'payments' })
    await world.advance('10m')
    expect(world.told).toMatchObject([
      {
        rule: 'no-handler',
        labels: { queue: 'payments', name: 'wrok' },
        summary: 'no worker of queue payments has a handler for wrok: 1 job waits; did you mean work?',
      },
    ])
  })

  it.each([
    [false, ['firing nothing-pruned']],
    [{ succeeded: '1h', dead: '30d' }, []],
  ] as const)('nothing-pruned counts ended jobs unless some are pruned: retention %j', async (retention, heard) => {
    await using world = new World(open)
    const rules = { ...OTHERS_OFF, 'dead-letters': false, 'nothing-pruned': { fire: 2, clear: 1, for: '1m' } } as const
    const chronos = world.start({ alerts: { rules }, retention })
    await die(world, chronos, 3)
    await world.advance('10m')
    expect(world.told.map(({ notice, rule }) => `${notice} ${rule}`)).toEqual(heard)
    for (const { summary } of world.told)
      expect(summary).toBe('no job is ever pruned, and the store has 3 ended jobs or more')
  })

  it('schedule-missed fires once when no scheduler was running for occurrences', async () => {
    await using world = new World(open)
    const first = world.start({ alerts: { rules: OTHERS_OFF } })
    await first.schedules.put('hourly', { every: '1m', job: work, payload: { fails: 0 } })
    await world.advance('10m')
    expect(world.heard()).toEqual([])
    await world.stop(first)
    await world.advance('1h')
    world.start({ alerts: { rules: OTHERS_OFF } })
    await world.advance('30m')
    expect(world.told.map(({ notice, rule, labels }) => ({ notice, rule, labels }))).toEqual([
      { notice: 'firing', rule: 'schedule-missed', labels: { schedule: 'hourly' } },
      { notice: 'resolved', rule: 'schedule-missed', labels: { schedule: 'hourly' } },
    ])
    expect(world.told[0]!.summary).toMatch(/^\d+ occurrences were missed by schedule hourly: no scheduler was alive$/)
  })
})

/** Accepts every mail and drops it. */
const deaf = { sendMail: async () => undefined }
