import { describe, expect, it } from 'vitest'
import {
  type Alert,
  advance,
  alertId,
  type Notice,
  notificationOf,
  relevantReadings,
} from '../../../src/core/alert/alert.js'
import type { RuleName } from '../../../src/core/alert/rules.js'
import { type AlertRule, DEFAULT_RULES, parseRules, viewRule } from '../../../src/core/alert/settings.js'
import { isSilenced, parseSilence } from '../../../src/core/alert/silence.js'

const MINUTE_MS = 60_000
const LABELS = { queue: 'payments' }

const ruleOf = (name: RuleName, rules = DEFAULT_RULES): AlertRule => rules.find(rule => rule.name === name)!

type Line = readonly [minute: number, value: number | undefined, state: string, notice?: Notice]

/** Evaluates once per line, as if once a minute; returns the state at each, and the notices. */
function trace(rule: AlertRule, lines: readonly (readonly [minute: number, value: number | undefined])[]): Line[] {
  let alert: Alert | undefined
  return lines.map(([minute, value]): Line => {
    const reading = value === undefined ? undefined : { labels: LABELS, value, summary: 'in words' }
    const look = { now: minute * MINUTE_MS, everyMs: MINUTE_MS, isSilenced: false }
    const step = advance(alert, reading, rule, look)
    alert = step.alert
    const state = alert?.state ?? 'inactive'
    return step.notice ? [minute, value, state, step.notice] : [minute, value, state]
  })
}

const check = (rule: AlertRule, lines: readonly Line[]): void =>
  expect(
    trace(
      rule,
      lines.map(([minute, value]) => [minute, value]),
    ),
  ).toEqual(lines)

