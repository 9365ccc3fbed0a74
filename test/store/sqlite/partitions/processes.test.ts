import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../../src/store/store.js'
import { exitOf, startProcess } from '../../../support/process.js'
import { Bench, succeeded } from '../../conformance/bench.js'
import { Folder, turns } from '../folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const QUEUE = 'crm'
const PARTITIONS = ['a', 'b', 'c']

const jobsOf = (count: number) =>
  Array.from({ length: count }, (_, number) => {
    const partition = PARTITIONS[number % PARTITIONS.length]!
    return bench.job({ name: 'step', queue: QUEUE, partition, payload: JSON.stringify({ partition }) })
  })

describe('limits', () => {
  it('hold over several processes', async () => {
    const JOBS = 90
    const busy = join(folder.path, 'busy')
    mkdirSync(busy)
    const store = folder.store()
    await store.setQueue(QUEUE, { limits: { partitions: { concurrency: 1 }, from: 'operator' } })
    await store.enqueue(jobsOf(JOBS))
    const args = [`sqlite:${folder.file()}`, busy]
    const workers = await Promise.all([1, 2].map(() => startProcess('store/sqlite/partitions/worker.js', args)))
    const said = await answersOf(workers, JOBS)
    for (const worker of workers) worker.send('stop')
    for (const worker of workers) expect(await exitOf(worker)).toEqual({ code: 0, signal: null })
    expect(said).not.toContain('two at once')
    expect(await store.count({ queue: QUEUE, state: 'succeeded' }, JOBS)).toEqual({ value: JOBS, relation: 'exact' })
    expect((await store.audit()).findings).toEqual([])
  })

  it('hold for claims and ends of several connections at the same time', async () => {
    const stores: Store[] = Array.from({ length: 4 }, () => folder.store())
    const limits = { partitions: { concurrency: 2 }, limit: { concurrency: 5 }, from: 'operator' } as const
    await stores[0]!.setQueue(QUEUE, { limits })
    await stores[0]!.enqueue(jobsOf(120))
    const running = { a: 0, b: 0, c: 0 }
    let done = 0
    const work = async (store: Store): Promise<void> => {
      while (done < 120) {
        const { jobs } = await store.claim(bench.request({ queues: [QUEUE], limit: 3 }))
        for (const { lane } of jobs) running[lane as 'a'] += 1
        expect(Math.max(...Object.values(running))).toBeLessThanOrEqual(2)
        expect(running.a + running.b + running.c).toBeLessThanOrEqual(5)
        await turns()
        // Counted before the end is written: another claim may use the slot before this process sees the answer.
        for (const { lane } of jobs) running[lane as 'a'] -= 1
        await store.settle(jobs.map(job => bench.settlement(job, succeeded(), { lane: job.lane! })))
        done += jobs.length
      }
    }
    await Promise.all(stores.map(work))
    expect(await stores[1]!.partitions!(QUEUE, { limit: 10, cap: 10 })).toEqual([])
  })
})

/** Starts the workers, and resolves with their messages once they have said `count` times that a job is done. */
function answersOf(workers: readonly ChildProcess[], count: number): Promise<readonly string[]> {
  const said: string[] = []
  return new Promise((resolve, reject) => {
    for (const worker of workers) {
      worker.on('message', text => {
        said.push(String(text))
        if (said.filter(one => one === 'done').length === count) resolve(said)
      })
      worker.once('exit', code => reject(new Error(`a worker ended with ${code}`)))
      worker.send('start')
    }
  })
}
