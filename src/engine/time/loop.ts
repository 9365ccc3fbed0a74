import type { Clock, Dice, Timer } from '../../core/values/clock.js'
import type { Log } from '../client/log.js'
import { wakeTogether } from './wake-together.js'

const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 5000

/** How long to wait before a failed store call is repeated: doubling, with full jitter, from 100 ms to 5 s. */
export function backOffMs(failures: number, dice: Dice): number {
  return Math.ceil(Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(failures, 10)) * (0.5 + dice.random() / 2))
}

export interface Loop {
  /** Ends the current wait. */
  wake(): void
  /** Resolves when no step is running any more. */
  stop(): Promise<void>
}

export interface LoopOptions {
  readonly name: string
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
  readonly firstAfterMs?: number
  /** Does a bounded batch and returns in how many milliseconds to come back. */
  step(): Promise<number>
  /** When to come back, if it is known without asking the store that a step would find nothing. */
  idleMs?(): number | undefined
}

export function startLoop({ name, clock, dice, log, step, idleMs, firstAfterMs = 0 }: LoopOptions): Loop {
  let timer: Timer | undefined
  let running: Promise<void> | undefined
  let stopped = false
  let again = false
  let failures = 0

  const sleep = (ms: number): void => {
    if (stopped) return
    const isAsked = again || ms === 0
    timer = wakeTogether(clock, again ? 0 : ms, () => {
      const restMs = isAsked ? undefined : idleMs?.()
      if (restMs === undefined) running = run()
      else sleep(restMs)
      return restMs === undefined
    })
    again = false
  }

  const run = async (): Promise<void> => {
    timer = undefined
    let waitMs: number
    try {
      waitMs = await step()
      failures = 0
    } catch (error) {
      waitMs = backOffMs(failures++, dice)
      log.warn({ event: 'loop.failed', loop: name, retryInMs: waitMs, err: error }, 'maintenance step failed, retrying')
    }
    running = undefined
    sleep(waitMs)
  }

  sleep(firstAfterMs)
  return {
    wake() {
      if (timer) {
        timer.cancel()
        sleep(0)
      } else {
        again = true
      }
    },
    async stop() {
      stopped = true
      timer?.cancel()
      await running
    },
  }
}
