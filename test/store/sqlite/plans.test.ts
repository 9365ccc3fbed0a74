import { describe, expect, it } from 'vitest'
import { acknowledge, cancel, discard, expire, redrive } from '../../../src/core/job/changes.js'
import { type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { Bench, died, leaseOf, retry, succeeded } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())

type Act = (store: ReturnType<Folder['store']>) => Promise<unknown>

/** Every statement that `act` runs. */
async function statementsOf(act: Act): Promise<readonly string[]> {
  const driver = await loadDriver()
  const seen = new Set<string>()
  const spy: Driver = {
    ...driver,
    open(path) {
      const database = driver.open(path)
      return {
        exec: sql => database.exec(sql),
        close: () => database.close(),
        prepare(sql) {
          seen.add(sql)
          return database.prepare(sql)
        },
      }
    },
  }
  const store = folder.store({ driver: spy })
  await store.migrate()
  seen.clear()
  await act(store)
  return [...seen]
}

/** Every statement that `act` runs, with SQLite's plan for it. */
async function plansOf(act: Act): Promise<Map<string, string>> {
  const statements = await statementsOf(act)
  const database = await folder.database()
  const plans = statements
    .filter(sql => /^\s*(SELECT|UPDATE|DELETE)/.test(sql))
    .map(sql => {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
      return [sql, steps.map(({ detail }) => detail).join('\n')] as const
    })
  return new Map(plans)
}

/** The statements among these that read a column of a job, not only of an index, as their byte code says. */
async function readersOf(statements: readonly string[]): Promise<readonly string[]> {
  const database = await folder.database()
  const { root } = database.prepare(`SELECT rootpage AS root FROM sqlite_schema WHERE name = 'jobs'`).get() as Root
  return statements.filter(sql => {
    const code = database.prepare(`EXPLAIN ${sql}`).all() as Instruction[]
    const cursors = new Set(code.filter(({ opcode, p2 }) => opcode === 'OpenRead' && p2 === root).map(({ p1 }) => p1))
    return code.some(({ opcode, p1 }) => opcode === 'Column' && cursors.has(p1))
  })
}

interface Root {
  readonly root: number
}

interface Instruction {
  readonly opcode: string
  readonly p1: number
  readonly p2: number
}

