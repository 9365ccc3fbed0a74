import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Chronos } from '../../src/index.js'
import { hear, type Receiver, startReceiver } from '../support/receiver.js'
import type { Place } from './fleet.js'
import { writeTo } from './ledger.js'
import { patiently, pause } from './pause.js'
import { DOWN } from './processes/facts.js'
import { CATCH_UP, OCCURRENCE_MS, REPORTED } from './promises/features.js'
import type { Verdict } from './verdict.js'

const TURN_MS = 3_000
const STALLED_MS = 120_000

/** Uses the features that need an operator: a schedule, a webhook endpoint, redrives, and a service that goes down. */
export class Operator {
  readonly #chronos: Chronos
  readonly #place: Place
  readonly #receiver: Receiver
  readonly #note: ReturnType<typeof writeTo>
  #work: Promise<void> = Promise.resolve()
  #isOver = false
  circuitsOpened = 0

  private constructor(chronos: Chronos, place: Place, receiver: Receiver, note: ReturnType<typeof writeTo>) {
    this.#chronos = chronos
    this.#place = place
    this.#receiver = receiver
    this.#note = note
  }

  static async start(chronos: Chronos, place: Place): Promise<Operator> {
    const note = writeTo(place.ledger)
    const receiver = await startReceiver(async (request, response) => {
      const { body, headers } = await hear(request)
      // Every third message is answered with an error, and sent again.
      const isRefused = Math.random() < 1 / 3
      const { type, data } = JSON.parse(body)
      if (!isRefused)
        note('received', { message: headers['webhook-id'], type, job: data.jobId, generation: data.generation })
      response.writeHead(isRefused ? 503 : 204).end()
    })
    const operator = new Operator(chronos, place, receiver, note)
    await patiently(() => chronos.info())
    await chronos.webhooks.create({
      url: `${receiver.origin}/hook`,
      events: ['job.dead', 'job.succeeded'],
      names: REPORTED,
      retry: { maxRetries: 50, backoff: { type: 'fixed', delay: '100ms' }, jitter: 'none' },
    })
    await chronos.schedules.put('every-second', {
      every: `${OCCURRENCE_MS}ms`,
      job: 'plain',
      overlap: 'allow',
      missed: { all: CATCH_UP },
    })
    operator.#work = operator.#go()
    return operator
  }

  /** Lets the service work again, stops the schedule, and waits until every job has ended. */
  async drain(verdict: Verdict): Promise<void> {
    this.#isOver = true
    await this.#work
    rmSync(join(this.#place.folder, DOWN), { force: true })
    await patiently(() => this.#chronos.schedules.pause('every-second'))
    let least = Number.POSITIVE_INFINITY
    for (let since = performance.now(); ; await pause(100)) {
      const live = (await this.#live()) + (await this.#redriving())
      if (live === 0) break
      if (live < least) [least, since] = [live, performance.now()]
      if (performance.now() - since < STALLED_MS) continue
      const what = `${live} jobs made no progress for ${STALLED_MS} ms`
      verdict.broken('everything ends once the faults are over', `${what}: ${await this.#stalled()}`)
      break
    }
    await this.#receiver.close()
  }

  async close(): Promise<void> {
    this.#isOver = true
    await this.#work
    await this.#receiver.close()
  }

  async #go(): Promise<void> {
    for (let turn = 1; !this.#isOver; turn++) {
      const until = performance.now() + TURN_MS
      while (!this.#isOver && performance.now() < until) await pause(50)
      if (turn % 3 === 1) writeFileSync(join(this.#place.folder, DOWN), '')
      if (turn % 3 === 2) rmSync(join(this.#place.folder, DOWN), { force: true })
      await this.#redrive().catch(() => undefined)
      const circuits = await this.#chronos.circuits.list().catch(() => undefined)
      const openings = (circuits?.data ?? []).reduce((sum, circuit) => sum + circuit.openings, 0)
      this.circuitsOpened = Math.max(this.circuitsOpened, openings)
    }
  }

  async #redrive(): Promise<void> {
    this.#note('fault', { kind: 'redrive' })
    await this.#chronos.dead.redrive({ name: 'failing' }, { rate: '500/s', canary: 0 })
  }

  /** Redrives that have not ended: they may start more jobs. */
  async #redriving(): Promise<number> {
    const { data } = await patiently(() => this.#chronos.redrives.list({ limit: 200 }))
    return data.filter(({ state }) => state === 'canary' || state === 'running').length
  }

  /** Some of the jobs that have not ended, and why. */
  async #stalled(): Promise<string> {
    const { data } = await patiently(() => this.#chronos.jobs.list({ state: ['waiting', 'running'] }, { limit: 5 }))
    const reasons = data.map(async ({ id, name, state, run }) => {
      const explained = await patiently(() => this.#chronos.jobs.explain(id))
      return `${name} ${id} ${state} after run ${run}: ${explained.summary}`
    })
    return (await Promise.all(reasons)).join('; ')
  }

  async #live(): Promise<number> {
    const count = await patiently(() => this.#chronos.jobs.count({ state: ['waiting', 'running'] }))
    return count.value
  }
}
