import assert from 'node:assert/strict'
import pg from 'pg'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { postgresStore } from '../../../src/store/postgres/store.js'
import type { Claimed } from '../../../src/store/store.js'
import { Bench, handedBack, leaseOf, lost, retry, succeeded } from '../../store/conformance/bench.js'

// What the statements of the PostgreSQL store promise, on a real server.

/** One schema for all checks of a process, because making its tables takes longer than any of them. */
const SCHEMA = `killer_${process.pid}`
const url = (): string => process.env['CHRONOS_TEST_POSTGRES_URL']!

/** Jobs of other checks are in the same tables, so every check has a queue, ids and tokens of its own. */
class TablesBench extends Bench {
  readonly queue = `q-${systemDice.token()}`
  readonly #client = new pg.Client(url())

  constructor() {
    super(async () => postgresStore({ url: url(), schema: SCHEMA, clock: systemClock, dice: systemDice }))
  }

  override id(): string {
    return systemDice.id(systemClock.now())
  }

  override token(): string {
    return systemDice.token()
  }

  override async open(): Promise<void> {
    await this.#client.connect()
    await super.open()
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#client.end()
  }

  start(): Promise<Claimed> {
    return this.running({ queue: this.queue })
  }

  take(limit: number): Promise<readonly Claimed[]> {
    return this.claim({ queues: [this.queue], limit })
  }

  /** The lease of the job ends, as if its time had passed. */
  async expire({ id }: Claimed): Promise<void> {
    await this.#client.query(`UPDATE ${SCHEMA}.jobs SET lease_until = 1, lease_ms = 1 WHERE id = $1`, [id])
  }

  async columns({ id }: Claimed): Promise<Record<string, unknown>> {
    const { rows } = await this.#client.query(`SELECT * FROM ${SCHEMA}.jobs WHERE id = $1`, [id])
    return rows[0] as Record<string, unknown>
  }

  /** A run that the sweeper has ended, and the next run of its job. */
  async overtaken(): Promise<{ readonly before: Claimed; readonly now: Claimed }> {
    const before = await this.start()
    await this.expire(before)
    assert.equal((await this.settle(before, lost(), { onlyIfExpired: true })).status, 'settled')
    const [now] = await this.take(1)
    assert.equal(now?.id, before.id)
    return { before, now: now! }
  }
}

async function onTables(check: (bench: TablesBench) => Promise<void>): Promise<void> {
  const bench = new TablesBench()
  await bench.open()
  try {
    await check(bench)
  } finally {
    await bench.close()
  }
}

const refusesLate = (end: Parameters<Bench['settle']>[1], what: string) => (): Promise<void> =>
  onTables(async bench => {
    const { before, now } = await bench.overtaken()
    assert.equal((await bench.settle(before, end)).status, 'lost', `${what} of an earlier run ended a later one`)
    assert.equal((await bench.get(now.id)).state, 'running')
  })

export const aLateSuccessIsRefused = refusesLate(succeeded(), 'a success')
export const aLateFailureIsRefused = refusesLate(retry(0), 'a failure')
export const aLateHandBackIsRefused = refusesLate(handedBack(), 'a hand-back')

export const aRenewedLeaseIsNotSwept = (): Promise<void> =>
  onTables(async bench => {
    const job = await bench.start()
    const { status } = await bench.settle(job, lost(), { onlyIfExpired: true })
    assert.equal(status, 'lost', 'a run with a valid lease was swept')
  })

export const aRunThatHasBegunMeanwhileIsNotSwept = (): Promise<void> =>
  onTables(async bench => {
    const job = await bench.start()
    await bench.store.begin([{ ...leaseOf(job), delivery: 'at-least-once' }])
    await bench.expire(job)
    const { status } = await bench.settle(job, lost(), { onlyIfExpired: true, ifBegun: false })
    assert.equal(status, 'lost', 'a run that had begun was swept as if it had not')
  })

export const laterJobsAreNotClaimed = (): Promise<void> =>
  onTables(async bench => {
    await bench.add({ queue: bench.queue, runAt: { delayMs: 3_600_000 } })
    assert.deepEqual(await bench.take(1), [], 'a job was claimed before its time')
  })