describe('query plans', () => {
  it('never scan a table or sort in the statements of a worker', async () => {
    const plans = await plansOf(async store => {
      await store.enqueue([bench.job(), bench.job({ key: 'k', payloadHash: 'h', unique: 'u' }), bench.job()])
      const { jobs } = await store.claim(bench.request())
      await store.claim(bench.request())
      const [one, two, three] = jobs
      await store.begin([leaseOf(one!)])
      await store.extend([leaseOf(one!)], 1000)
      await store.report([{ lease: leaseOf(one!), logs: [{ at: 1, message: 'x' }], progress: '1' }])
      await store.beginEffect(leaseOf(one!), 'e')
      await store.endEffect(leaseOf(one!), 'e', '1')
      const ends = [succeeded(), retry(5), died()]
      await store.settle([one!, two!, three!].map((job, index) => bench.settlement(job, ends[index]!)))
      await store.settle([bench.settlement(one!, succeeded())])
      await store.change([two!.id], cancel)
      await store.change([three!.id], redrive())
      await store.change(await store.overdue(10), expire)
      await store.defer({ dependency: 'g', from: { dueWithinMs: 5 }, delaysMs: [1], pass: 1, retriesOnly: true })
      await store.defer({ dependency: 'g', from: { pass: 1 }, delaysMs: [1], pass: 2, exceptId: two!.id })
      await store.putRecords([{ kind: 'k', id: 'a', body: '1', expect: 0 }])
      await store.records('k', { ids: ['a'] })
      await store.records('k', { from: 'a', to: 'b', limit: 5, order: 'down' })
      await store.change([three!.id], acknowledge)
      await store.change([three!.id], discard)
    })
    expect(plans.size).toBeGreaterThan(30)
    for (const [sql, plan] of plans) {
      // There are few queues, and a constant row or a bound list of values is not a table.
      const steps = plan.split('\n').filter(step => !/^SCAN (CONSTANT ROW|queues|json_each)/.test(step))
      for (const step of steps) expect(step, sql).not.toMatch(/SCAN|TEMP B-TREE/)
    }
  })

  it('search the index by queue, priority and time in a claim', async () => {
    const plans = await plansOf(async store => {
      await store.enqueue([bench.job(), bench.job({ runAt: { delayMs: 5000 } })])
      await store.claim(bench.request())
    })
    const waiting = [...plans.values()].filter(plan => plan.includes('jobs_waiting'))
    expect(waiting).toHaveLength(3)
    for (const plan of waiting)
      expect(plan).toMatch(/SEARCH jobs USING (COVERING )?INDEX jobs_waiting \(queue=\? AND priority[<=]/)
  })

  it('seek the jobs of each partition of a queue with limits', async () => {
    const units = { tokens: '1000/s' } as const
    const unordered = { concurrency: 1, units, override: { b: { concurrency: 2 } } } as const
    const ordered = { order: 'fifo', onDead: 'stop' } as const
    for (const partitions of [unordered, ordered]) {
      const plans = await plansOf(async store => {
        const limits = { limit: { concurrency: 9 }, partitions, from: 'code' } as const
        await (await folder.store()).setQueue('default', { limits })
        await store.enqueue(['a', 'a', 'a', 'b', 'b', 'c'].map(partition => bench.job({ partition })))
        const { jobs } = await store.claim(bench.request())
        const ends = [succeeded(), retry(5_000), died()]
        const settlements = jobs.map((job, index) =>
          bench.settlement(job, ends[index % 3]!, { lane: job.lane!, spent: { tokens: 1 } }),
        )
        await store.settle(settlements)
        await store.claim(bench.request())
        await store.claim(bench.request({ names: { list: ['x'], isExcluded: false } }))
        await store.partitions!('default', { limit: 10, cap: 10 })
        await store.partitions!('default', { limit: 10, cap: 10, which: 'stopped' })
      })
      const all = [...plans.values()].join('\n')
      expect(all).toMatch(/INDEX jobs_lane \(queue=\? AND state=\? AND lane=\?\)/)
      if (partitions === unordered) expect(all).toMatch(/INDEX jobs_lane_due \(queue=\? AND lane=\? AND priority=\?/)
      for (const [sql, plan] of plans) {
        const steps = plan
          .split('\n')
          .filter(step => !/^SCAN (CONSTANT ROW|queues|json_each|room|found|\(subquery)/.test(step))
        for (const step of steps) expect(step, sql).not.toMatch(/SCAN|TEMP B-TREE/)
      }
    }
  })

  it('are the same for a queue without limits, whether another queue has some or not', async () => {
    const statements = async () => {
      const plans = await plansOf(async store => {
        await store.enqueue([bench.job(), bench.job()])
        const { jobs } = await store.claim(bench.request())
        await store.settle(jobs.map(job => bench.settlement(job, succeeded())))
      })
      return [...plans.keys()]
    }
    const alone = await statements()
    const store = await folder.store()
    await store.setQueue('crm', { limits: { partitions: { concurrency: 1 }, from: 'code' } })
    await store.enqueue([bench.job({ queue: 'crm', partition: 'a' }), bench.job({ queue: 'crm', partition: 'a' })])
    await store.claim(bench.request({ queues: ['crm'] }))
    expect(await statements()).toEqual(alone)
  })

  it('use the indexes of redrives, groups and schedules', async () => {
    const plans = await plansOf(async store => {
      await store.tally('r1')
      await store.count({ redriveId: 'r1' }, 5)
      await store.count({ state: 'dead', fingerprint: 'f1' }, 5)
      await store.count({ state: 'waiting', dependency: 'g1' }, 5)
      await store.count({ scheduleId: 's1' }, 5)
      await store.liveSchedules(['s1', 's2'])
    })
    const all = [...plans.values()].join('\n')
    expect(all).toMatch(/SEARCH jobs USING (COVERING )?INDEX jobs_redrive \(redrive_id=\?\)/)
    expect(all).toMatch(/SEARCH jobs USING COVERING INDEX jobs_group \(fingerprint=\?\)/)
    expect(all).toMatch(/SEARCH jobs USING COVERING INDEX jobs_dependency \(dependency=\?\)/)
    expect(all).toMatch(/SEARCH jobs USING COVERING INDEX jobs_schedule \(schedule_id=\?\)/)
    expect(all).toMatch(/SEARCH jobs USING (COVERING )?INDEX jobs_schedule_live \(schedule_id=\?\)/)
  })

  it('seek the times of ends and failures', async () => {
    const plans = await plansOf(async store => {
      await store.count({ failedAfter: 5, failedBefore: 9 }, 5)
      await store.count({ state: 'dead', finishedAfter: 5, finishedBefore: 9 }, 5)
      await store.count({ state: 'dead', fingerprint: 'f1', finishedAfter: 5 }, 5)
    })
    const all = [...plans.values()].join('\n')
    expect(all).toMatch(/SEARCH attempts USING INDEX attempts_failed \(finished_at>\? AND finished_at<\?\)/)
    expect(all).toMatch(/USING COVERING INDEX jobs_ended \(state=\? AND finished_at>\? AND finished_at<\?\)/)
    expect(all).toMatch(/USING COVERING INDEX jobs_group \(fingerprint=\? AND finished_at>\?\)/)
    expect(all).not.toContain('SCAN jobs')
  })

  it('count jobs by queue and phase, and look for retries, in the indexes alone', async () => {
    const statements = await statementsOf(async store => {
      await store.enqueue([bench.job()])
      await store.census({ queues: ['default'], cap: 10 })
      await store.waiting({ retriesOnly: true, queue: 'default', lookAt: 10, limit: 10 })
    })
    const counts = statements.filter(sql => /jobs_(waiting|ended)/.test(sql) && sql.includes('count('))
    expect(counts).toHaveLength(3)
    expect(await readersOf(counts)).toEqual([])
  })

  it('use the index of the state in a prune and a sweep', async () => {
    const plans = await plansOf(async store => {
      await store.enqueue([bench.job()])
      await store.claim(bench.request())
      await store.expired({ workers: 5 })
      await store.prune({ olderThanMs: { succeeded: 0, dead: 0, cancelled: 0 }, keyMs: 0, limit: 10 })
    })
    const all = [...plans.values()].join('\n')
    for (const index of ['jobs_running', 'jobs_ended', 'keys_expires_at']) expect(all).toContain(index)
  })
})
