import type { PartitionLimits, QueueLimits } from '../../../../src/core/partition/limits.js'
import type { Claimed } from '../../../../src/store/store.js'
import { type Bench, died, retry, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

const QUEUE = 'crm'
/** After this time, claims apply no earlier limits. */
const IN_FORCE_MS = 60_000

/** What an integrity check says about limits. */
export function limitAuditCases(bench: Bench, { describe, expect, it }: Suite): void {
  const limited = async (limits: Omit<QueueLimits, 'from'>): Promise<void> => {
    await bench.store.setQueue(QUEUE, { limits: { ...limits, from: 'operator' } })
    bench.clock.advance(IN_FORCE_MS)
  }
  const each = (partitions: PartitionLimits) => limited({ partitions })
  const add = (partition: string, count = 1, delayMs = 0): Promise<string[]> =>
    bench.addMany(count, { queue: QUEUE, partition, runAt: { delayMs } })
  const claim = (limit = 100): Promise<readonly Claimed[]> => bench.claim({ queues: [QUEUE], limit })
  const end = (job: Claimed, how: Parameters<Bench['settle']>[1]) => bench.settle(job, how, { lane: job.lane! })
  const findings = async () => {
    const all = (await bench.store.audit()).findings
    return all.map(({ jobId, what }) => [jobId, what])
  }

  describe('audit of limits', () => {
    it('finds nothing wrong in whatever claims and writes leave behind', async () => {
      const kinds: Omit<QueueLimits, 'from'>[] = [
        { partitions: { concurrency: 2 } },
        { limit: { concurrency: 3 }, partitions: { fair: true } },
        { partitions: { order: 'fifo', onDead: 'stop' } },
        { limit: { rate: '1/s', burst: 2 }, partitions: { rate: '30/m', burst: 1 } },
      ]
      for (const kind of kinds) {
        await limited(kind)
        for (const name of ['a', 'b', 'c']) await add(name, 4)
        await add('later', 2, 90_000)
        expect(await findings()).toEqual([])
        for (const how of [succeeded(), retry(5_000), died(), succeeded()]) {
          const jobs = await claim(4)
          expect(await findings()).toEqual([])
          for (const job of jobs) await end(job, how)
          expect(await findings()).toEqual([])
          bench.clock.advance(2_500)
        }
      }
    })

    it('accepts running jobs that started before a limit was lowered or set', async () => {
      await each({ concurrency: 5 })
      await add('a', 5)
      await claim()
      await each({ concurrency: 1 })
      expect(await findings()).toEqual([])
    })
  })

  const { sql } = bench
  if (!sql) return
  describe('audit of limits after a direct change of the database', () => {
    const close = 9_007_199_254_740_991

    it('finds more running jobs than the limit of a partition allowed', async () => {
      await each({ concurrency: 3 })
      await add('a', 3)
      const last = (await claim(2)).length
      bench.clock.advance(10)
      const [newest] = await claim()
      expect(last).toBe(2)
      await sql(`UPDATE @queues SET limits = replace(limits, '"concurrency":3', '"concurrency":2')`)
      expect((await bench.store.audit()).findings).toEqual([
        {
          jobId: newest!.id,
          what: 'over-limit',
          detail: 'partition "a" of queue "crm" runs 3 jobs, but its limit was 2 when this job started',
        },
      ])
    })

    it('finds more running jobs than the limit of a queue allowed', async () => {
      await limited({ limit: { concurrency: 3 } })
      await add('a', 2)
      await claim()
      bench.clock.advance(10)
      await add('b')
      const [newest] = await claim()
      await sql(`UPDATE @queues SET limits = replace(limits, '"concurrency":3', '"concurrency":2')`)
      expect(await findings()).toEqual([[newest!.id, 'over-limit']])
    })

    it('finds a job in a partition that is closed although it has room', async () => {
      await each({ concurrency: 1 })
      const [, second] = await add('a', 2)
      const [job] = await claim()
      expect(await findings()).toEqual([])
      await end(job!, succeeded())
      const [next] = await claim()
      expect(next!.id).toBe(second)
      const [third] = await add('a')
      await claim()
      await end(next!, succeeded())
      await sql(`UPDATE @partitions SET open_at = ${close}`)
      await forgetNotes()
      expect(await findings()).toEqual([[third, 'stranded']])
    })

    it('finds a job in a partition that no claim knows', async () => {
      await each({ concurrency: 1 })
      const [first] = await add('a', 2)
      await forgetNotes()
      await sql('DELETE FROM @partitions')
      expect(await findings()).toEqual([[first, 'stranded']])
    })

    it('finds a first job that starts later than its time', async () => {
      await each({ order: 'fifo' })
      const [first] = await add('a', 2, 5_000)
      await claim()
      expect(await findings()).toEqual([])
      await sql(`UPDATE @partitions SET open_at = open_at + 60000`)
      expect(await findings()).toEqual([[first, 'stranded']])
    })

    it('finds a queue that is closed although it has room', async () => {
      await limited({ limit: { concurrency: 1 } })
      const [first] = await add('a', 2)
      await forgetNotes()
      await sql(`UPDATE @queues SET open_at = ${close}`)
      if (bench.store.kind === 'postgres')
        await sql(`INSERT INTO @partitions (queue, name, open_at) VALUES ('${QUEUE}', 'a', 1)`)
      expect(await findings()).toEqual([[first, 'stranded']])
    })

    it('finds a job in a partition of a queue that has none', async () => {
      await each({ concurrency: 1 })
      const [first] = await add('a')
      await forgetNotes()
      await sql('DELETE FROM @partitions')
      const no = bench.store.kind === 'postgres' ? 'false' : '0'
      await sql(`UPDATE @queues SET limits = NULL, laned = ${no}`)
      expect(await findings()).toEqual([[first, 'stranded']])
    })

    it('finds a rate whose clock is further ahead than a burst', async () => {
      await each({ rate: '1/s', burst: 3 })
      await add('a', 10)
      await claim()
      expect(await findings()).toEqual([])
      const column = bench.store.kind === 'postgres' ? 'body' : 'pace'
      const later = `"clocks":{"":${bench.now() + 20_000}}`
      const start = `"clocks":{"":${bench.now() + 3_000}}`
      await sql(`UPDATE @partitions SET ${column} = replace(${column}, '${start}', '${later}')`)
      expect((await bench.store.audit()).findings).toMatchObject([
        {
          jobId: `${QUEUE}/a`,
          what: 'rate-clock',
          detail: 'the rate of partition "a" of queue "crm" is used up for 20s, longer than a burst of 3 can take',
        },
      ])
    })

    /** On SQLite, a write opens its partition instead. */
    async function forgetNotes(): Promise<void> {
      if (bench.store.kind === 'postgres') await sql!('DELETE FROM @partition_notes')
    }
  })
}
