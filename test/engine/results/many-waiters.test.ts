import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createChronos, defineJob } from '../../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../support/postgres.js'
import { exitOf, startProcess, temporaryFolder } from '../../support/process.js'

/** `CHRONOS_WAITERS=9999` is the long run, which looks at the delay and the memory too. */
const LONG = process.env['CHRONOS_WAITERS']
const WAITERS = Number(LONG ?? 300)
const PROCESSES = 3
/** What a process may spend at once, beside four queries a second. */
const BURST = 6
const HEAP_MAX_BYTES = 10 * 1024 * 1024

interface Report {
  readonly right: number
  readonly queries: number
  readonly seconds: number
  readonly lateMs: number
  readonly heapGrowth: number
}

afterAll(dropSchemas)

const stamp = defineJob({ name: 'stamp', run: (_: number, job) => ({ at: Date.now(), id: job.id }) })

async function reportOf(child: ChildProcess): Promise<Report> {
  const [text] = (await once(child, 'message')) as [string]
  await exitOf(child)
  return JSON.parse(text) as Report
}

/** Ends every connection that listens for notifications of this store, as a failing network would. */
const cutListeners = (store: string): Promise<unknown> =>
  sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1', [
    `LISTEN "chronos:${new URL(store).searchParams.get('schema')}"`,
  ])

describe.each([
  ['SQLite', async (folder: string) => `sqlite:${join(folder, 'chronos.db')}`, undefined],
  ['PostgreSQL', async () => `${await postgresUrl()}?schema=${freshSchema()}`, cutListeners],
] as const)('callers in several processes that wait for jobs of another, on %s', (_, storeIn, cut) => {
  test('all get their own result, with at most four queries a second and process', async () => {
    using folder = temporaryFolder()
    const store = await storeIn(folder.path)
    await using chronos = createChronos({ store, log: false })
    const jobs = await chronos.enqueueMany(
      stamp,
      Array.from({ length: WAITERS }, (_, i) => i),
      (_, i) => ({ delay: LONG ? (i % 50) * 200 : 0 }),
    )
    const shareOf = (process: number): string => {
      const mine = jobs.filter((_, i) => i % PROCESSES === process)
      return JSON.stringify(mine.map(({ id }) => id))
    }
    const children = await Promise.all(
      Array.from({ length: PROCESSES }, (_, i) =>
        startProcess('engine/results/waiter.js', [store, shareOf(i)], { flags: ['--expose-gc'] }),
      ),
    )
    const reports = children.map(reportOf)
    let isDone = false
    const all = Promise.all(reports).finally(() => {
      isDone = true
    })
    const worker = chronos.work([stamp], { signals: false, concurrency: 50 })
    while (cut && !isDone) await Promise.race([cut(store), all])
    for (const { right, queries, seconds, lateMs, heapGrowth } of await all) {
      expect(right).toBe(WAITERS / PROCESSES)
      expect(queries).toBeLessThanOrEqual(BURST + 4 * seconds + WAITERS / PROCESSES / 1_000)
      if (!LONG) continue
      expect(lateMs).toBeLessThanOrEqual(1_000)
      expect(heapGrowth).toBeLessThanOrEqual(HEAP_MAX_BYTES)
    }
    await worker.stop()
  })
})
