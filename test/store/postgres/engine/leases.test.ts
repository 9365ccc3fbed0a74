import { afterAll, expect, it } from 'vitest'
import { fixed } from '../../../../src/core/policy/builders.js'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { dropSchemas, freshSchema, openStore } from '../../../support/postgres.js'

afterAll(dropSchemas)

const retry = fixed({ delay: '10ms', maxRetries: 2, jitter: 'none' })

/** Two servers on one database. */
function servers(): readonly [Chronos, Chronos] {
  const schema = freshSchema()
  const open = (): Chronos => new Chronos(() => openStore({ schema }), systemClock, systemDice, { log: false, retry })
  return [open(), open()]
}

it('a pull worker can claim from one server and report to the other', async () => {
  const [a, b] = servers()
  const { id } = await a.enqueue('resize', { image: 1 }, { queue: 'images' })
  const ask = { workerId: 'py-1', queues: ['images', 'other'], names: ['resize'], wait: '10s' } as const
  const [first] = (await a.leases.claim(ask)).data
  expect(first).toMatchObject({ job: { id, attempt: 1, maxAttempts: 3 } })
  const { token } = first!
  expect(await b.leases.extend(id, { token, lease: '1m' })).toMatchObject({ cancelRequested: false })
  const failed = await b.leases.fail(id, { token, error: { message: 'no' } })
  expect(failed).toMatchObject({ state: 'waiting', delayMs: 10 })
  expect(await a.leases.fail(id, { token, error: { message: 'no' } })).toEqual({ ...failed, repeated: true })
  const [second] = (await b.leases.claim(ask)).data
  expect(await a.leases.complete(id, { token: second!.token, result: 1 })).toMatchObject({ state: 'succeeded' })
  await expect(b.leases.extend(id, { token })).rejects.toMatchObject({ code: 'LEASE_LOST' })
  await Promise.all([a.close(), b.close()])
})

it('a claim that waits at one server is answered when the other server gets a job', async () => {
  const [a, b] = servers()
  const waiting = a.leases.claim({ workerId: 'py-1', wait: '30s' })
  while ((await b.workers()).length === 0) await new Promise(setImmediate)
  const { id } = await b.enqueue('resize', {}, { delivery: 'at-most-once' })
  const [lease] = (await waiting).data
  expect(lease).toMatchObject({ job: { id, delivery: 'at-most-once' } })
  expect(await b.leases.release(id, { token: lease!.token, started: false })).toMatchObject({ state: 'waiting' })
  expect((await b.leases.claim({ workerId: 'py-2' })).data).toMatchObject([{ job: { id, attempt: 1 } }])
  await Promise.all([a.close(), b.close()])
})
