import type { LimitPromise } from '../model/limits.js'

/** The promises of `design/reliability.md` and the invariants behind them, in the words of a failing seed. */
export type Promised =
  | 'an acknowledged job is never lost'
  | 'no job exists that no client enqueued'
  | 'a key is one job'
  | 'unique is one live job'
  | 'a call reported as not done had no effect'
  | 'a claim takes only jobs that are due'
  | 'each run has one lease holder'
  | 'a handler starts only under a held lease'
  | 'a living worker keeps its leases'
  | 'a worker without the lease writes nothing'
  | 'a sweep takes only expired leases'
  | 'attempts are counted at the claim'
  | 'attempts stay within the limit'
  | 'an attempt is given back once'
  | 'every run has one row without gaps'
  | 'rows agree with what the handlers did'
  | 'a completed job never runs again'
  | 'a terminal state changes only by redrive'
  | 'at most once starts at most once'
  | 'a handler starts within its times'
  | 'times are those of the store'
  | 'a retry waits as its policy says'
  | 'the latency of a retry counts from its last failure'
  | 'a paused queue is not claimed'
  | 'a cancelled job does not start again'
  | 'a forgiven crash costs no attempt'
  | 'no job dies of a run that never started'
  | 'the last permitted attempt begins before it starts'
  | 'a suspect on its last attempt runs alone'
  | 'an effect is remembered once recorded'
  | 'job.once outlasts an outage'
  | 'an open circuit holds its jobs back'
  | 'the reason to wait is true'
  | 'nothing dead blocks a job longer than a lease and a sweep'
  | 'a lost probe is replaced'
  | "a tenant does not delay another tenant's work"
  | 'an open circuit lets one probe through'
  | 'each occurrence makes one job'
  | 'no occurrence comes before its time'
  | 'no occurrence is missed beyond its rule'
  | 'a redrive starts a job once'
  | 'a redrive waits for its canary'
  | 'a redrive leaves alone what it must'
  | 'every end has one delivery per endpoint'
  | 'a delivery is received, or dead'
  | 'an alert is told once'
  | 'an old process hands back what it does not understand'
  | 'a clean stop leaves nothing behind'
  | 'statistics agree with the rows'
  | 'everything ends once the faults are over'
  | 'a living worker goes on claiming'
  | LimitPromise
  | 'an integrity check finds limits in order'
  | 'the store answers as the reference does'
  | 'the engine does not throw'

export interface Violation {
  readonly promise: Promised
  readonly what: string
}

export class Verdict {
  readonly violations: Violation[] = []

  broken(promise: Promised, what: string): void {
    this.violations.push({ promise, what })
  }

  /** Allows checks that read as a list of conditions. */
  expect(holds: boolean, promise: Promised, what: () => string): void {
    if (!holds) this.broken(promise, what())
  }

  get isBroken(): boolean {
    return this.violations.length > 0
  }
}
