import { expect, it } from 'vitest'
import { force, newDependency } from '../../../src/core/dependency/dependency.js'
import { circuitSettings } from '../../../src/core/dependency/settings.js'
import { present } from '../../../src/core/values/present.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import { DEPENDENCY, RECORDS_AT_ONCE } from '../../../src/engine/dependencies/dependencies.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { memoryStore } from '../../../src/store/memory.js'
import { testChronos } from '../../../src/testing.js'

const MANY = 10 * RECORDS_AT_ONCE + 500

it('a circuit behind very many others holds its jobs back, and a step reads a bounded number of records', async () => {
  const reads: number[] = []
  const mine = defineJob({ name: 'mine', run: () => undefined })
  const t = testChronos({
    jobs: [mine],
    store: clock =>
      storeProxy(memoryStore({ clock }), (name, call) => {
        if (name !== 'records') return call
        return async (...args: readonly unknown[]) => {
          const answer = await (call as (...args: readonly unknown[]) => Promise<readonly unknown[]>)(...args)
          // The alerts read all records at once, at their own pace.
          if (args[0] === DEPENDENCY && 'from' in (args[1] as object)) reads.push(answer.length)
          return answer
        }
      }),
  })
  const store = await t.chronos.store()
  const now = t.clock.now()
  const settings = present({ circuit: circuitSettings(true) })
  const record = (key: string, body: object) => ({
    kind: DEPENDENCY,
    id: dependencyId({ key }),
    body: JSON.stringify(body),
  })
  const keys = Array.from({ length: MANY }, (_, number) => `a-${number}`)
  await store.putRecords(keys.map(key => ({ ...record(key, newDependency({ key }, settings, now)), expect: 0 })))
  const last = force(newDependency({ key: 'z' }, settings, now), 'open', now)
  await store.putRecords([{ ...record('z', last), expect: 0 }])
  const { id } = await t.enqueue('theirs', {}, { queue: 'elsewhere', dependsOn: 'z', retry: { circuit: true } })
  reads.length = 0
  await t.advance('1m')
  const { runAt, createdAt } = (await t.jobs.get(id))!
  expect(Date.parse(runAt)).toBeGreaterThan(Date.parse(createdAt))
  expect(Math.max(...reads)).toBe(RECORDS_AT_ONCE)
  await t.close()
})
