import { describe, expect, it } from 'vitest'
import { fieldsOf, type Strategy } from '../../src/core/policy/flat.js'
import { PRESETS, type PresetName } from '../../src/core/policy/presets.js'
import { preview } from '../../src/core/policy/preview.js'
import { COUNT_STEPS, DELAY_STEPS, nearestStep, RATE_STEPS } from '../../src/dashboard/charts/steps.js'
import { choiceFrom, choiceOf, formOf, isChanged, policyOf, queryOf } from '../../src/dashboard/policy/policy-form.js'
import { policyWords } from '../../src/dashboard/policy/policy-words.js'
import {
  hasLimits,
  isSame,
  SCENARIOS,
  scenarioFrom,
  scenarioOf,
  scenarioQuery,
} from '../../src/dashboard/simulator/scenario.js'

const NAMES = Object.keys(PRESETS) as PresetName[]
/** The defined parameters of a query. */
const given = (query: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))

describe('a policy as a form', () => {
  it.each(NAMES)('converts back to the same policy (%s)', name => {
    expect(preview(policyOf(formOf(PRESETS[name])))).toEqual(preview(PRESETS[name]))
  })

  it('converts back to the same policy with a factor, an increment and milliseconds', () => {
    const exponential = {
      maxRetries: 4,
      backoff: { type: 'exponential', base: 1_500, factor: 3 },
      jitter: 0.125,
      cap: 90_000,
    } as const
    const linear = {
      maxRetries: 4,
      backoff: { type: 'linear', base: '1s', increment: '2s' },
      jitter: 'none',
      maxElapsed: '1h',
    } as const
    expect(formOf(exponential)).toMatchObject({
      base: '1500ms',
      factor: '3',
      jitter: '12.5%',
      cap: '90s',
      maxElapsed: '',
    })
    for (const policy of [exponential, linear]) expect(preview(policyOf(formOf(policy)))).toEqual(preview(policy))
  })

  it.each([
    ['20%', 0.2],
    ['0.35', 0.35],
    ['equal', 'equal'],
  ])('reads the jitter %s', (jitter, expected) => {
    expect(policyOf({ ...formOf(PRESETS.standard), jitter }).jitter).toBe(expected)
  })

  it('repeats the last delay of a list with fewer delays than retries', () => {
    const form = { ...formOf(PRESETS.webhook), retries: '5' }
    expect(policyOf(form).backoff).toMatchObject({ afterEnd: 'repeat-last' })
  })

  it.each([
    [{ base: 'soon' }, /policy\.backoff\.base/],
    [{ retries: 'many' }, /policy\.maxRetries/],
    [{ jitter: 'a lot' }, /policy\.jitter/],
    [{ factor: '' }, /policy\.backoff\.factor/],
  ])('reports the error of %j', (change, problem) => {
    expect(() => policyOf({ ...formOf(PRESETS.standard), ...change })).toThrow(problem)
  })

  it('shows only the fields of its strategy', () => {
    const fieldsOfForm = (strategy: Strategy) => fieldsOf(strategy).map(({ name }) => name)
    expect((['exponential', 'fixed', 'list'] as const).map(fieldsOfForm)).toEqual([
      ['base', 'factor'],
      ['base'],
      ['delays'],
    ])
  })
})

describe('a policy in the URL', () => {
  it('has only the differences from its preset', () => {
    const choice = choiceOf('patient')
    expect(given(queryOf(choice))).toEqual({ policy: 'patient' })
    expect(given(queryOf({ ...choice, form: { ...choice.form, retries: '9' } }))).toEqual({
      policy: 'patient',
      retries: '9',
    })
    expect(given(queryOf(choiceOf('standard')))).toEqual({})
  })

  it('is restored beside a second policy', () => {
    const first = { ...choiceOf('http'), form: { ...choiceOf('http').form, jitter: 'full' } }
    const other = choiceOf('queue')
    const query = given({ ...queryOf(first), ...queryOf(other, 'b.') })
    expect([choiceFrom(query), choiceFrom(query, 'b.')]).toEqual([first, other])
    expect([isChanged(first), isChanged(other)]).toEqual([true, false])
  })

  it('falls back to valid values', () => {
    expect(choiceFrom({ policy: 'nonsense', strategy: 'magic' })).toMatchObject({
      preset: 'standard',
      form: { strategy: 'exponential' },
    })
  })
})

describe('a policy in words', () => {
  it.each([
    ['standard', 'exponential 1m ×2, ±20 %, cap 1h, 3 retries'],
    ['webhook', 'after 30s, 1m, 2m, no jitter, 3 retries'],
    ['none', 'no retries'],
    ['patient', 'exponential 30s ×2, jitter equal, cap 6h, 20 retries'],
  ] as const)('%s', (name, words) => {
    expect(policyWords(PRESETS[name])).toBe(words)
  })
})

describe('a scenario', () => {
  it.each(SCENARIOS)('$name is restored from the URL', ({ form }) => {
    expect(isSame(scenarioFrom(given(scenarioQuery(form))), form)).toBe(true)
  })

  it('keeps having no limit', () => {
    const form = { ...SCENARIOS[0]!.form, capacity: '' }
    expect(given(scenarioQuery(form))).toEqual({ capacity: 'none' })
    expect(scenarioOf(scenarioFrom({ capacity: 'none' }))).not.toHaveProperty('capacityPerSecond')
  })

  it('is the input of the simulation', () => {
    expect(scenarioOf(SCENARIOS[1]!.form)).toEqual({ jobs: 5_000, within: '20s', outage: '2m', capacityPerSecond: 200 })
  })

  it('has limits of the queue and of its partitions', () => {
    const form = { ...SCENARIOS[0]!.form, takes: '2s', rate: '90/m', burst: '3', concurrency: '4', partitionRate: '2' }
    expect(scenarioOf(form)).toMatchObject({
      takes: '2s',
      limit: { rate: '90/m', burst: 3, concurrency: 4 },
      partitions: { count: 1, rate: 2 },
    })
    expect(scenarioOf({ ...form, partitions: '50', partitionRate: '' })).toMatchObject({ partitions: { count: 50 } })
    expect([hasLimits(form), hasLimits(SCENARIOS[0]!.form)]).toEqual([true, false])
    expect(isSame(scenarioFrom(given(scenarioQuery(form))), form)).toBe(true)
  })
})

describe('a slider', () => {
  it.each([
    [DELAY_STEPS, '1s', '1s'],
    [DELAY_STEPS, '55s', '1m'],
    [COUNT_STEPS, '1100', '1000'],
    [COUNT_STEPS, 'none', '10'],
    [RATE_STEPS, '60/s', '50/s'],
  ])('is at the step nearest to the typed value (%#)', (steps, written, step) => {
    expect(steps[nearestStep(steps, written)]).toBe(step)
  })
})
