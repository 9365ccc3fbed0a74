import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exponential, fibonacci, fixed, linear, list } from '../../../src/core/policy/builders.js'
import {
  mergePolicies,
  type PolicyInput,
  parsePolicy,
  type Rule,
  storablePolicy,
} from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { ChronosError } from '../../../src/core/values/error.js'

const parse = (input: unknown) => parsePolicy(input, 'retry')

describe('parsePolicy accepts (R1, R5)', () => {
  it('a preset by name', () => {
    expect(parse('http')).toEqual(PRESETS.http)
  })

  it('a whole policy, and parses what it gave again', () => {
    const policy = {
      maxRetries: 5,
      backoff: { type: 'exponential', base: '1s', factor: 1.5 },
      jitter: 'full',
      cap: '5m',
      maxElapsed: '1h',
      retryAfter: false,
      rules: [
        { when: { name: 'StripeError', code: ['a', 'b'], status: [402, '5xx', [520, 530]] }, as: 'permanent' },
        { when: { status: '4xx' }, as: 'transient', delay: '10s' },
      ],
    }
    expect(parse(policy)).toEqual(policy)
    expect(parse(parse(policy))).toEqual(policy)
  })

  it('a part of one, and nothing at all', () => {
    expect(parse({ maxRetries: 0 })).toEqual({ maxRetries: 0 })
    expect(parse({ cap: '1m', jitter: undefined })).toEqual({ cap: '1m' })
    expect(parse({})).toEqual({})
  })

  it.each([
    [{ type: 'exponential', base: '1s' }],
    [{ type: 'linear', base: 1_000, increment: '2s' }],
    [{ type: 'fixed', delay: 0 }],
    [{ type: 'fibonacci', base: '1s' }],
    [{ type: 'list', delays: ['30s', 60_000], afterEnd: 'stop' }],
    [{ type: 'custom', name: 'mine' }],
  ])('the backoff %j', backoff => {
    expect(parse({ backoff })).toEqual({ backoff })
  })

  const documentOne: readonly [PolicyInput, object][] = [
    [
      { maxRetries: 5, retryDelay: 30_000, useExponentialBackoff: true },
      { maxRetries: 5, backoff: { type: 'exponential', base: 30_000 } },
    ],
    [{ retryDelay: '30s', useExponentialBackoff: false }, { backoff: { type: 'fixed', delay: '30s' } }],
    [{ retryDelay: 30_000 }, { backoff: { type: 'exponential', base: 30_000 } }],
    [{ useExponentialBackoff: false }, { backoff: { type: 'fixed', delay: '60s' } }],
    [
      {
        maxRetries: 3,
        baseRetryDelay: 60_000,
        maxRetryDelay: 3_600_000,
        retryStrategy: 'exponential',
        jitterEnabled: true,
        jitterFactor: 0.2,
      },
      { maxRetries: 3, backoff: { type: 'exponential', base: 60_000 }, jitter: 0.2, cap: 3_600_000 },
    ],
    [{ retryStrategy: 'linear', baseRetryDelay: 5 }, { backoff: { type: 'linear', base: 5 } }],
    [{ retryStrategy: 'fixed', baseRetryDelay: 5 }, { backoff: { type: 'fixed', delay: 5 } }],
    [{ retryStrategy: 'fibonacci' }, { backoff: { type: 'fibonacci', base: '60s' } }],
    [{ jitterEnabled: false, jitterFactor: 0.5 }, { jitter: 'none' }],
    [{ jitterEnabled: true }, { jitter: 0.2 }],
    [{ jitterFactor: 0.5 }, { jitter: 0.5 }],
    [{ maxRetryDelay: 10 }, { cap: 10 }],
  ]
  it.each(documentOne)("document 1's %j", (input, policy) => {
    expect(parse(input)).toEqual(policy)
  })

  it('a predicate, unless the policy is to be stored', () => {
    const rule: Rule = { when: { predicate: () => true }, as: 'permanent' }
    expect(parse({ rules: [rule] })).toEqual({ rules: [rule] })
    expect(() => parsePolicy({ rules: [rule] }, 'retry', { stored: true })).toThrow(
      /^retry\.rules\[0\]\.when\.predicate: a function can not be stored; /,
    )
  })
})

