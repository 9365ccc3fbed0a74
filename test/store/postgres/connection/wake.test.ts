import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cancel, redrive as redriveRule, reschedule } from '../../../../src/core/job/changes.js'
import { channelOf } from '../../../../src/store/postgres/connection/wake.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { job, jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: Store
let other: Store

beforeEach(async () => {
  schema = freshSchema()
  const connection = { connectionString: await postgresUrl(), application_name: schema }
  store = await openStore({ schema, connection })
  other = await openStore({ schema })
  await store.migrate()
  await store.enqueue([job({ runAt: { delayMs: 3_600_000 } })])
})

afterEach(() => Promise.all([store.close(), other.close()]))

/** Counts the calls; `next` resolves with the next call. */
function ear() {
  const waiting: (() => void)[] = []
  const heard = {
    count: 0,
    next: () => new Promise<void>(resolve => waiting.push(resolve)),
    call: () => {
      heard.count += 1
      for (const resolve of waiting.splice(0)) resolve()
    },
  }
  return heard
}

/** Watches, and resolves once the listener is connected. */
async function watching(one: Store) {
  const heard = ear()
  const ready = heard.next()
  const stop = one.watch(heard.call)
  await ready
  return { heard, stop }
}

/** Resolves with the next notification; all earlier ones have arrived by then. */
async function mark(heard: ReturnType<typeof ear>): Promise<void> {
  const next = heard.next()
  await sql('SELECT pg_notify($1, $2)', [channelOf(schema), 'mark'])
  await next
}

describe('watch', () => {
  it('reports a job that another process enqueued', async () => {
    const { heard, stop } = await watching(store)
    const next = heard.next()
    await other.enqueue([job()])
    await next
    expect(heard.count).toBe(2)
    stop()
  })

  it('does not report the work of its own process', async () => {
    const { heard, stop } = await watching(store)
    await store.enqueue([job()])
    await store.close()
    stop()
    expect(heard.count).toBe(1)
  })

  it.each([
    ['a job that was handed back', handBack],
    ['a job that was redriven', redrive],
    [
      'a job that was moved',
      async () => void (await other.change([(await enqueued(60_000))!], reschedule({ delayMs: 0 }))),
    ],
    ['a queue that was resumed', async () => void (await other.setQueue('default', { paused: false }))],
  ])('reports %s', async (_word, act) => {
    const { heard, stop } = await watching(store)
    const before = heard.count
    await act()
    await expect.poll(() => heard.count).toBeGreaterThan(before)
    stop()
  })

  async function enqueued(delayMs: number): Promise<string | undefined> {
    return (await store.enqueue([job({ runAt: { delayMs } })]))[0]?.id
  }

  async function handBack(): Promise<void> {
    await enqueued(0)
    const { jobs: claimed } = await other.claim(request())
    await other.settle(claimed.map(one => ({ ...settlement(one), end: { kind: 'handed-back', delayMs: 0 } })))
  }

  async function redrive(): Promise<void> {
    const id = (await enqueued(60_000))!
    await store.change([id], cancel)
    await other.change([id], redriveRule())
  }

  it('reports neither jobs due much later nor a retry that its worker already knows about', async () => {
    const { heard, stop } = await watching(store)
    await other.enqueue([job({ runAt: { delayMs: 3_600_000 } })])
    await store.enqueue([job()])
    const { jobs: claimed } = await other.claim(request())
    await other.settle(claimed.map(one => settlement(one, 'failed')))
    await other.close()
    await mark(heard)
    expect(heard.count).toBe(2)
    stop()
  })

  it('reports nothing after it was stopped, and can be stopped twice', async () => {
    const { heard, stop } = await watching(store)
    const second = ear()
    const stopSecond = store.watch(second.call)
    stop()
    stop()
    const next = second.next()
    await other.enqueue([job()])
    await next
    expect(heard.count).toBe(1)
    stopSecond()
    await expect.poll(listeners).toBe(0)
  })

  const listeners = async () =>
    (await sql(`SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN%'`, [schema])).length

  it('reconnects after its connection was killed, and calls back in case it missed something', async () => {
    const { heard, stop } = await watching(store)
    for (let kill = 0; kill < 3; kill++) {
      const again = heard.next()
      await sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN%'`,
        [schema],
      )
      await again
      const next = heard.next()
      await other.enqueue([job()])
      await expect(next).resolves.toBeUndefined()
    }
    stop()
  })

  it('works beside a store that does not listen', async () => {
    const deaf = await openStore({ schema, listenUrl: false })
    let heard = 0
    const stop = deaf.watch(() => {
      heard += 1
    })
    await other.enqueue([job()])
    stop()
    await deaf.close()
    expect(heard).toBe(0)
  })
})

describe('notifications', () => {
  it('are limited to one every few milliseconds', async () => {
    const listener = new pg.Client(await postgresUrl())
    await listener.connect()
    let heard = 0
    listener.on('notification', () => {
      heard += 1
    })
    await listener.query(`LISTEN "${channelOf(schema)}"`)
    const since = performance.now()
    for (let count = 0; count < 100; count++) await Promise.all([other.enqueue([job()]), other.enqueue(jobs(3))])
    await other.close()
    const tookMs = performance.now() - since
    await listener.query('SELECT 1')
    expect(heard).toBeGreaterThan(0)
    expect(heard).toBeLessThanOrEqual(tookMs / 5 + 2)
    await listener.end()
  })

  it('are sent before the store is closed', async () => {
    const { heard, stop } = await watching(store)
    for (let count = 0; count < 5; count++) await other.enqueue([job()])
    const before = heard.count
    await other.enqueue([job()])
    await other.close()
    await expect.poll(() => heard.count).toBeGreaterThan(before)
    stop()
  })

  it('are sent by a process that exits right after an enqueue', async () => {
    const { heard, stop } = await watching(store)
    const next = heard.next()
    const program = fileURLToPath(new URL('enqueuing.js', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [program, await postgresUrl(), schema])
    await next
    expect(await store.get(stdout)).toMatchObject({ state: 'waiting' })
    stop()
  })

  it("are sent once per caller's transaction, when it commits, and also reach its own process", async () => {
    const client = new pg.Client(await postgresUrl())
    await client.connect()
    const { heard, stop } = await watching(store)
    await client.query('BEGIN')
    await store.enqueue([job()], client)
    await store.enqueue(jobs(5), client)
    await mark(heard)
    expect(heard.count).toBe(2)
    const next = heard.next()
    await client.query('COMMIT')
    await next
    await mark(heard)
    expect(heard.count).toBe(4)
    await client.query('BEGIN')
    await store.enqueue([job()], client)
    await client.query('ROLLBACK')
    await mark(heard)
    expect(heard.count).toBe(5)
    stop()
    await client.end()
  })

  it('are not sent for transactions if that is turned off', async () => {
    const quiet = await openStore({ schema, notifyInTransactions: false })
    const client = new pg.Client(await postgresUrl())
    await client.connect()
    const { heard, stop } = await watching(store)
    await client.query('BEGIN')
    await quiet.enqueue([job()], client)
    await client.query('COMMIT')
    await mark(heard)
    expect(heard.count).toBe(2)
    stop()
    await client.end()
    await quiet.close()
  })

  it('use one channel whose name also fits a long schema name', () => {
    expect(channelOf('chronos')).toBe('chronos:chronos')
    const long = channelOf('x'.repeat(60))
    expect(long.length).toBeLessThanOrEqual(63)
    expect(channelOf(`${'x'.repeat(59)}y`)).not.toBe(long)
  })
})
