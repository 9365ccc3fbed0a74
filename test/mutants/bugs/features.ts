import type { Mutant } from '../mutant.js'

const DEPENDENCY = 'src/core/dependency/dependency.ts'
const OUTBOX = 'src/engine/webhooks/outbox.ts'
const SCHEDULE = 'src/core/schedule/schedule.ts'
const SCHEDULER = 'src/engine/schedules/scheduler.ts'
const REDRIVE = 'src/core/redrive/redrive.ts'
const REDRIVER = 'src/engine/dead/redriver.ts'
const EFFECTS = 'src/engine/worker/effects.ts'
const UNKNOWN = 'src/engine/worker/unknown.ts'

/** Bugs of circuits, schedules, webhooks, redrives, alerts, effects, pull workers and rolling upgrades. */
export const FEATURE_BUGS: readonly Mutant[] = [
  // Circuits
  {
    name: 'one circuit for all tenants',
    from: 134,
    file: 'src/engine/dependencies/answer.ts',
    find: 'return name === DELIVERY_JOB && isEndpointKey(key) ? undefined : tenantId',
    replace: 'return name === DELIVERY_JOB && isEndpointKey(key) ? undefined : tenantId?.slice(0, 0) || undefined',
  },
  {
    name: 'a lost probe that no process reports',
    from: 4,
    file: 'src/engine/dependencies/lost-probe.ts',
    find: '  if (now - entry.probeOverAt < REPORT_MS) return undefined\n',
    replace: '  if (now - entry.probeOverAt < 100 * REPORT_MS) return undefined\n',
  },
  {
    name: 'a job that was called to probe is deferred again',
    from: 71,
    file: 'src/store/sqlite/writes/defer.ts',
    find: "add('pass IS NOT ? AND run_at <= ?', -pass, now + from.dueWithinMs)",
    replace: "add('? IS NOT NULL AND run_at <= ?', -pass, now + from.dueWithinMs)",
  },
  {
    name: 'two probes at once',
    from: 4,
    file: DEPENDENCY,
    find: 'if (forced || !isRepeatable || isProbed(dependency, now)) return false',
    replace: 'if (forced || !isRepeatable) return false',
  },
  {
    name: 'an open circuit that lets every job through',
    from: 4,
    file: DEPENDENCY,
    find: "return dependency.circuit === 'closed' && dependency.forced !== 'open' &&",
    replace: "return dependency.forced !== 'open' &&",
  },
  // Webhooks
  {
    name: 'no delivery about a job that was cancelled while it ran',
    killer: 'runs#aRunThatIsCancelledBeforeItsRetryIsDelivered',
    file: OUTBOX,
    find: 'const spawnIfCancelled = mayBeCancelled ? this.#ofJob(cancelNews(settlement, claimed)) : []',
    replace:
      'const spawnIfCancelled = mayBeCancelled && claimed.run < 0 ? this.#ofJob(cancelNews(settlement, claimed)) : []',
  },
  {
    name: 'no delivery about a job past its deadline',
    from: 128,
    file: 'src/engine/upkeep/sweeper.ts',
    find: 'store.change(overdue, expire, job => outbox.following(job))',
    replace: 'store.change(overdue, expire)',
  },
  {
    name: 'a delivery that was refused counts as delivered',
    from: 128,
    file: 'src/engine/webhooks/delivery-job.ts',
    find: '  if (status >= 200 && status < 300) {\n',
    replace: '  if (status >= 200 && status < 600) {\n',
  },
  {
    name: "a tenant's endpoint gets the events of other tenants",
    from: 128,
    file: 'src/core/webhook/webhook.ts',
    find: '  if (endpoint.tenantId !== undefined && endpoint.tenantId !== tenantId) return false\n',
    replace: '',
  },
  {
    name: 'a run that ends before the endpoints are known',
    from: 128,
    file: OUTBOX,
    find: '    return this.#endpoints.isLoaded && this.#listeners.isLoaded\n',
    replace: '    return true\n',
  },
  // Schedules
  {
    name: 'one job for all occurrences',
    from: 215,
    file: 'src/engine/schedules/schedule-cache.ts',
    find: 'return `schedule:${scheduleId}:${new Date(tick).toISOString()}`',
    replace: 'return `schedule:${scheduleId}:${new Date(tick - (tick % 60_000)).toISOString()}`',
  },
  {
    name: 'missed occurrences without the one that makes up for them',
    from: 22,
    file: SCHEDULE,
    find: 'return { onTime: [last], catchUp: [], last, ...missedOf(schedule, ticks, first, last) }',
    replace: 'return { onTime: [], catchUp: [], last, ...missedOf(schedule, ticks, first, last) }',
  },
  {
    name: 'the oldest instead of the newest missed occurrences',
    from: 238,
    file: SCHEDULE,
    find: 'const catchUp = newest(ticks, schedule.decidedUntil, now, schedule.missed.all)',
    replace: 'const catchUp = upTo(ticks, schedule.decidedUntil, now).slice(0, schedule.missed.all)',
  },
  {
    name: 'a decision that is written without its jobs',
    from: 102,
    file: SCHEDULER,
    find: 'const jobs = round.fire.map(tick => this.#job(schedule, tick, now))',
    replace: 'const jobs = round.fire.slice(1).map(tick => this.#job(schedule, tick, now))',
  },
  // Redrives
  {
    name: 'a redrive without its canary',
    from: 244,
    file: REDRIVE,
    find: "if (redrive.state === 'canary') return Math.max(0, redrive.canary - started)",
    replace: "if (redrive.state === 'canary') return Math.max(0, 10 + redrive.canary - started)",
  },
  {
    name: 'a redrive of jobs with an unknown outcome',
    from: 244,
    file: REDRIVE,
    find: "return reason === 'unknown-outcome' && !redrive.force",
    replace: "return reason === 'unknown-outcome' && redrive.force",
  },
  {
    name: 'a redrive that waits for a dead process',
    from: 246,
    file: REDRIVER,
    find: 'if (redrive.lockedBy !== this.#id && (redrive.lockedUntil ?? 0) > now) return',
    replace: 'if (redrive.lockedBy !== this.#id && redrive.lockedUntil !== undefined) return',
  },
  {
    name: 'a redrive whose jobs do not name it',
    from: 208,
    file: REDRIVER,
    find: 'redriveJobs({ redriveId: redrive.id, endedBy: redrive.createdAt })',
    replace: 'redriveJobs({})',
  },
  {
    name: 'a late redrive of a job that has died again',
    file: REDRIVER,
    find: 'redriveJobs({ redriveId: redrive.id, endedBy: redrive.createdAt })',
    replace: 'redriveJobs({ redriveId: redrive.id })',
    killer: 'runs#aLateRedriveLeavesAJobAloneThatHasDiedAgain',
  },
  // Effects
  {
    name: 'job.once gives up an outage that its lease outlasts',
    from: 56,
    file: EFFECTS,
    find: 'const recorded = await repeated(env, end, error => mayWait(attempt, error))',
    replace: 'const recorded = await repeated(env, end)',
  },
  {
    name: 'an effect that runs for each of two callers at once',
    from: 52,
    file: 'src/engine/worker/attempt.ts',
    find: '    if (running) return running as Promise<T>\n',
    replace: "    if (running && name === '') return running as Promise<T>\n",
  },
  {
    name: 'an effect that ignores its record',
    from: 212,
    file: EFFECTS,
    find: "if (before.status === 'done') return JSON.parse(before.result) as T",
    replace: "if (before.status === 'done' && name === '') return JSON.parse(before.result) as T",
  },
  {
    name: 'an effect that trusts an answer from before a suspension',
    killer: 'runs#anEffectAsksAgainAfterASuspension',
    file: EFFECTS,
    find: "if (now < attempt.leaseUntil || now - sentAt < PROMPT_MS || status.status === 'lost') return status",
    replace: 'if (now >= sentAt) return status',
  },
  {
    name: 'an effect of a run that has ended',
    killer: 'runs#anEffectOfARunThatHasEndedDoesNotHappen',
    file: EFFECTS,
    find: "if (attempt.over) return { status: 'lost' }",
    replace: "if (attempt.over && name === '') return { status: 'lost' }",
  },
  // Rolling upgrades
  {
    name: 'an old process runs a payload that it does not understand',
    from: 52,
    file: UNKNOWN,
    find: "if (!JSON_BEGINS.test(payload)) return 'the encoding of its payload'",
    replace: "if (payload === '') return 'the encoding of its payload'",
  },
  {
    name: 'an old process runs a policy that it does not understand',
    from: 18,
    file: UNKNOWN,
    find: "return override === undefined || isKnownPolicy(override) ? undefined : 'its retry policy'",
    replace: 'return undefined',
  },
  // Pull workers, alerts, upkeep, reasons
  {
    name: 'a pull worker gets an at-most-once job that has not begun',
    from: 247,
    file: 'src/engine/leases/lease-claimer.ts',
    find: 'const careful = attempts.filter(attempt => attempt.needsBegin)',
    replace: 'const careful = attempts.filter(attempt => attempt.needsBegin && attempt.run > 100)',
  },
  {
    name: 'a pull worker gets an at-most-once job whose lease is over',
    killer: 'runs#aLeaseThatIsOverIsNotHandedOut',
    file: 'src/engine/leases/lease-claimer.ts',
    find: 'this.#env.clock.now() - sentAt < leaseUntil - now',
    replace: 'now <= leaseUntil',
  },
  {
    name: 'the end of a run of a pull worker ends a later one',
    killer: 'runs#aLateRequestLeavesALaterRunAlone',
    file: 'src/engine/leases/leases.ts',
    find: 'if (attempt && run !== undefined && attempt.run !== run) return',
    replace: 'if (attempt && run === 0) return',
  },
  {
    name: 'an alert that is told at every look',
    from: 172,
    file: 'src/core/alert/alert.ts',
    find: "  if (!noticed) return 'firing'\n",
    replace: "  if (!noticed || noticed.count < 5) return 'firing'\n",
  },
  {
    name: 'jobs of dead workers wait for a slow sweeper',
    from: 52,
    file: 'src/engine/upkeep/sweeper.ts',
    find: 'this.#everyMs = Math.min(everyMaxMs, leaseMs / 3)',
    replace: 'this.#everyMs = 10 * everyMaxMs',
  },
  {
    name: 'a job of a paused queue waits for a worker',
    from: 52,
    file: 'src/core/job/wait-reason.ts',
    find: '  if (queue?.paused) {\n',
    replace: "  if (queue?.paused && job.queue === '') {\n",
  },
  {
    name: 'a queue that is never removed',
    file: 'src/engine/upkeep/empty-queues.ts',
    find: 'record.updatedAt < now - KEPT_MS',
    replace: 'record.updatedAt < 0',
    killer: 'runs#emptyQueuesAreRemoved',
  },
  {
    name: 'a result that vanishes without a word',
    file: 'src/engine/worker/announce.ts',
    find: "outcome.kind === 'succeeded' && outcome.note?.includes(NOT_KEPT)",
    replace: "outcome.kind === 'succeeded' && outcome.note === NOT_KEPT",
    killer: 'runs#aResultThatIsNotKeptIsLogged',
  },
]