describe('parsePolicy refuses', () => {
  const rule = { when: { code: 'X' }, as: 'permanent' }
  const refusals: readonly [unknown, string][] = [
    ['htpp', 'retry: unknown preset "htpp"; did you mean "http"?'],
    ['quickly', 'retry: unknown preset "quickly"; expected one of standard, http, '],
    [null, 'retry: expected an object, got null'],
    [7, 'retry: expected an object, got 7'],
    [[], 'retry: expected an object, got an array'],
    [new Map(), 'retry: expected a plain object, got an instance of a class'],
    [{ maxRetry: 1 }, 'retry: unknown key "maxRetry"; did you mean "maxRetries"?'],
    [{ speed: 1 }, 'retry: unknown key "speed"; expected one of maxRetries, backoff, '],
    [JSON.parse('{"__proto__": {}}'), 'retry: the key "__proto__" is not allowed; remove it'],
    [{ constructor: 1 }, 'retry: the key "constructor" is not allowed; remove it'],
    [{ prototype: 1 }, 'retry: the key "prototype" is not allowed; remove it'],
    [{ [Symbol('x')]: 1 }, 'retry: the key a symbol is not allowed; remove it'],
    [{ cap: null }, 'retry.cap: got null; leave it out instead'],
    [{ maxRetries: -1 }, 'retry.maxRetries: expected a whole number from 0 to 1000, got -1'],
    [{ maxRetries: 1.5 }, 'retry.maxRetries: expected a whole number from 0 to 1000, got 1.5'],
    [{ maxRetries: '3' }, 'retry.maxRetries: expected a whole number from 0 to 1000, got "3"'],
    [
      { maxRetries: Number.POSITIVE_INFINITY },
      'retry.maxRetries: expected a whole number from 0 to 1000, got Infinity',
    ],
    [{ maxRetries: 1_001 }, 'retry.maxRetries: expected a whole number from 0 to 1000, got 1001'],
    [{ cap: 'soon' }, 'retry.cap: expected a duration such as "30s" or a number of milliseconds, got "soon"'],
    [{ jitter: 1.1 }, 'retry.jitter: expected a number from 0 to 1, got 1.1'],
    [
      { jitter: 'ful' },
      'retry.jitter: expected one of "none", "full", "equal", "decorrelated", or a number from 0 to 1, got "ful"; did you mean "full"?',
    ],
    [{ backoff: 'exponential' }, 'retry.backoff: expected an object, got "exponential"'],
    [{ backoff: { base: '1s' } }, 'retry.backoff.type: expected one of "exponential", "linear", '],
    [{ backoff: { type: 'expo', base: '1s' } }, 'retry.backoff.type: expected one of '],
    [{ backoff: { type: 'exponential' } }, 'retry.backoff.base: expected a duration '],
    [
      { backoff: { type: 'exponential', base: '1s', factor: 0.5 } },
      'retry.backoff.factor: expected a number from 1 to 100, got 0.5',
    ],
    [
      { backoff: { type: 'exponential', base: '1s', factor: 101 } },
      'retry.backoff.factor: expected a number from 1 to 100, got 101',
    ],
    [{ backoff: { type: 'fixed', base: '1s' } }, 'retry.backoff: unknown key "base"; '],
    [{ backoff: { type: 'list', delays: [] } }, 'retry.backoff.delays: expected at least one delay; '],
    [{ backoff: { type: 'list', delays: '30s' } }, 'retry.backoff.delays: expected a list of delays, got "30s"'],
    [{ backoff: { type: 'list', delays: ['1s', 'x'] } }, 'retry.backoff.delays[1]: expected a duration '],
    [
      { backoff: { type: 'list', delays: Array(1_001).fill(1) } },
      'retry.backoff.delays: expected at most 1000 delays, got 1001',
    ],
    [
      { backoff: { type: 'list', delays: ['30s', '2m'] }, cap: '1m' },
      'retry.backoff.delays[1]: "2m" is over the cap of "1m"; ',
    ],
    [
      { backoff: { type: 'list', delays: ['30s'] }, maxRetries: 2 },
      'retry.maxRetries: 2 retries, but the list has 1 delays; ',
    ],
    [{ backoff: { type: 'custom', name: '' } }, 'retry.backoff.name: expected the name of a backoff function '],
    [
      { backoff: { type: 'linear', base: 1 }, jitter: 'decorrelated' },
      'retry.jitter: "decorrelated" needs exponential backoff, got linear; ',
    ],
    [
      { backoff: { type: 'fixed', delay: 1 }, retryDelay: 1 },
      'retry: "backoff" and "retryDelay" say the same thing; keep one of them',
    ],
    [{ retryDelay: 1, baseRetryDelay: 1 }, 'retry: "retryDelay" and "baseRetryDelay" say the same thing; '],
    [{ cap: 1, maxRetryDelay: 1 }, 'retry: "cap" and "maxRetryDelay" say the same thing; '],
    [{ jitter: 0.1, jitterEnabled: true }, 'retry: "jitter" and "jitterEnabled" say the same thing; '],
    [
      { retryStrategy: 'list' },
      'retry.retryStrategy: expected one of "exponential", "linear", "fixed", "fibonacci", got "list"',
    ],
    [{ useExponentialBackoff: 1 }, 'retry.useExponentialBackoff: expected true or false, got 1'],
    [{ rules: rule }, 'retry.rules: expected a list of rules, got an object'],
    [{ rules: Array(101).fill(rule) }, 'retry.rules: expected at most 100 rules, got 101'],
    [
      { rules: [{ ...rule, as: 'fatal' }] },
      'retry.rules[0].as: expected one of "transient", "throttled", "permanent", "gone", "blocked", got "fatal"',
    ],
    [{ rules: [{ when: {}, as: 'permanent' }] }, 'retry.rules[0].when: expected a name, code, status or predicate; '],
    [{ rules: [{ as: 'permanent' }] }, 'retry.rules[0].when: expected an object, got undefined'],
    [{ rules: [{ ...rule, after: 1 }] }, 'retry.rules[0]: unknown key "after"; '],
    [{ rules: [{ ...rule, delay: 'x' }] }, 'retry.rules[0].delay: expected a duration '],
    [
      { rules: [{ when: { status: 42 }, as: 'permanent' }] },
      'retry.rules[0].when.status: expected a status from 100 to 599, ',
    ],
    [
      { rules: [{ when: { status: '6xx' }, as: 'permanent' }] },
      'retry.rules[0].when.status: expected a status from 100 to 599, ',
    ],
    [
      { rules: [{ when: { status: [500, 599] }, as: 'permanent' }] },
      'retry.rules[0].when.status: a list of statuses, or a range in a list: [[500, 599]]',
    ],
    [
      { rules: [{ when: { status: [[503, 500]] }, as: 'permanent' }] },
      'retry.rules[0].when.status[0]: expected a range of statuses ',
    ],
    [
      { rules: [{ when: { name: [] }, as: 'permanent' }] },
      'retry.rules[0].when.name: expected at least 1 values, got 0',
    ],
    [
      { rules: [{ when: { code: 23 }, as: 'permanent' }] },
      'retry.rules[0].when.code: expected a text of 1 to 200 characters, or a list of values, got 23',
    ],
    [
      { rules: [{ when: { predicate: 'x' }, as: 'permanent' }] },
      'retry.rules[0].when.predicate: expected a function, got "x"',
    ],
  ]
  it.each(refusals)('%j: %s', (input, message) => {
    expect(() => parse(input)).toThrow(ChronosError)
    expect(() => parse(input)).toThrow(message)
  })

  it('anything else with a ChronosError, and never with anything else', () => {
    const word = fc.constantFrom(
      'maxRetries',
      'backoff',
      'jitter',
      'cap',
      'rules',
      'type',
      'base',
      'delays',
      'when',
      'as',
      'status',
    )
    const form = fc.dictionary(word, fc.oneof(fc.anything(), fc.dictionary(word, fc.anything())))
    fc.assert(
      fc.property(
        fc.oneof(fc.anything({ withNullPrototype: true, withMap: true, withBigInt: true }), form),
        onlyChronosErrors,
      ),
      { numRuns: 3_000 },
    )
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('trap')
        },
      },
    )
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const getter = {
      get maxRetries() {
        throw new Error('getter')
      },
    }
    for (const nasty of [trap, proxy, getter, { backoff: trap }, { rules: [proxy] }]) onlyChronosErrors(nasty)
  })
})

