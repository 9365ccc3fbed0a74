import { expect, it } from 'vitest'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Expired, Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'

it('an at-most-once run that begins while its lost lease is swept never starts again', async () => {
  let memory: Store | undefined
  const t = testChronos({
    jobs: [],
    store: clock => {
      const store = memoryStore({ clock })
      memory = store
      return storeProxy(store, (name, call) => {
        if (name !== 'expired') return call
        return async (...args) => {
          const found = (await call(...args)) as Expired
          // A worker whose clock is behind begins its run after the sweeper has read the job.
          await store.begin(found.jobs)
          return found
        }
      })
    },
  })
  const { id } = await t.enqueue('pay', {}, { delivery: 'at-most-once' })
  const terms = { workerId: 'w', token: '0123456789abcdef0123456789abcdef', policyIds: {} }
  const { jobs } = await memory!.claim({ ...terms, queues: ['default'], limit: 1, leaseMs: 30_000 })
  expect(jobs).toMatchObject([{ id, begun: false }])
  await t.advance('10m')
  expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome', attempt: 1 })
  await t.close()
})
