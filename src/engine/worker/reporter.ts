import { type Timer, wait } from '../../core/values/clock.js'
import type { Environment } from '../client/environment.js'
import type { Attempt, AttemptPort } from './attempt.js'
import { complete } from './completion.js'
import { runOnce } from './effects.js'
import type { Runner } from './runner.js'

const EVERY_MS = 100

/** Stores the log lines and progress of running handlers in batches. The rest is stored with the outcome of the run. */
export class Reporter {
  readonly #env: Environment
  readonly #runner: Runner
  readonly #news = new Set<Attempt>()
  #timer: Timer | undefined

  constructor(env: Environment, runner: Runner) {
    this.#env = env
    this.#runner = runner
  }

  hasNews(attempt: Attempt): void {
    this.#news.add(attempt)
    this.#timer ??= this.#env.clock.timer(EVERY_MS, () => void this.#send())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  async #send(): Promise<void> {
    this.#timer = undefined
    const speaking = [...this.#news].filter(attempt => this.#runner.isRunning(attempt) && !attempt.completion)
    this.#news.clear()
    const sent = speaking.flatMap(attempt => {
      const report = attempt.report()
      return report ? [{ attempt, report }] : []
    })
    if (sent.length === 0) return
    const { connection, log } = this.#env
    try {
      const store = connection.opened ?? (await connection.store())
      const statuses = await store.report(sent.map(({ report }) => report))
      for (const [index, { attempt, report }] of sent.entries()) {
        attempt.reported(report)
        if (statuses[index] === 'lost') this.#runner.loseLease(attempt)
        else if (statuses[index] === 'cancel-requested') this.#runner.interrupt(attempt, 'cancelled')
      }
    } catch (error) {
      log.warn({ event: 'report.failed', err: error }, 'failed to store log lines, retrying')
      for (const { attempt } of sent) if (this.#runner.isRunning(attempt)) this.hasNews(attempt)
    }
  }
}

/** What a running handler may ask of its worker. */
export function portOf(env: Environment, reporter: Reporter): AttemptPort {
  return {
    now: () => env.time.now(),
    wait: (ms, signal) => wait(env.clock, ms, signal),
    complete: (attempt, ...success) => complete(env, attempt, ...success),
    hasNews: attempt => reporter.hasNews(attempt),
    runOnce: (attempt, ...effect) => runOnce(env, attempt, ...effect),
  }
}