function onlyChronosErrors(input: unknown): void {
  try {
    parse(input)
  } catch (error) {
    expect(error).toBeInstanceOf(ChronosError)
  }
}

describe('mergePolicies (R4, R5)', () => {
  it('returns the standard policy if no level sets anything', () => {
    expect(mergePolicies()).toEqual(PRESETS.standard)
    expect(mergePolicies(undefined, {})).toEqual(PRESETS.standard)
  })

  it('takes each field from the most specific of job, definition, queue and instance', () => {
    const merged = mergePolicies(
      { maxRetries: 9 },
      { jitter: 'full', maxRetries: 8 },
      { cap: '2h', jitter: 'equal' },
      { maxElapsed: '1d', retryAfter: false },
    )
    expect(merged).toEqual({
      ...PRESETS.standard,
      maxRetries: 9,
      jitter: 'full',
      cap: '2h',
      maxElapsed: '1d',
      retryAfter: false,
    })
  })

  it('replaces the backoff as a whole', () => {
    const merged = mergePolicies(
      { backoff: { type: 'exponential', base: '1s' } },
      { backoff: { type: 'exponential', base: '9s', factor: 3 } },
    )
    expect(merged.backoff).toEqual({ type: 'exponential', base: '1s' })
  })

  it('puts the rules of the more specific level first', () => {
    const rule = (code: string): Rule => ({ when: { code }, as: 'permanent' })
    expect(mergePolicies({ rules: [rule('a')] }, {}, { rules: [rule('b'), rule('c')] }).rules).toEqual([
      rule('a'),
      rule('b'),
      rule('c'),
    ])
  })

  it('is the same in two steps, as when an override meets a stored policy', () => {
    const levels = [list(['1s', '2s']), exponential({ cap: '1m' }), { maxRetries: 7, rules: [] }]
    expect(mergePolicies(levels[0], mergePolicies(levels[1], levels[2]))).toEqual(mergePolicies(...levels))
  })

  describe('when levels conflict', () => {
    it('a list brings its own number of retries', () => {
      expect(mergePolicies(list(['1s', '2s']), { maxRetries: 9 }).maxRetries).toBe(2)
      expect(mergePolicies({ maxRetries: 1 }, list(['1s', '2s'])).maxRetries).toBe(1)
      expect(mergePolicies(list(['1s', '2s'], { maxRetries: 1 }), { maxRetries: 9 }).maxRetries).toBe(1)
    })

    it('a list is exact (R53)', () => {
      expect(mergePolicies(list(['1s', '2s']), { jitter: 'full' }).jitter).toBe('none')
      expect(mergePolicies({ maxRetries: 1 }, list(['1s', '2s'])).jitter).toBe('none')
      expect(mergePolicies({ jitter: 'full' }, list(['1s', '2s'])).jitter).toBe('full')
      expect(mergePolicies(list(['1s', '2s'], { jitter: 0.1 }), { jitter: 'full' }).jitter).toBe(0.1)
    })

    it('a list that repeats is at least used up', () => {
      const repeating = list(['1s', '2s'], { afterEnd: 'repeat-last' })
      expect(mergePolicies(repeating, { maxRetries: 9 }).maxRetries).toBe(9)
      expect(mergePolicies(repeating, { maxRetries: 1 }).maxRetries).toBe(2)
    })

    it('more retries than delays in a list of a less specific level repeat the last delay', () => {
      expect(mergePolicies({ maxRetries: 5 }, PRESETS.webhook)).toMatchObject({
        maxRetries: 5,
        backoff: { type: 'list', afterEnd: 'repeat-last' },
      })
    })

    it('a cap of a less specific level does not cut a configured delay', () => {
      expect(mergePolicies(fixed({ delay: '2h' })).cap).toBeUndefined()
      expect(mergePolicies(list(['1s', '3h'])).cap).toBeUndefined()
      expect(mergePolicies(list(['1s', '3s']), { cap: '1h' }).cap).toBeUndefined()
      expect(mergePolicies(fixed({ delay: '30m' })).cap).toBe('1h')
      expect(mergePolicies({ cap: '10s' }, PRESETS.webhook).cap).toBe('10s')
    })

    it('decorrelated jitter becomes equal jitter without exponential backoff', () => {
      expect(mergePolicies(linear(), { jitter: 'decorrelated' }).jitter).toBe('equal')
      expect(mergePolicies({ jitter: 'decorrelated' }, linear()).jitter).toBe('equal')
      expect(mergePolicies({ jitter: 'decorrelated' }).jitter).toBe('decorrelated')
    })

    it('more retries over the preset none do not come at once', () => {
      expect(mergePolicies({ maxRetries: 2 }, PRESETS.none)).toEqual({ ...PRESETS.standard, maxRetries: 2 })
    })
  })

  it('always gives a policy that parses', () => {
    const input = fc.constantFrom<PolicyInput>(
      'http',
      'webhook',
      'none',
      'patient',
      { maxRetries: 7 },
      { jitter: 'decorrelated' },
      { cap: '5s' },
      list(['1s', '2h']),
      list(['1s'], { afterEnd: 'repeat-last' }),
      linear({ jitter: 'full' }),
      { retryDelay: 5 },
      { maxRetryDelay: 1 },
    )
    fc.assert(
      fc.property(fc.array(input, { maxLength: 4 }), inputs => {
        const merged = mergePolicies(...inputs.map(parse))
        // Only a cap that was set on purpose over a list of a less specific level needs two levels to parse.
        const { cap, ...rest } = merged
        expect(parse(rest)).toEqual(rest)
        if (cap !== undefined) expect(parse({ cap })).toEqual({ cap })
      }),
    )
  })
})