describe('an alert', () => {
  it('fires when there are dead letters for five minutes without a break', () => {
    check(ruleOf('dead-letters'), [
      [0, 1, 'pending'],
      [1, 1, 'pending'],
      [2, 0, 'inactive'],
      [3, 1, 'pending'],
      [4, 2, 'pending'],
      [5, 2, 'pending'],
      [6, 2, 'pending'],
      [7, 2, 'pending'],
      [7.5, 2, 'pending'],
      [8, 2, 'firing', 'firing'],
      [9, 0, 'firing'],
      [10, 0, 'inactive', 'resolved'],
    ])
  })

  it('has two thresholds, so that a varying rate does not alert all the time', () => {
    check(ruleOf('retry-rate'), [
      [0, 0.11, 'pending'],
      [1, 0.12, 'pending'],
      [2, 0.1, 'inactive'],
      [3, 0.11, 'pending'],
      [4, 0.12, 'pending'],
      [5, 0.13, 'pending'],
      [6, 0.12, 'pending'],
      [7, 0.13, 'pending'],
      [8, 0.13, 'firing', 'firing'],
      [9, 0.09, 'firing'],
      [10, 0.085, 'firing'],
      [11, 0.07, 'firing'],
      [12, 0.07, 'firing'],
      [13, 0.09, 'firing'],
      [14, 0.05, 'firing'],
      [15, 0.05, 'firing'],
      [16, 0.05, 'firing'],
      [17, 0.05, 'firing'],
      [18, 0.05, 'inactive', 'resolved'],
    ])
  })

  it('restarts its wait after a rate was not measured for more than three evaluations', () => {
    check(ruleOf('retry-rate'), [
      [0, 0.2, 'pending'],
      [1, 0.2, 'pending'],
      [10, 0.2, 'pending'],
      [11, 0.2, 'pending'],
      [12, 0.2, 'pending'],
      [13, 0.2, 'pending'],
      [14, 0.2, 'pending'],
      [15, 0.2, 'firing', 'firing'],
    ])
  })

  it('keeps its wait over three missed evaluations, and for a level over more', () => {
    check(ruleOf('retry-rate'), [
      [0, 0.2, 'pending'],
      [3, 0.2, 'pending'],
      [6, 0.2, 'firing', 'firing'],
    ])
    check(ruleOf('dead-letters'), [
      [0, 1, 'pending'],
      [1, 1, 'pending'],
      [10, 1, 'firing', 'firing'],
    ])
  })

  it('ends when there is nothing left to measure', () => {
    check(ruleOf('retry-rate', parseRules({ 'retry-rate': { for: '0s', keep: '2m' } }, 'rules')), [
      [0, undefined, 'inactive'],
      [1, 0.5, 'firing', 'firing'],
      [2, undefined, 'firing'],
      [3, undefined, 'inactive', 'resolved'],
    ])
  })

  it('repeats its notice when a burst has doubled, and not before', () => {
    check(ruleOf('exhausted-burst'), [
      [0, 9, 'inactive'],
      [1, 10, 'firing', 'firing'],
      [2, 19, 'firing'],
      [3, 20, 'firing', 'repeat'],
      [4, 39, 'firing'],
      [5, 45, 'firing', 'repeat'],
      [6, 4, 'firing'],
      [14, 4, 'firing'],
      [15, 4, 'inactive', 'resolved'],
    ])
  })

  it('repeats its notice every four hours while it fires', () => {
    const minutes = [0, 5, 239, 244, 245, 246, 484, 485]
    const told = trace(
      ruleOf('dead-letters'),
      minutes.map(minute => [minute, 1]),
    ).flatMap(([minute, , , notice]) => (notice ? [[minute, notice]] : []))
    expect(told).toEqual([
      [5, 'firing'],
      [245, 'repeat'],
      [485, 'repeat'],
    ])
  })

  it('is critical above a separate threshold, or when it is urgent', () => {
    const rule = ruleOf('dead-letters')
    const look = { now: 0, everyMs: MINUTE_MS, isSilenced: false }
    const at = (value: number, isUrgent?: boolean) =>
      advance(undefined, { labels: LABELS, value, summary: '', ...(isUrgent && { isUrgent }) }, rule, look).alert!
        .severity
    expect([at(100), at(101), at(1, true)]).toEqual(['warning', 'critical', 'critical'])
  })

  it('repeats its notice when it becomes critical, and stays critical until it is resolved', () => {
    const rule = { ...ruleOf('dead-letters'), forMs: 0, keepMs: 0 }
    let alert: Alert | undefined
    const told = [50, 150, 50, 150, 0].map((value, minute) => {
      const look = { now: minute * MINUTE_MS, everyMs: MINUTE_MS, isSilenced: false }
      const step = advance(alert, { labels: LABELS, value, summary: '' }, rule, look)
      alert = step.alert
      return [alert?.severity, step.notice]
    })
    expect(told).toEqual([
      ['warning', 'firing'],
      ['critical', 'repeat'],
      ['critical', undefined],
      ['critical', undefined],
      ['critical', 'resolved'],
    ])
  })

  it('sends its notice when its silence ends, and no resolved notice without a firing one', () => {
    const rule = { ...ruleOf('dead-letters'), forMs: 0, keepMs: 0 }
    const reading = { labels: LABELS, value: 1, summary: '' }
    const look = (minute: number, isSilenced: boolean) => ({ now: minute * MINUTE_MS, everyMs: MINUTE_MS, isSilenced })
    const fired = advance(undefined, reading, rule, look(0, true))
    expect(fired).toMatchObject({ alert: { state: 'firing' } })
    expect(fired.notice).toBeUndefined()
    expect(advance(fired.alert, undefined, rule, look(1, false)).notice).toBeUndefined()
    expect(advance(fired.alert, reading, rule, look(1, false)).notice).toBe('firing')
  })

  it('has one id for its rule and labels, whatever their order', () => {
    const id = alertId('dead-letters', { queue: 'a', name: 'b' })
    expect(alertId('dead-letters', { name: 'b', queue: 'a' })).toBe(id)
    expect(alertId('dead-letters', { name: 'a', queue: 'b' })).not.toBe(id)
    expect(alertId('no-workers', { queue: 'a', name: 'b' })).not.toBe(id)
  })

  it('has notices whose ids are the same in every delivery', () => {
    const rule = { ...ruleOf('dead-letters'), forMs: 0 }
    const look = { now: MINUTE_MS, everyMs: MINUTE_MS, isSilenced: false }
    const { alert } = advance(undefined, { labels: LABELS, value: 1, summary: '' }, rule, look)
    const ids = (['firing', 'repeat', 'resolved'] as const).map(notice => notificationOf(alert!, notice, 99).id)
    expect(ids).toEqual(['firing', 'repeat-1', 'resolved'].map(end => `alert_${alert!.id}_${MINUTE_MS}_${end}`))
  })
})

