import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Chronos, createChronos, defineJob, type JobUpdate, PermanentError } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../../support/postgres.js'

afterAll(dropSchemas)

const total = defineJob({
  name: 'total',
  retry: { maxRetries: 2, backoff: { type: 'fixed', delay: '10ms' }, jitter: 'none' },
  async run({ cents, fails = 0 }: { cents: number; fails?: number }, job) {
    job.log('adding', { cents })
    job.progress({ attempt: job.attempt })
    if (job.attempt <= fails) throw new Error('the bank is closed')
    return { total: cents * 2 }
  },
})
const refused = defineJob({
  name: 'refused',
  async run(_: null) {
    throw new PermanentError('card declined')
  },
})

/** Two processes: one has the worker, the other waits. */
async function world() {
  const schema = freshSchema()
  const store = async () => postgres(`${await postgresUrl()}?schema=${schema}`)
  const mine = await store()
  const here = createChronos({ store: mine, log: false })
  const there = createChronos({ store: await store(), log: false })
  onTestFinished(async () => {
    await Promise.all([here.close(), there.close()])
  })
  await here.info()
  const work = (): unknown => there.work([total, refused], { signals: false })
  return { schema, store: mine, here, there, work }
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

describe('results on PostgreSQL', () => {
  it('returns what the handler in another process returned, after its retries', async () => {
    const { here, work } = await world()
    work()
    const { id } = await here.enqueue(total, { cents: 21, fails: 2 })
    expect(await here.jobs.result(total, id)).toEqual({ total: 42 })
    expect(await here.jobs.result('total', id)).toEqual({ total: 42 })
  })

  it('reports a death, a cancel, a deletion, an unknown id and a timeout by their codes', async () => {
    const { here, there, work } = await world()
    work()
    const dead = await here.enqueue(refused, null)
    const later = await here.enqueueMany(total, [{ cents: 1 }, { cents: 2 }, { cents: 3 }], { delay: '1h' })
    const [cancelled, deleted, patient] = later.map(({ id }) => id) as [string, string, string]
    const named = [refused, total, total].map((job, i) =>
      errorOf(here.jobs.result(job as never, [dead.id, cancelled, deleted][i]!)),
    )
    await there.jobs.cancel(cancelled)
    await there.jobs.delete(deleted)
    expect(await Promise.all(named)).toMatchObject([
      { code: 'JOB_DEAD', details: { reason: 'permanent', error: { message: 'card declined' } } },
      { code: 'JOB_CANCELLED' },
      { code: 'NOT_FOUND' },
    ])
    const unknown = '01890000-0000-7000-8000-000000000000'
    expect(await errorOf(here.jobs.result(total, unknown))).toMatchObject({ code: 'NOT_FOUND' })
    expect(await errorOf(here.jobs.result(total, patient, { within: 50 }))).toMatchObject({ code: 'TIMED_OUT' })
  })

  it('follows the runs, log lines and progress of a job in another process, and continues after a cursor', async () => {
    const { here, work } = await world()
    const { id } = await here.enqueue(total, { cents: 21, fails: 1 })
    work()
    const updates: JobUpdate[] = []
    for await (const update of here.jobs.follow(id)) updates.push(update)
    // Values of the progress that were replaced before a look are left out.
    const typesOf = (some: readonly JobUpdate[]) => some.map(({ type }) => type).filter(type => type !== 'progress')
    expect(typesOf(updates)).toEqual(['log', 'attempt', 'log', 'attempt', 'end'])
    const rest: JobUpdate[] = []
    const { cursor } = updates.find(({ type }) => type === 'attempt')!
    for await (const update of here.jobs.follow(id, { cursor })) rest.push(update)
    expect(typesOf(rest)).toEqual(['log', 'attempt', 'end'])
  })
})

/** What is sent on the channel of a schema. */
async function notificationsOf(schema: string): Promise<string[]> {
  const client = new pg.Client(await postgresUrl())
  const heard: string[] = []
  client.on('notification', ({ payload = '' }) => heard.push(payload))
  await client.connect()
  await client.query(`LISTEN "chronos:${schema}"`)
  onTestFinished(() => client.end())
  return heard
}

const isListening = (schema: string): Promise<void> =>
  expect
    .poll(() => sql('SELECT FROM pg_stat_activity WHERE query = $1', [`LISTEN "chronos:${schema}"`]))
    .toHaveLength(1)

const begins = (word: string) => (payload: string) => payload.startsWith(word)

describe('the ends of runs', () => {
  const runOne = async (chronos: Chronos): Promise<void> => {
    const { id } = await chronos.enqueue(total, { cents: 1 })
    await chronos.jobs.ended(id)
  }

  it('are announced only while a process waits for them', async () => {
    const w = await world()
    const heard = await notificationsOf(w.schema)
    w.work()
    // The worker runs these itself, so no other process waits.
    const { id } = await w.there.enqueue(total, { cents: 1 })
    await expect.poll(async () => (await w.here.jobs.get(id))?.state).toBe('succeeded')
    expect(heard.filter(begins('ended:'))).toEqual([])
    await expect
      .poll(async () => {
        await runOne(w.here)
        return heard.some(begins('ended:'))
      })
      .toBe(true)
    expect(heard.some(begins('await:'))).toBe(true)
  })

  it('call those who wait for them, and no worker', async () => {
    const w = await world()
    w.work()
    await isListening(w.schema)
    let [ends, work] = [0, 0]
    w.store.watch(() => ends++, 'ends')
    w.store.watch(() => work++)
    await expect.poll(() => ends).toBe(1)
    await expect
      .poll(async () => {
        const { id } = await w.there.enqueue(total, { cents: 1 }, { delay: '2m' })
        await w.there.jobs.cancel(id)
        return ends
      })
      .toBeGreaterThan(1)
    expect(work).toBe(1)
  })
})