describe('builders (R1)', () => {
  it('make the policies of their names', () => {
    expect(
      exponential({
        base: '1m',
        cap: '1h',
        maxRetries: 3,
        jitter: 0.2,
        factor: 3,
        maxElapsed: '1d',
        rules: [],
        retryAfter: false,
      }),
    ).toEqual({
      maxRetries: 3,
      backoff: { type: 'exponential', base: '1m', factor: 3 },
      jitter: 0.2,
      cap: '1h',
      maxElapsed: '1d',
      rules: [],
      retryAfter: false,
    })
    expect(linear({ base: '1s', increment: '2s' })).toEqual({
      backoff: { type: 'linear', base: '1s', increment: '2s' },
    })
    expect(fixed({ delay: '5s' })).toEqual({ backoff: { type: 'fixed', delay: '5s' } })
    expect(fibonacci()).toEqual({ backoff: { type: 'fibonacci', base: '60s' } })
    expect(list(['30s', '60s'], { jitter: 'none' })).toEqual({
      backoff: { type: 'list', delays: ['30s', '60s'] },
      jitter: 'none',
    })
  })

  it('refuse at once', () => {
    expect(() => exponential({ base: 'soon' as never })).toThrow('exponential.base: expected a duration ')
    expect(() => fixed({ base: '1s' } as never)).toThrow('fixed: unknown key "base"')
    expect(() => list([])).toThrow('list.backoff.delays: expected at least one delay')
    expect(() => exponential({ maxRetries: 1_001 })).toThrow(
      'exponential.maxRetries: expected a whole number from 0 to 1000',
    )
  })
})

describe('storablePolicy', () => {
  it('leaves out whole rules that only code can have', () => {
    const kept: Rule = { when: { code: 'a' }, as: 'permanent' }
    const policy = {
      ...PRESETS.http,
      rules: [{ when: { code: 'b', predicate: () => true }, as: 'gone' } as const, kept],
    }
    expect(storablePolicy(policy).rules).toEqual([kept])
    expect(storablePolicy(PRESETS.http)).toBe(PRESETS.http)
  })
})