export const aClaimCountsAnAttempt = (): Promise<void> =>
  onTables(async bench => {
    const job = await bench.start()
    assert.equal((await bench.get(job.id)).attempt, 1, 'a claim did not count')
  })

export const aPausedQueueIsNotClaimed = (): Promise<void> =>
  onTables(async bench => {
    await bench.store.setQueue(bench.queue, { paused: true })
    await bench.add({ queue: bench.queue })
    assert.deepEqual(await bench.take(1), [], 'a job of a paused queue was claimed')
  })

export const aRepeatedClaimTakesNoMore = (): Promise<void> =>
  onTables(async bench => {
    await bench.addMany(4, { queue: bench.queue })
    const request = bench.request({ queues: [bench.queue], limit: 2 })
    const idsOf = async (): Promise<readonly string[]> => (await bench.store.claim(request)).jobs.map(({ id }) => id)
    assert.deepEqual([...(await idsOf())].sort(), [...(await idsOf())].sort(), 'a repeated claim took other jobs')
  })

export const theBeginOfARunIsStored = (): Promise<void> =>
  onTables(async bench => {
    const job = await bench.start()
    await bench.store.begin([{ ...leaseOf(job), delivery: 'at-most-once' }])
    assert.equal((await bench.columns(job))['begun'], true, 'a run began without a trace')
  })

export const aLostLeaseRenewsNothing = (): Promise<void> =>
  onTables(async bench => {
    const { before, now } = await bench.overtaken()
    await bench.expire(now)
    await bench.store.extend([leaseOf(before)], 60_000)
    assert.equal(
      Number((await bench.columns(now))['lease_until']),
      1,
      'an earlier run renewed the lease of a later one',
    )
  })

export const aLateReportIsRefused = (): Promise<void> =>
  onTables(async bench => {
    const { before, now } = await bench.overtaken()
    await bench.store.report([{ lease: leaseOf(before), logs: [], progress: '0.5' }])
    assert.equal((await bench.columns(now))['progress'], null, 'an earlier run reported the progress of a later one')
  })

export const anEffectNeedsTheLease = (): Promise<void> =>
  onTables(async bench => {
    const { before } = await bench.overtaken()
    const { status } = await bench.store.beginEffect(leaseOf(before), 'charge')
    assert.equal(status, 'lost', 'a run without its lease began an effect')
  })

export const theFirstResultOfAnEffectStays = (): Promise<void> =>
  onTables(async bench => {
    const lease = leaseOf(await bench.start())
    await bench.store.beginEffect(lease, 'charge')
    await bench.store.endEffect(lease, 'charge', '1')
    await bench.store.endEffect(lease, 'charge', '2')
    assert.deepEqual(await bench.store.beginEffect(lease, 'charge'), { status: 'done', result: '1' })
  })

export const onlyExpiredJobsAreSwept = (): Promise<void> =>
  onTables(async bench => {
    await bench.addMany(2, { queue: bench.queue })
    const [late, other] = await bench.claim({ queues: [bench.queue], workerId: bench.queue })
    await bench.expire(late!)
    const found = (await bench.store.expired({ workers: 1_000 })).jobs.map(({ id }) => id)
    assert.ok(found.includes(late!.id))
    assert.ok(!found.includes(other!.id), 'a job with a valid lease counts as expired')
  })

export const aProcessEndsAsOne = (): Promise<void> =>
  onTables(async bench => {
    await bench.addMany(2, { queue: bench.queue })
    for (const workerId of [bench.queue, `${bench.queue}~2`])
      for (const job of await bench.claim({ queues: [bench.queue], workerId, limit: 1 })) await bench.expire(job)
    const found = (await bench.store.expired({ workers: 1_000 })).jobs.filter(({ queue }) => queue === bench.queue)
    assert.deepEqual(
      found.map(({ alone }) => alone),
      [false, false],
      'a job was not alone in its process',
    )
  })

export const anOccurrenceIsEnqueuedOnce = (): Promise<void> =>
  onTables(async bench => {
    const record = { kind: 'schedule', id: bench.queue, body: '{}', expect: 0 } as const
    const fire = () => bench.store.fire([{ record, jobs: [bench.job({ queue: bench.queue })] }])
    await fire()
    await fire()
    const { value } = await bench.store.count({ queue: bench.queue }, 10)
    assert.equal(value, 1, 'two schedulers enqueued the same occurrence')
  })
