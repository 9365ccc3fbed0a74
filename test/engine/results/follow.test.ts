import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { FollowOptions, JobUpdate } from '../../../src/engine/results/follow.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

const importer = defineJob({
  name: 'import',
  retry: fixed({ delay: '10s', maxRetries: 2, jitter: 'none' }),
  async run({ lines }: { lines: number }, job) {
    for (let line = 0; line < lines; line++) job.log(`line ${line} of run ${job.run}`, { line })
    job.progress({ done: job.attempt, of: 2 })
    await job.clock.wait('1s')
    if (job.attempt === 1) throw new Error('the file is locked')
    return { imported: lines }
  },
})

/** Two processes on one store: one has the worker, the other follows. */
function world(open: (clock: VirtualClock) => Store) {
  const clock = new VirtualClock()
  const store = open(clock)
  const shared = { ...store, close: async () => undefined }
  const there = new Chronos(async () => shared, clock, seededDice(1), { log: false })
  const here = new Chronos(async () => shared, clock, seededDice(2), { log: false })
  there.work([importer], { signals: false, grace: '1s' })
  const collect = async (
    id: string,
    options?: FollowOptions,
    most = Number.POSITIVE_INFINITY,
  ): Promise<JobUpdate[]> => {
    const updates: JobUpdate[] = []
    for await (const update of here.jobs.follow(id, options)) {
      updates.push(update)
      if (updates.length >= most) break
    }
    return updates
  }
  return {
    clock,
    here,
    there,
    collect: (...given: Parameters<typeof collect>) => clock.passUntil(collect(...given)),
    async [Symbol.asyncDispose]() {
      await clock.passUntil(Promise.all([here.close(), there.close()]), { despite: 'handlers' })
      await store.close()
    },
  }
}

/** An update in a few words. */
function words(update: JobUpdate): string {
  switch (update.type) {
    case 'attempt':
      return `${update.attempt.label} ${update.attempt.status}`
    case 'log':
      return update.line.message
    case 'progress':
      return `progress ${JSON.stringify(update.progress)}`
    case 'end':
      return `end ${update.job.state} ${JSON.stringify(update.job.result)}`
  }
}

const STORY = [
  'line 0 of run 1',
  'line 1 of run 1',
  'progress {"done":1,"of":2}',
  'Initial failed',
  'line 0 of run 2',
  'line 1 of run 2',
  'progress {"done":2,"of":2}',
  'Retry #1 succeeded',
  'end succeeded {"imported":2}',
]

describe.each(STORES)('jobs.follow on %s', (_, open) => {
  test('yields the runs, log lines and progress of a job in another process, and ends with it', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 2 }, { delay: '5s' })
    expect((await w.collect(id)).map(words)).toEqual(STORY)
  })

  test('yields all that is stored of a job that has ended, the lines of a run before its end', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 2 })
    await w.clock.advance(60_000)
    const stored = STORY.filter(word => word !== 'progress {"done":1,"of":2}' && word !== 'progress {"done":2,"of":2}')
    stored.splice(-1, 0, 'progress {"done":2,"of":2}')
    expect((await w.collect(id)).map(words)).toEqual(stored)
  })

  test('continues after any update by its cursor', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 2 })
    const all: JobUpdate[] = []
    for (let cursor: string | undefined; all.at(-1)?.type !== 'end'; cursor = all.at(-1)!.cursor) {
      all.push(...(await w.collect(id, cursor === undefined ? {} : { cursor }, 1)))
    }
    expect(all.map(words)).toEqual(STORY)
    expect(await w.collect(id, { cursor: all.at(-1)!.cursor })).toEqual([])
  })

  test('reads many log lines page by page, each once', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 250 })
    await w.clock.advance(60_000)
    const updates = await w.collect(id)
    const lines = updates.flatMap(update => (update.type === 'log' ? [update.line.message] : []))
    expect(lines).toHaveLength(500)
    expect(new Set(lines).size).toBe(500)
    const at = updates.findIndex(update => words(update) === 'line 130 of run 1')
    const [next] = await w.collect(id, { cursor: updates[at]!.cursor }, 1)
    expect(words(next!)).toBe('line 131 of run 1')
  })

  test('ends when it is aborted, when the job is deleted, and at once for an unknown id', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 1 }, { delay: '1h' })
    const stop = new AbortController()
    const aborted = w.collect(id, { signal: stop.signal }).catch((error: unknown) => error)
    await w.clock.advance(2_000)
    const reason = new Error('closed the page')
    stop.abort(reason)
    expect(await aborted).toBe(reason)

    const deleted = w.collect(id).catch((error: unknown) => error)
    await w.clock.advance(2_000)
    await w.there.jobs.delete(id)
    expect(await deleted).toMatchObject({ code: 'NOT_FOUND', details: { jobId: id } })
    await expect(w.collect(id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(w.collect(id, { cursor: 'nonsense' })).rejects.toThrow(
      'jobs.follow: cursor: "nonsense" is not the cursor of an update',
    )
  })

  test('follows a job that was started again after its end', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(importer, { lines: 0 }, { delay: '1h' })
    await w.there.jobs.cancel(id)
    const [end] = await w.collect(id)
    expect(words(end!)).toBe('end cancelled undefined')
    await w.there.jobs.retry(id)
    const again = await w.collect(id, { cursor: end!.cursor })
    expect(words(again.at(-1)!)).toBe('end succeeded {"imported":0}')
  })
})
