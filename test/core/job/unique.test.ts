import { describe, expect, it } from 'vitest'
import { type EnqueueOptions, enqueueOptions } from '../../../src/core/job/options.js'
import { firstTimeOf, uniqueFieldsOf } from '../../../src/core/job/unique.js'
import { read } from '../../../src/core/values/schema.js'

const checked = (given: object): EnqueueOptions => read(enqueueOptions, given, 'enqueue "index":')
const unique = 'u'

describe('the options of unique', () => {
  it.each<[given: object, fields: object]>([
    [{}, {}],
    [{ unique }, { unique }],
    [
      { unique, mode: 'replace' },
      { unique, replacement: { mode: 'replace' } },
    ],
    [
      { unique, mode: 'replace', delay: '1s', key: 'k' },
      { unique, replacement: { mode: 'replace' } },
    ],
    [
      { unique, mode: 'debounce', for: '30s' },
      { unique, replacement: { mode: 'debounce', forMs: 30_000, maxWaitMs: 300_000 } },
    ],
    [
      { unique, mode: 'debounce', for: 250, maxWait: '5m' },
      { unique, replacement: { mode: 'debounce', forMs: 250, maxWaitMs: 300_000 } },
    ],
    [
      { unique, mode: 'debounce', for: '30s', maxWait: '30s' },
      { unique, replacement: { mode: 'debounce', forMs: 30_000, maxWaitMs: 30_000 } },
    ],
    [{ unique, mode: 'throttle', for: '1h' }, { throttle: { value: unique, forMs: 3_600_000 } }],
    [{ unique, mode: 'throttle', for: '1h', delay: '1m' }, { throttle: { value: unique, forMs: 3_600_000 } }],
  ])('give %j the fields %j', (given, fields) => {
    expect(uniqueFieldsOf(checked(given))).toEqual(fields)
  })

  it.each<[given: object, words: string]>([
    [
      { mode: 'replace' },
      'enqueue "index": mode "replace" needs a unique value; give unique, or leave mode out to enqueue every job',
    ],
    [{ unique, mode: 'last' }, 'enqueue "index": mode: expected one of "replace", "debounce", "throttle", got "last"'],
    [{ unique, mode: 'debounce' }, 'enqueue "index": mode "debounce" needs a duration; give for, such as "30s"'],
    [{ unique, mode: 'throttle' }, 'enqueue "index": mode "throttle" needs a duration; give for, such as "30s"'],
    [
      { unique, for: '30s' },
      'enqueue "index": for "30s" needs a mode; give mode "debounce" or "throttle", or leave for out',
    ],
    [
      { unique, maxWait: 90_000 },
      'enqueue "index": maxWait 1m 30s needs a mode; give mode "debounce", or leave maxWait out',
    ],
    [
      { unique, mode: 'replace', for: '30s' },
      'enqueue "index": for "30s" has no effect with mode "replace"; leave for out, or give mode "debounce" or "throttle"',
    ],
    [
      { unique, mode: 'replace', maxWait: '5m' },
      'enqueue "index": maxWait "5m" has no effect with mode "replace"; leave maxWait out, or give mode "debounce"',
    ],
    [
      { unique, mode: 'throttle', for: '30s', maxWait: '5m' },
      'enqueue "index": maxWait "5m" has no effect with mode "throttle"; leave maxWait out, or give mode "debounce"',
    ],
    [
      { unique, mode: 'debounce', for: '30s', maxWait: '10s' },
      'enqueue "index": maxWait "10s" is shorter than for "30s"; give a longer maxWait, or a shorter for',
    ],
    [
      { unique, mode: 'debounce', for: '30s', delay: '1s' },
      'enqueue "index": mode "debounce" sets the time by for; leave delay out, or give mode "replace"',
    ],
    [
      { unique, mode: 'debounce', for: '30s', maxWait: '5m', runAt: new Date(0) },
      'enqueue "index": mode "debounce" sets the time by for; leave runAt out, or give mode "replace"',
    ],
    [{ unique, mode: 'throttle', for: 0.5 }, 'enqueue "index": for: expected a duration of at least 1ms, got 0.5'],
    [{ unique, mode: 'throttle', for: 'soon' }, 'enqueue "index": for: expected a duration such as "30s"'],
    [{ unique, mode: 'debounce', for: 1, maxWait: 0 }, 'enqueue "index": maxWait: expected a duration of at least 1ms'],
  ])('refuse %j', (given, words) => {
    expect(() => checked(given)).toThrow(words)
  })

  it('set the time of the first job only with debounce', () => {
    expect(firstTimeOf({ mode: 'replace' })).toBeUndefined()
    expect(firstTimeOf({ mode: 'debounce', forMs: 5, maxWaitMs: 50 })).toEqual({ delayMs: 5 })
  })
})
