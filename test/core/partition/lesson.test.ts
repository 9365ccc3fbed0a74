import { describe, expect, it } from 'vitest'
import { lessonOfError, lessonOfHeaders } from '../../../src/core/partition/lesson.js'
import type { Lesson } from '../../../src/core/partition/pace.js'

const NOW = Date.parse('2026-11-18T08:00:00Z')
const headersOf = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name]

type Said = readonly [headers: Readonly<Record<string, string>>, lesson: Lesson | undefined]

describe('the headers of a response', () => {
  it.each<Said>([
    [{}, undefined],
    [{ ratelimit: '"default";r=50;t=30' }, { kind: 'left', starts: 50, ms: 30_000 }],
    [{ ratelimit: '"burst";r=5;t=1, "day";r=10;t=3600' }, { kind: 'left', starts: 10, ms: 3_600_000 }],
    [{ ratelimit: 'limit=100, remaining=0, reset=7' }, { kind: 'left', starts: 0, ms: 7_000 }],
    [{ ratelimit: '"default";r=50' }, undefined],
    [
      { 'ratelimit-remaining': '3', 'ratelimit-reset': '60' },
      { kind: 'left', starts: 3, ms: 60_000 },
    ],
    [{ 'ratelimit-remaining': '3' }, undefined],
    [
      { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW / 1_000 + 90) },
      { kind: 'left', starts: 1, ms: 90_000 },
    ],
    [
      { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW + 5_000) },
      { kind: 'left', starts: 1, ms: 5_000 },
    ],
    [
      { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': String(NOW / 1_000 - 90) },
      { kind: 'left', starts: 1, ms: 0 },
    ],
    [
      { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '6m0s' },
      { kind: 'left', starts: 59, ms: 360_000 },
    ],
    [
      { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '20ms' },
      { kind: 'left', starts: 59, ms: 20 },
    ],
    [{ 'x-ratelimit-remaining': 'many', 'x-ratelimit-reset': '5' }, undefined],
    [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': 'soon' }, undefined],
  ])('%j teach %j', (headers, lesson) => {
    expect(lessonOfHeaders(headersOf(headers), NOW)).toEqual(lesson)
  })
})

type Failed = readonly [thrown: object, retryAfterMs: number | undefined, lesson: Lesson | undefined]

describe('a failed run', () => {
  it.each<Failed>([
    [{ message: 'no' }, undefined, undefined],
    [{ status: 500 }, undefined, undefined],
    [{ status: 503 }, undefined, undefined],
    [{ status: 503, headers: { 'retry-after': '9' } }, undefined, { kind: 'wait', ms: 9_000 }],
    [{ status: 500, headers: { 'retry-after': '9' } }, undefined, undefined],
    [{ status: 429 }, undefined, { kind: 'refused' }],
    [{ statusCode: 429 }, undefined, { kind: 'refused' }],
    [{ response: { status: 429, headers: { 'Retry-After': '2' } } }, undefined, { kind: 'wait', ms: 2_000 }],
    [{ message: 'wrapped', cause: { status: 429 } }, undefined, { kind: 'refused' }],
    [{ status: 429, headers: { ratelimit: '"d";r=0;t=4' } }, undefined, { kind: 'wait', ms: 4_000 }],
    [{ status: 500, headers: { ratelimit: '"d";r=2;t=4' } }, undefined, { kind: 'left', starts: 2, ms: 4_000 }],
    [{ message: 'RetryAfter of the handler' }, 3_000, { kind: 'wait', ms: 3_000 }],
  ])('with %j and a wait of %s teaches %j', (thrown, retryAfterMs, lesson) => {
    expect(lessonOfError(thrown, retryAfterMs, NOW)).toEqual(lesson)
  })

  it('teaches by the headers of fetch, too', () => {
    const headers = new Headers({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '30' })
    expect(lessonOfError({ status: 429, headers }, undefined, NOW)).toEqual({ kind: 'wait', ms: 30_000 })
  })
})
