import { afterAll, describe, expect, it } from 'vitest'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { PACE } from '../../../src/engine/upkeep/maintenance.js'
import type { WorkerPage } from '../../../src/engine/worker/fleet.js'
import { defineJob } from '../../../src/index.js'
import { dropSchemas, freshSchema, openStore } from '../../support/postgres.js'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

afterAll(dropSchemas)

const PATIENT = { timeout: 60_000 }

describe('draining a worker of another process on PostgreSQL', () => {
  it('lets its run end, and is in the audit log with the name of the operator', async () => {
    const schema = freshSchema()
    await using t = await startServer({ asAdmin: true, chronos: { store: await openStore({ schema }) } })
    // It learns of the drain from the store, at a heartbeat.
    const pace = { ...PACE, fleetMs: 100 }
    const elsewhere = new Chronos(() => openStore({ schema }), systemClock, systemDice, { log: false }, pace)
    try {
      let finish = (): void => undefined
      const slow = defineJob({
        name: 'slow',
        run: (_: null, job) => {
          job.progress({ done: 40 })
          return new Promise<void>(resolve => {
            finish = resolve
          })
        },
      })
      const drained: string[] = []
      elsewhere.on('worker.drained', ({ workerId }) => drained.push(workerId))
      const worker = elsewhere.work([slow], { signals: false, concurrency: 1 })
      const { id } = worker
      const job = await elsewhere.enqueue(slow, null)
      const waiting = await elsewhere.enqueue(slow, null)
      const page = async (): Promise<WorkerPage> => (await t.api<WorkerPage>('GET', `/workers/${id}`)).body
      await expect
        .poll(page, PATIENT)
        .toMatchObject({ running: 1, jobs: [{ id: job.id, name: 'slow', progress: { done: 40 } }] })

      expect((await t.api('POST', `/workers/${id}/drain`, {}, await tokenOf(t, 'viewer'))).status).toBe(403)
      const asked = await t.api('POST', `/workers/${id}/drain`, {}, await tokenOf(t, 'operator'))
      expect(asked).toMatchObject({ status: 200, body: { draining: true, running: 1 } })
      await expect.poll(() => worker.isDraining, PATIENT).toBe(true)
      finish()
      await expect.poll(() => drained, PATIENT).toEqual([id])
      expect((await t.api('GET', `/workers/${id}`)).status).toBe(404)
      expect([(await t.chronos.jobs.get(job.id))?.state, (await t.chronos.jobs.get(waiting.id))?.state]).toEqual([
        'succeeded',
        'waiting',
      ])

      const { body } = await t.api<{ data: readonly { action: string }[] }>('GET', '/audit')
      expect(body.data.filter(({ action }) => action.includes('/drain'))).toMatchObject([
        { actor: 'operator of all', summary: `drained worker ${id}`, target: id },
      ])
    } finally {
      await elsewhere.close()
    }
  })
})
