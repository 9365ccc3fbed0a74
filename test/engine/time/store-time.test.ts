import { expect, test } from 'vitest'
import { StoreTime } from '../../../src/engine/time/store-time.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'

const HOUR_MS = 3_600_000

/** A process whose clock is an hour behind that of its store. */
function world() {
  const clock = new VirtualClock()
  const time = new StoreTime(clock)
  return {
    time,
    storeNow: () => clock.now() + HOUR_MS,
    /** A call that reaches the store after `there` ms and is answered `back` ms later. */
    async call(there: number, back: number): Promise<void> {
      const sentAt = clock.now()
      await clock.advance(there)
      const answer = clock.now() + HOUR_MS
      await clock.advance(back)
      time.observe(answer, sentAt)
    },
  }
}

test('a slow first answer never puts the estimate ahead of the store', async () => {
  const { time, storeNow, call } = world()
  await call(3_000, 0)
  expect(time.now()).toBe(storeNow())
  const other = world()
  await other.call(0, 3_000)
  expect(other.time.now()).toBe(other.storeNow() - 3_000)
})

test('a faster answer improves the estimate, and a slower one leaves it', async () => {
  const { time, storeNow, call } = world()
  await call(0, 3_000)
  await call(0, 5)
  expect(time.now()).toBe(storeNow() - 5)
  await call(4_000, 4_000)
  expect(time.now()).toBe(storeNow() - 5)
})
