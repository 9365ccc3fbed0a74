import type { Mood } from '../simulation/world/plan.js'

/** A bug that was, or could be, in the code: the simulation must catch it when it is reintroduced. */
export interface Mutant {
  /** A seed that is known to catch it, which is tried first. */
  readonly from?: number
  readonly name: string
  readonly file: string
  /** Exact text of the file, which occurs once. */
  readonly find: string
  readonly replace: string
  /** The kind of simulation that shows it; if absent, any kind does. */
  readonly mood?: Exclude<Mood, 'wild'>
}

const SETTLE = 'src/store/sqlite/writes/settle.ts'
const CLAIM = 'src/store/sqlite/writes/claim.ts'
const LEASE = 'src/store/sqlite/writes/lease.ts'
const JOB = 'src/core/job/job.ts'
const LIFECYCLE = 'src/core/job/lifecycle.ts'
const FETCHER = 'src/engine/worker/fetcher.ts'
const RUNNER = 'src/engine/worker/runner.ts'

export const MUTANTS: readonly Mutant[] = [
  // Bugs of the store: fences, counts, rows
  {
    name: 'settle by id alone',
    file: SETTLE,
    find: "const FENCE = 'pk = ? AND token = ? AND lease_until < ?'",
    replace: "const FENCE = 'pk = ? AND ? IS NOT NULL AND ifnull(lease_until, 0) < ?'",
  },
  {
    name: 'settle by state, without the token',
    from: 91,
    file: SETTLE,
    find: "const FENCE = 'pk = ? AND token = ? AND lease_until < ?'",
    replace: "const FENCE = 'pk = ? AND ? IS NOT NULL AND lease_until < ?'",
  },
  {
    name: 'renew a lease without the token',
    from: 17,
    file: LEASE,
    find: 'UPDATE jobs SET lease_until = ?, lease_ms = ? WHERE ${FENCE} RETURNING',
    replace:
      "UPDATE jobs SET lease_until = ?, lease_ms = ? WHERE id = ${ID} AND state = 'running' AND ? <> '' RETURNING",
  },
  {
    name: 'a sweep based on a stale read',
    from: 87,
    file: SETTLE,
    find: 'settlement.onlyIfExpired ? now : ANY_TIME',
    replace: 'ANY_TIME',
    mood: 'zombies',
  },
  {
    name: 'attempts counted at the failure instead of the claim',
    file: CLAIM,
    find: 'run = run + 1, attempt = attempt + 1, begun = ?',
    replace: 'run = run + 1, begun = ?',
  },
  {
    name: 'enqueue without checking the key',
    file: 'src/store/sqlite/writes/enqueue.ts',
    find: 'job.key === undefined && job.unique === undefined ? undefined : existing(db, job, now)',
    replace: 'job.unique === undefined ? undefined : existing(db, job, now)',
  },
  {
    name: 'no row for a run that is retried',
    file: SETTLE,
    find: '  if (!isPlain) insertAttempt(db, pk, settlement, end, become)\n  return become',
    replace:
      "  if (!isPlain && become.state !== 'waiting') insertAttempt(db, pk, settlement, end, become)\n  return become",
  },
  {
    name: 'a repeated claim takes more',
    file: CLAIM,
    find: 'if (again.length > 0) return { now, jobs: again }',
    replace: 'if (again.length > 10_000) return { now, jobs: again }',
  },
  {
    name: 'a claim before its time',
    file: CLAIM,
    find: 'priority = ? AND run_at <= ? AND (deadline',
    replace: 'priority = ? AND run_at <= ? + 250 AND (deadline',
  },
  {
    name: 'a claim past the deadline',
    file: CLAIM,
    find: '(deadline IS NULL OR deadline > ?)',
    replace: '(deadline IS NULL OR deadline > ? OR deadline > 0)',
  },
  {
    name: 'a claim from a paused queue',
    from: 13,
    file: CLAIM,
    find: 'SELECT name FROM queues WHERE paused = 1',
    replace: 'SELECT name FROM queues WHERE paused = 2',
  },
  {
    name: 'a release that gives the attempt back twice',
    file: SETTLE,
    find: 'run = run - 1, attempt = attempt - 1, begun = 0',
    replace: 'run = run - 1, attempt = max(0, attempt - 2), begun = 0',
    from: 7,
  },
  {
    name: 'a cancel forgotten on retry',
    file: SETTLE,
    find: 'WHERE ${FENCE} AND cancel_requested = 0`',
    replace: 'WHERE ${FENCE}`',
    from: 67,
  },
  {
    name: 'a redrive in the same generation',
    file: 'src/core/job/changes.ts',
    find: 'generation: job.generation + 1, runAt',
    replace: 'generation: job.generation, runAt',
  },
  {
    name: 'an effect recorded twice',
    file: LEASE,
    find: 'SET result = ifnull(result, excluded.result)',
    replace: 'SET result = NULL',
  },
  // Bugs of the rules
  {
    name: 'a lost job past its last attempt',
    file: LIFECYCLE,
    find: '    return afterFailure(ended, { ...failure, words }, change)\n  }\n  const change = { losses',
    replace: "    return wait(ended, 0, words, change, failure, 'retry')\n  }\n  const change = { losses",
  },
  {
    name: 'a lost at-most-once job runs again',
    file: LIFECYCLE,
    find: "return ended.job.begun ? unknownOutcome(ended, 'its worker was lost') : neverRan",
    replace: "return ended.job.begun ? neverRan(ended, 'its worker was lost') : neverRan",
  },
  {
    name: 'a forgiven crash costs every job an attempt',
    file: LIFECYCLE,
    find: '  if (alone) {\n',
    replace: '  if (alone || job.losses < 100) {\n',
  },
  {
    name: 'a snooze costs an attempt',
    file: LIFECYCLE,
    find: 'const change = { attemptBack: true, snoozes: ended.job.snoozes + 1 }',
    replace: 'const change = { attemptBack: false, snoozes: ended.job.snoozes + 1 }',
  },
  {
    name: 'a lost run that does not count',
    file: LIFECYCLE,
    find: "  if (job.policy.crashes !== 'forgive') {\n    return afterFailure",
    replace: "  if (job.policy.crashes === 'count') {\n    return afterFailure",
  },
  {
    name: 'a retry whose latency counts from a run that never started',
    file: LIFECYCLE,
    find: 'change.hasRun === false ? job.failedAt : FAILED.has(status)',
    replace: 'FAILED.has(status)',
  },
  {
    name: 'a last attempt that is charged although it never began',
    file: LIFECYCLE,
    find: '(!job.begun && needsBegin(job, job.policy))\n',
    replace: '(!job.begun && job.suspect)\n',
  },
  {
    name: 'a job without retries is started again after a deploy',
    from: 9,
    file: LIFECYCLE,
    find: "if (maxRetries === 0 && crashes !== 'forgive') {",
    replace: "if (maxRetries < 0 && crashes !== 'forgive') {",
  },
  {
    name: 'a last attempt started without begin',
    file: JOB,
    find: "return job.delivery === 'at-most-once' || job.suspect || isLastPermitted(job, policy)",
    replace:
      "return job.delivery === 'at-most-once' || job.suspect || (job.attempt < 0 && isLastPermitted(job, policy))",
  },
  // Bugs of the engine
  {
    name: 'a suspect on its last attempt runs beside others',
    from: 9,
    file: 'src/engine/worker/quarantine.ts',
    find: 'return strikes > 0 || this.#options.isLast(claimed) ? 1',
    replace: 'return strikes > 0 ? 1',
  },
  {
    name: 'a lease counted from the response',
    from: 21,
    file: FETCHER,
    find: 'leaseUntil: sentAt + leaseMs, startBefore',
    replace: 'leaseUntil: heldSince + leaseMs, startBefore',
  },
  {
    name: 'an at-most-once job started without begin',
    file: JOB,
    find: "return job.delivery === 'at-most-once' || job.suspect || isLastPermitted(job, policy)",
    replace: 'return job.suspect || isLastPermitted(job, policy)',
  },
  {
    name: 'a sweep right after an outage',
    file: 'src/engine/upkeep/sweeper.ts',
    find: 'return this.#contactSince !== undefined && this.#env.clock.now() - this.#contactSince >= this.#leaseMs',
    replace: 'return true',
    mood: 'outages',
  },
  {
    name: 'outcomes dropped when the response is lost',
    from: 22,
    file: 'src/engine/worker/committer.ts',
    find: '        if (isRepeatable(error) || isOutage(error)) {',
    replace:
      "        if ((error as { code?: string }).code === 'STORE_UNKNOWN') {\n          for (const entry of batch) entry.done({ status: 'already' })\n          return\n        }\n        if (isRepeatable(error) || isOutage(error)) {",
  },
  // Bugs that the simulation found
  {
    name: 'leases not renewed after the lease renewer was idle',
    file: 'src/engine/worker/lease-renewer.ts',
    find: '    if (!this.#extending) this.#timer ??= env.clock.timer(leaseMs / 3, () => this.#tick())\n    if (this.#watchTimer) return\n',
    replace: '    if (this.#watchTimer) return\n    this.#timer ??= env.clock.timer(leaseMs / 3, () => this.#tick())\n',
    mood: 'crashes',
    from: 34,
  },
  {
    name: 'a claim with a lost response left behind by stop',
    from: 118,
    file: FETCHER,
    find: '    await this.#recall()\n',
    replace: '',
  },
  {
    name: 'a pending claim left behind by stop',
    from: 258,
    file: FETCHER,
    find: '    await Promise.all(this.#underWay.values())\n',
    replace: '',
  },
  {
    name: 'a start after the deadline',
    from: 147,
    file: FETCHER,
    find: 'return leaseUntil - now >= leaseMs / 2 && now < startBefore',
    replace: 'return startBefore > 0 && leaseUntil - now >= leaseMs / 2',
  },
  {
    name: 'a late response to begin starts a job whose lease is lost',
    from: 57,
    file: RUNNER,
    find: '    if (attempt.mayStart(this.#env.clock.now())) {\n      attempt.begun = true',
    replace: '    if (!attempt.begun) {\n      attempt.begun = true',
  },
  {
    name: 'log lines lost with a failed report',
    file: 'src/engine/worker/reporter.ts',
    find: '      const report = attempt.report()\n',
    replace: '      const report = attempt.report()\n      if (report) attempt.reported(report)\n',
  },
  {
    name: "times taken from the worker's own clock",
    from: 9,
    file: 'src/engine/time/store-time.ts',
    find: 'return this.#clock.now() + (this.#offsetMs ?? 0)',
    replace: 'return this.#clock.now()',
  },
  {
    name: 'an enqueue reported as failed that was stored',
    from: 91,
    file: 'src/engine/client/enqueuer.ts',
    find: 'throw lost ?? error',
    replace: 'throw error',
  },
  {
    name: 'a cancel reported as failed that was stored',
    file: 'src/engine/jobs/jobs.ts',
    find: '    } catch {\n      const base',
    replace: '    } catch (error) {\n      if (job) throw error\n      const base',
    from: 48,
  },
  {
    name: 'no more claims after an outcome was given up',
    file: 'src/engine/worker/committer.ts',
    find: '    this.#failures = 0\n    this.#env.log.error',
    replace: '    this.#env.log.error',
    from: 3,
  },
]
