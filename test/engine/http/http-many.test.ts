import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/simulation/seed.js'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import { createChronos } from '../../../src/index.js'
import { type Receiver, startReceiver } from '../../support/receiver.js'

/** `CHRONOS_HTTP_JOBS=10000` is the long run, which looks at the memory too. */
const JOBS = Number(process.env['CHRONOS_HTTP_JOBS'] ?? 2_000)
const LONG_RUN_JOBS = 10_000
const MAX_RETRIES = 4
/** The other side never stays silent, so a busy machine makes no difference. */
const PATIENT_MS = 60_000
/** Long enough for a request to arrive on a busy machine: each attempt is counted where it arrives. */
const IMPATIENT_MS = 2_000
/** Every so many calls one never gets an answer that it hoped for. */
const HOPELESS_EVERY = 20

const isHopeless = (i: number): boolean => i % HOPELESS_EVERY === 0

type Fate = 'ok' | 'broken' | 'busy' | 'silent' | 'reset'

/** Answers as chance has it, and remembers what each job met. */
class Moody {
  readonly met = new Map<string, Fate[]>()
  readonly #random = seededRandom(7)

  start(): Promise<Receiver> {
    return startReceiver((request, response) => {
      const path = request.url!
      const fate = this.#draw(isHopeless(Number(path.slice(1))))
      this.met.set(path, [...(this.met.get(path) ?? []), fate])
      switch (fate) {
        case 'ok':
          response.end('done')
          break
        case 'broken':
          response.writeHead(500).end('broken')
          break
        case 'busy':
          response.writeHead(503, { 'retry-after': '0.01' }).end()
          break
        case 'silent':
          break
        case 'reset':
          request.socket.resetAndDestroy()
          break
      }
    })
  }

  #draw(hopeless: boolean): Fate {
    const u = this.#random()
    if (hopeless) return u < 0.6 ? 'silent' : u < 0.8 ? 'broken' : 'reset'
    if (u < 0.55) return 'ok'
    if (u < 0.75) return 'broken'
    return u < 0.9 ? 'busy' : 'reset'
  }
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-http-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Resolves once so many jobs have ended. */
function ends(chronos: Chronos, count: number): Promise<void> {
  return new Promise(resolve => {
    let left = count
    const one = (): void => {
      if (--left === 0) resolve()
    }
    chronos.on('job.succeeded', one)
    chronos.on('job.dead', one)
  })
}

async function send(chronos: Chronos, origin: string, from: number, to: number): Promise<readonly string[]> {
  const over = ends(chronos, to - from)
  const retry = { maxRetries: MAX_RETRIES, backoff: { type: 'fixed', delay: 1 }, jitter: 'none' } as const
  const payloads = Array.from({ length: to - from }, (_, i) => from + i).map(i => ({
    url: `${origin}/${i}`,
    timeout: isHopeless(i) ? IMPATIENT_MS : PATIENT_MS,
  }))
  const enqueued = await chronos.enqueueMany('http', payloads, { retry })
  await over
  return enqueued.map(({ id }) => id)
}

describe(`${JOBS} calls to a server with random responses`, () => {
  it('each end as their policy says, send nothing after a success, and leave nothing open', {
    timeout: 600_000,
  }, async () => {
    const server = new Moody()
    await using receiver = await server.start()
    const chronos = createChronos({
      store: `sqlite:${join(folder, 'jobs.db')}`,
      log: false,
      egress: { allow: ['loopback'] },
    })
    chronos.work([], { signals: false, concurrency: 100 })
    // Only the long run compares the memory of its halves; the timeouts of a short run pass at the same time.
    const isLong = JOBS >= LONG_RUN_JOBS
    const first = isLong ? Math.ceil(JOBS / 2) : JOBS
    const ids = [...(await send(chronos, receiver.origin, 0, first))]
    if (isLong) {
      const rssWarm = process.memoryUsage.rss()
      ids.push(...(await send(chronos, receiver.origin, first, JOBS)))
      expect(process.memoryUsage.rss()).toBeLessThan(rssWarm * 1.2)
    }
    expect(ids).toHaveLength(JOBS)

    let succeeded = 0
    for (const [i, id] of ids.entries()) {
      const met = server.met.get(`/${i}`) ?? []
      const job = (await chronos.jobs.get(id))!
      const good = met.indexOf('ok')
      if (good >= 0) succeeded++
      const said = { state: job.state, reason: job.reason, sent: met.length, attempts: job.attempt }
      const expected =
        good >= 0
          ? { state: 'succeeded', reason: undefined, sent: good + 1, attempts: good + 1 }
          : { state: 'dead', reason: 'exhausted', sent: MAX_RETRIES + 1, attempts: MAX_RETRIES + 1 }
      expect(said, `met ${met.join(', ')}; ended with ${job.error?.message}`).toEqual(expected)
    }
    expect(succeeded).toBeGreaterThan(JOBS * 0.9)
    await chronos.close()
    await receiver.deserted()
  })
})
