import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

describe.each(STORES)('draining a worker on %s', (_, store) => {
  test('lets its runs end, starts no other, and removes it from the list', async () => {
    const started: number[] = []
    let finish = (): void => undefined
    const slow = defineJob({
      name: 'slow',
      run: (n: number, job) => {
        started.push(n)
        job.progress({ done: 40 })
        return new Promise<void>(resolve => {
          finish = resolve
        })
      },
    })
    await using t = testChronos({ jobs: [slow], store, work: { concurrency: 1, build: 'v7', grace: '1s' } })
    const drained: string[] = []
    t.on('worker.drained', ({ workerId }) => drained.push(workerId))
    const { id } = await t.enqueue(slow, 1)
    await t.enqueue(slow, 2)
    const handlers = { despite: 'handlers' } as const
    await t.advance('20s', handlers)
    expect(await t.chronos.fleet.get(t.worker.id)).toMatchObject({
      build: 'v7',
      done: { succeeded: 0, failed: 0, leasesLost: 0 },
      jobs: [{ id, name: 'slow', queue: 'default', label: 'Initial', progress: { done: 40 } }],
    })
    expect(await t.chronos.fleet.drain(t.worker.id)).toMatchObject({ draining: true, running: 1 })
    // A worker of this process does not wait for its next heartbeat.
    expect(t.worker.isDraining).toBe(true)
    await t.advance('1m', handlers)
    expect(await t.chronos.workers()).toMatchObject([{ id: t.worker.id, draining: true, running: 1 }])
    expect(drained).toEqual([])
    finish()
    await t.advance('5s')
    expect(started).toEqual([1])
    expect((await t.jobs.get(id))?.state).toBe('succeeded')
    expect(await t.jobs.count({ phase: 'queued' })).toMatchObject({ value: 1 })
    expect(drained).toEqual([t.worker.id])
    expect(await t.chronos.workers()).toEqual([])
    await expect(t.chronos.fleet.drain(t.worker.id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('a worker is shown with its jobs, however many newer ones other workers run', async () => {
    await using t = testChronos({ jobs: [], store })
    const claim = (workerId: string, limit: number) =>
      t.chronos.leases.claim({ workerId, queues: ['images'], limit, lease: '1h' })
    const { id } = await t.chronos.enqueue('resize', 0, { queue: 'images' })
    await claim('ml-1', 1)
    const newer = Array.from({ length: 1_200 }, (_, n) => n)
    await t.chronos.enqueueMany('resize', newer, { queue: 'images' })
    let claimed = 0
    while (claimed < newer.length) claimed += (await claim('ml-2', 100)).data.length
    await t.advance('2s')
    expect((await t.chronos.fleet.get('ml-1')).jobs.map(job => job.id)).toEqual([id])
    const { jobs, running } = await t.chronos.fleet.get('ml-2')
    expect([jobs.length, running]).toEqual([100, 1_200])
  })

  test('a pull worker has a build, and is told by its next claim', async () => {
    await using t = testChronos({ jobs: [], store })
    const claim = () => t.chronos.leases.claim({ workerId: 'ml-7', queues: ['images'], build: 'v3' })
    await t.chronos.enqueue('resize', 1, { queue: 'images' })
    await t.chronos.enqueue('resize', 2, { queue: 'images' })
    const { data } = await claim()
    await t.advance('2s')
    const page = await t.chronos.fleet.get('ml-7')
    expect(page).toMatchObject({ kind: 'pull', build: 'v3', jobs: [{ id: data[0]!.job.id }] })
    expect((await t.chronos.incident()).timeline).toMatchObject([{ kind: 'deploy', target: 'v3' }])
    await t.chronos.fleet.drain('ml-7')
    await t.advance('6s')
    await t.chronos.leases.extend(data[0]!.job.id, { token: data[0]!.token })
    await t.advance('2s')
    expect(await claim()).toEqual({ data: [], draining: true })
    await t.chronos.leases.complete(data[0]!.job.id, { token: data[0]!.token })
    expect((await t.jobs.get(data[0]!.job.id))?.state).toBe('succeeded')
  })
})