describe('rules of alerts', () => {
  it('have defaults, shown as they can be written', () => {
    expect(viewRule(ruleOf('dead-letters'))).toEqual({
      name: 'dead-letters',
      about: 'Unacknowledged dead letters of a queue',
      details: expect.stringContaining('Acknowledged'),
      unit: 'count',
      enabled: true,
      fire: 0,
      clear: 0,
      critical: 100,
      for: '5m',
      keep: '2m',
      repeat: '4h',
    })
    expect(viewRule(ruleOf('queue-latency'))).toMatchObject({ fire: '5m', clear: '2m', critical: '1h' })
    for (const rule of DEFAULT_RULES) {
      const { name, about, details, unit, ...settings } = viewRule(rule)
      expect(ruleOf(name, parseRules({ [name]: settings }, 'rules'))).toEqual(rule)
    }
  })

  it('are changed in part, and the second threshold follows the first', () => {
    const rules = parseRules({ 'retry-rate': { fire: 0.05, for: '10m' }, 'no-workers': false }, 'rules')
    expect(ruleOf('retry-rate', rules)).toMatchObject({ fire: 0.05, clear: 0.05, forMs: 600_000, minRetries: 5 })
    expect(ruleOf('no-workers', rules).enabled).toBe(false)
    expect(ruleOf('dead-letters', rules)).toEqual(ruleOf('dead-letters'))
  })

  it.each([
    [{ 'dead-leters': {} }, 'did you mean "dead-letters"?'],
    [{ 'retry-rate': { fier: 1 } }, 'did you mean "fire"?'],
    [{ 'retry-rate': { fire: '10%' } }, 'rules.retry-rate.fire: expected a share such as 0.1 for 10 %, got "10%"'],
    [{ 'retry-rate': { fire: 0.1, clear: 0.2 } }, 'clear must not be above fire: expected at most 0.1, got 0.2'],
    [{ 'queue-latency': { fire: 'soon' } }, 'rules.queue-latency.fire: expected a duration such as "30s"'],
    [{ 'dead-letters': { for: '8d' } }, 'rules.dead-letters.for: expected a duration of at most 7d'],
    [{ 'dead-letters': { window: '5m' } }, 'unknown key "window"'],
    [{ 'dead-letters': { repeat: '1s' } }, 'rules.dead-letters.repeat: expected a duration of at least 1m'],
    [{ 'dead-letters': { enabled: 'yes' } }, 'rules.dead-letters.enabled: expected true or false, got "yes"'],
    [{ 'dead-letters': true }, 'rules.dead-letters: expected false or an object of settings, got true'],
    [{ 'retry-rate': { minRetries: 1.5 } }, 'rules.retry-rate.minRetries: expected a whole number'],
    [{ 'dead-letters': { minRetries: 1 } }, 'unknown key "minRetries"'],
    [[], 'rules: expected an object, got an array'],
  ])('refuse %j', (input, words) => {
    expect(() => parseRules(input, 'rules')).toThrow(words)
  })
})

describe('a silence', () => {
  const silence = (input: unknown) => parseSilence(input, 'id', 0, 'silence')

  it.each([
    [{ for: '1h' }, true],
    [{ rule: 'dead-letters', for: '1h' }, true],
    [{ rule: 'no-workers', for: '1h' }, false],
    [{ labels: { queue: 'payments' }, for: '1h' }, true],
    [{ labels: { queue: 'mail' }, for: '1h' }, false],
    [{ labels: { circuit: 'payments' }, for: '1h' }, false],
  ])('%j covers dead letters of payments: %s', (input, covers) => {
    const alert = { rule: 'dead-letters', labels: LABELS } as const
    expect(isSilenced(alert, [silence(input)], 1_000)).toBe(covers)
    expect(isSilenced(alert, [silence(input)], 3_600_000)).toBe(false)
  })

  it.each([
    [{}, 'give for ("2h") or until (a time), got neither'],
    [{ for: '1h', until: '2030-01-01T00:00:00Z' }, 'got both'],
    [{ until: '1960-01-01T00:00:00Z' }, 'silence.until: expected a time to come'],
    [{ rule: 'dead', for: '1h' }, 'silence.rule: expected one of "dead-letters", '],
    [{ labels: { queue: 5 }, for: '1h' }, 'silence.labels.queue: expected a text'],
    [{ labels: 'queue', for: '1h' }, 'silence.labels: expected an object of labels, got "queue"'],
    [{ hours: 2 }, 'unknown key "hours"'],
  ])('refuses %j', (input, words) => {
    expect(() => silence(input)).toThrow(words)
  })
})

describe('relevant readings', () => {
  const rule = { ...ruleOf('dead-letters'), fire: 1 }
  const readings = Array.from({ length: 1_000 }, (_, number) => ({
    labels: { queue: `q${number}` },
    value: number < 500 ? 0 : 2,
    summary: '',
  }))
  const of = (queue: string): string => alertId(rule.name, { queue })
  const known = new Map([[of('q3'), { labels: { queue: 'q3' } }]])

  it('are those of known alerts, and as many new ones as there is room for', () => {
    const { seen, isFull } = relevantReadings(rule, readings, known, 2)
    expect([...seen.keys()]).toEqual([of('q3'), of('q500'), of('q501')])
    expect(isFull).toBe(true)
  })

  it('are all that could fire, if there is room', () => {
    const { seen, isFull } = relevantReadings(rule, readings, known, 500)
    expect([seen.size, isFull]).toEqual([501, false])
  })
})
