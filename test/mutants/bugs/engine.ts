import type { Mutant } from '../mutant.js'

const JOB = 'src/core/job/job.ts'
const FETCHER = 'src/engine/worker/fetcher.ts'
const RUNNER = 'src/engine/worker/runner.ts'

/** Bugs of workers and clients; most of them were found by the simulation. */
export const ENGINE_BUGS: readonly Mutant[] = [
  {
    name: 'a suspect on its last attempt runs beside others',
    from: 52,
    file: 'src/engine/worker/quarantine.ts',
    find: 'return strikes > 0 || this.#options.isLast(claimed) ? 1',
    replace: 'return strikes > 0 ? 1',
  },
  {
    name: 'a suspect alone in its worker only',
    killer: 'runs#aSuspectIsAloneInItsProcess',
    file: 'src/engine/fleet/crew.ts',
    find: 'return member.isIdle() && this.#others(member).every(one => one.isIdle() && one.waiting().length === 0)',
    replace: 'return member.isIdle()',
  },
  {
    name: 'a crash blamed on every worker of its process',
    killer: 'runs#aCrashIsOfAProcess',
    file: 'src/store/run.ts',
    find: 'return workerId.split(SIBLING_SIGN, 1)[0]!',
    replace: 'return workerId',
  },
  {
    name: 'a lease counted from the response',
    from: 212,
    file: FETCHER,
    find: 'leaseUntil: sentAt + leaseMs, startBefore',
    replace: 'leaseUntil: heldSince + leaseMs, startBefore',
  },
  {
    name: 'an at-most-once job started without begin',
    from: 52,
    file: JOB,
    find: "return job.delivery === 'at-most-once' || job.suspect || isLastPermitted(job, policy)",
    replace: 'return job.suspect || isLastPermitted(job, policy)',
  },
  {
    name: 'a sweep right after an outage',
    from: 1999,
    file: 'src/engine/upkeep/sweeper.ts',
    find: 'return this.#contactSince !== undefined && this.#env.clock.now() - this.#contactSince >= this.#leaseMs',
    replace: 'return true',
    mood: 'outages',
  },
  {
    name: 'outcomes dropped when the response is lost',
    from: 166,
    file: 'src/engine/worker/committer.ts',
    find: '        if (isRepeatable(error) || isOutage(error)) {',
    replace:
      "        if ((error as { code?: string }).code === 'STORE_UNKNOWN') {\n          for (const entry of batch) entry.done({ status: 'already' })\n          return\n        }\n        if (isRepeatable(error) || isOutage(error)) {",
  },
  {
    name: 'leases not renewed after the lease renewer was idle',
    from: 984,
    file: 'src/engine/worker/lease-renewer.ts',
    find: '    if (!this.#extending) this.#timer ??= env.clock.timer(leaseMs / 3, () => this.#tick())\n    if (this.#watchTimer) return\n',
    replace: '    if (this.#watchTimer) return\n    this.#timer ??= env.clock.timer(leaseMs / 3, () => this.#tick())\n',
    mood: 'crashes',
  },
  {
    name: 'a bad job that takes the last attempts of others with it',
    killer: 'runs#aBadJobTakesNoOtherWithIt',
    file: 'src/core/job/batch.ts',
    find: 'if (suspect || (attempt > 1 && isLastAttempt)) return 1',
    replace: 'if (suspect) return 1',
  },
  {
    name: 'a batch that waits for a job that has ended',
    killer: 'runs#aBatchDoesNotWaitForAJobThatHasEnded',
    file: 'src/engine/batches/batch.ts',
    find: `    this.#arrived.delete(attempt)
    this.#look()`,
    replace: '    this.#arrived.delete(attempt)',
  },
  {
    name: 'a renewal that is lost if the job starts meanwhile',
    killer: 'runs#aRenewalReachesAJobThatStartedMeanwhile',
    file: 'src/engine/worker/lease-renewer.ts',
    find: 'const one = current.get(claimed.id)',
    replace: 'const one = old[index]',
  },
  {
    name: 'a time ahead of the store after a slow first answer',
    from: 51,
    file: 'src/engine/time/store-time.ts',
    find: 'this.#offsetMs ?? least',
    replace: 'this.#offsetMs ?? Math.round((least + most) / 2)',
  },
  {
    name: 'a claim with a lost response left behind by stop',
    from: 121,
    file: FETCHER,
    find: '    await this.#recall()\n',
    replace: '',
  },
  {
    name: 'a pending claim left behind by stop',
    from: 28,
    file: FETCHER,
    find: '    await Promise.all(this.#underWay.values())\n',
    replace: '',
  },
  {
    name: 'a start after the deadline',
    from: 78,
    file: FETCHER,
    find: 'return leaseUntil - now >= leaseMs / 2 && now < startBefore',
    replace: 'return startBefore > 0 && leaseUntil - now >= leaseMs / 2',
  },
  {
    name: 'a late response to begin starts a job whose lease is lost',
    from: 81,
    file: RUNNER,
    find: '    if (attempt.mayStart(this.#env.clock.now())) {\n      attempt.begun = true',
    replace: '    if (!attempt.begun) {\n      attempt.begun = true',
  },
  {
    name: 'a sweep that does not see that the run has begun',
    killer: 'runs#aRunThatBeginsDuringASweepNeverStartsAgain',
    file: 'src/engine/upkeep/sweeper.ts',
    find: '      ifBegun: claimed.begun,\n',
    replace: '',
  },
  {
    name: 'log lines lost with a failed report',
    from: 8,
    file: 'src/engine/worker/reporter.ts',
    find: '      const report = attempt.report()\n',
    replace: '      const report = attempt.report()\n      if (report) attempt.reported(report)\n',
  },
  {
    name: "times taken from the worker's own clock",
    from: 244,
    file: 'src/engine/time/store-time.ts',
    find: 'return this.#offsetMs === undefined ? this.#clock.now() : this.#steady() + this.#offsetMs',
    replace: 'return this.#clock.now()',
  },
  {
    name: 'an enqueue reported as failed that was stored',
    from: 166,
    file: 'src/engine/client/enqueuer.ts',
    find: 'throw lost ?? error',
    replace: 'throw error',
  },
  {
    name: 'a cancel reported as failed that was stored',
    from: 13,
    file: 'src/engine/jobs/jobs.ts',
    find: '    } catch {\n      const base',
    replace: '    } catch (error) {\n      if (job) throw error\n      const base',
  },
  {
    name: 'no more claims after an outcome was given up',
    from: 3,
    file: 'src/engine/worker/committer.ts',
    find: '    this.#failures = 0\n    this.#env.log.error',
    replace: '    this.#env.log.error',
  },
]
