import { expect, it } from 'vitest'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { Idempotency, repeatId } from '../../../src/server/http/idempotency.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { StoredRecord } from '../../../src/store/record.js'

it('stored answers are deleted after a day, and a request reads few of them', async () => {
  const clock = new VirtualClock()
  const memory = memoryStore({ clock })
  let most = 0
  const store = storeProxy(memory, (name, verb) => async (...args) => {
    const answer = await verb(...args)
    if (name === 'records') most = Math.max(most, (answer as readonly StoredRecord[]).length)
    return answer
  })
  const idempotency = new Idempotency(async () => store, clock)
  let keys = 0
  const requests = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const id = repeatId('caller', 'POST /jobs', String(keys++))
      await idempotency.once({ id, body: '', isKeyed: false }, async () => ({ status: 200 }))
    }
    await clock.settle()
  }
  await requests(1_000)
  await clock.advance(25 * 3_600_000)
  await requests(1_800)
  const left = await memory.records('reply', { limit: 3_000 })
  const dayAgo = clock.now() - 24 * 3_600_000
  expect(left.filter(({ updatedAt }) => updatedAt < dayAgo)).toEqual([])
  expect(left).toHaveLength(1_800)
  expect(most).toBeLessThanOrEqual(100)
})
