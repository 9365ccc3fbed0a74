import { expect, it } from 'vitest'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { memoryStore } from '../../../src/store/memory.js'
import { testChronos } from '../../../src/testing.js'

it.each(['runNow', 'retry'] as const)(
  '%s: the job is due, though the first answer of the store was slow',
  async verb => {
    // The estimate of the store's time is then two seconds behind.
    const t = testChronos({
      jobs: [],
      store: clock =>
        storeProxy(memoryStore({ clock }), (name, call) => {
          if (name !== 'info') return call
          return async (...args) => {
            const answer = await call(...args)
            await clock.wait('2s')
            return answer
          }
        }),
    })
    const { id } = await t.clock.passUntil(t.enqueue('mail', {}, { delay: '1h' }))
    if (verb === 'retry') await t.jobs.cancel(id)
    expect(await t.jobs[verb](id)).toMatchObject({ phase: 'queued' })
    await t.close()
  },
)
