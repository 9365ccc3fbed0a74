import { expect, test } from 'vitest'
import { answerMs, since, workOf } from './answer-time.js'

const idle = { ranMs: 0, waitedMs: 0 }

test.each([
  { what: 'a quiet machine', elapsedMs: 900, server: { ranMs: 800, waitedMs: 0 }, is: 900 },
  { what: 'a server that waited for a core', elapsedMs: 5_000, server: { ranMs: 800, waitedMs: 4_100 }, is: 900 },
  { what: 'a server that worked all the time', elapsedMs: 4_000, server: { ranMs: 4_000, waitedMs: 0 }, is: 4_000 },
  { what: 'a server that slept', elapsedMs: 4_000, server: { ranMs: 10, waitedMs: 0 }, is: 4_000 },
  {
    what: 'a client that waited while the server worked',
    ...{ elapsedMs: 3_000, client: { ranMs: 0, waitedMs: 3_000 }, server: { ranMs: 2_500, waitedMs: 500 }, is: 2_500 },
  },
  {
    what: 'a store with two processes that waited at the same time',
    ...{ elapsedMs: 3_000, store: [1_000, 1_500].map(waitedMs => ({ ranMs: 0, waitedMs })), is: 1_500 },
  },
  { what: 'a store that worked', elapsedMs: 3_000, store: [{ ranMs: 2_600, waitedMs: 900 }], is: 2_600 },
])('the time of an answer leaves out the load of the machine: $what', ({ is, ...request }) => {
  expect(answerMs({ client: idle, server: idle, store: [], ...request })).toBe(is)
})

test('work counts from the first look, or from the start of a process that was not there yet', () => {
  const work = { ranMs: 30, waitedMs: 40 }
  expect(since({ ranMs: 10, waitedMs: 15 }, work)).toEqual({ ranMs: 20, waitedMs: 25 })
  expect(since(undefined, work)).toEqual(work)
  expect(since(work, idle)).toEqual(idle)
})

test.runIf(process.platform === 'linux')('a process that has ended did nothing', () => {
  expect(workOf(process.pid).ranMs).toBeGreaterThan(0)
  expect(workOf(2 ** 30)).toEqual(idle)
})
