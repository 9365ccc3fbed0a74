import type { Clock } from '../../../src/core/values/clock.js'
import { PermanentError } from '../../../src/core/values/error.js'
import { defineJob, type JobContext, type JobDefinition } from '../../../src/engine/client/definition.js'
import type { Ledger, Start } from '../ledger.js'
import type { Host } from './host.js'
import type { Network } from './network.js'
import { DEFINED, JOB_NAMES, type JobName, type JobPlan } from './plan.js'

export interface Payload {
  readonly ref: number
  /** Another payload under the same key. */
  readonly otherwise?: true
}

/** What a start names. */
export type RunFacts = Pick<JobContext, 'id' | 'generation' | 'run' | 'attempt'>

/** The events that handlers report. */
export interface Stage {
  readonly ledger: Ledger
  readonly jobs: readonly JobPlan[]
  /** Records the start and checks that it is allowed. */
  started(host: Host, job: RunFacts, plan: JobPlan): Start
  crash(host: Host): void
  readonly network: Network
  /** Whether such a reason to wait depends on facts that only its process knows. */
  mayBeExplainedAs(id: string, because: string): boolean
  /** Whether this run is the first probe of a circuit by this job. */
  isFirstProbe(job: RunFacts): boolean
  /** An effect of `job.once` begins, or its handler gets an error instead of a result. */
  effectBegins(id: string, name: string): void
  effectFails(host: Host, id: string, error: unknown): void
}

export function definitionsOf(host: Host, stage: Stage, unknown?: JobName): JobDefinition<Payload>[] {
  return ([...JOB_NAMES, 'call'] as const)
    .filter(name => name !== unknown)
    .map(name =>
      defineJob<Payload, unknown>({
        name,
        retry: DEFINED[name],
        ...(name === 'charge' && { delivery: 'at-most-once' }),
        run: (payload, job) => perform(host, stage, payload, job),
      }),
    )
}

const never = (): Promise<never> => new Promise(() => {})

async function perform(host: Host, stage: Stage, { ref }: Payload, job: JobContext): Promise<unknown> {
  // Code of a killed process may still run in this moment, but has no effect.
  if (host.isGone) return never()
  const plan = stage.jobs[ref]!
  const start = stage.started(host, job, plan)
  const now = (): number => host.clock.now()
  try {
    for (let line = 0; line < plan.logs; line++) {
      job.log(`line ${line}`, { run: job.run })
      start.logged++
    }
    if (plan.logs > 2) job.progress({ run: job.run })
    const value = await act(host, stage, plan, job)
    start.end = { how: value === SNOOZE ? 'snoozed' : 'returned', at: now() }
    return value === SNOOZE ? job.snooze(snoozeMs(plan)) : value
  } catch (thrown) {
    start.end = { how: thrown instanceof PermanentError ? 'gave up' : 'threw', at: now() }
    throw thrown
  }
}

const SNOOZE = Symbol('snooze')
const snoozeMs = ({ behaviour }: JobPlan): number => (behaviour.does === 'snooze' ? behaviour.delayMs : 0)

async function act(host: Host, stage: Stage, plan: JobPlan, job: JobContext): Promise<unknown> {
  const { behaviour } = plan
  const { clock } = host
  const nth = stage.ledger.startsOf(job.id).filter(({ generation }) => generation === job.generation).length
  const again = 'times' in behaviour && nth <= behaviour.times
  switch (behaviour.does) {
    case 'succeed':
      await wait(clock, behaviour.ms, job.signal)
      break
    case 'fail':
      await wait(clock, behaviour.ms, job.signal)
      if (again) throw Object.assign(new Error('the other side is busy'), { code: 'EBUSY' })
      break
    case 'give up':
      await wait(clock, behaviour.ms, job.signal)
      if (again) throw new PermanentError('this can never work')
      break
    case 'snooze':
      await wait(clock, behaviour.ms, job.signal)
      if (again) return SNOOZE
      break
    case 'overrun':
      if (again) await wait(clock, 60_000, job.signal)
      break
    case 'ignore abort':
      await wait(clock, behaviour.ms)
      break
    case 'charge once':
      return chargeOnce(host, stage, job, () => wait(clock, behaviour.ms, job.signal), again)
    case 'call':
      await wait(clock, behaviour.ms, job.signal)
      if (!stage.network.isDown(behaviour.service, job.tenantId)) break
      if (behaviour.kills && stage.isFirstProbe(job)) {
        stage.crash(host)
        return never()
      }
      throw refusalOf(stage.network, behaviour.service)
    case 'kill':
      await wait(clock, behaviour.ms, job.signal)
      if (!again) break
      stage.crash(host)
      return never()
  }
  return { ref: plan.ref }
}

function refusalOf(network: Network, service: number): Error {
  const retryAfterS = network.retryAfterOf(service)
  if (retryAfterS === undefined) return Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
  return Object.assign(new Error('busy'), { status: 503, headers: { 'retry-after': String(retryAfterS) } })
}

async function chargeOnce(
  host: Host,
  stage: Stage,
  job: JobContext,
  work: () => Promise<void>,
  fails: boolean,
): Promise<unknown> {
  const effect = stage.ledger.effect(job.id, 'charge')
  const charge = (): Promise<string> =>
    job.once('charge', async () => {
      if (host.isGone) return never()
      stage.effectBegins(job.id, 'charge')
      await work()
      effect.runs++
      return `receipt ${effect.runs}`
    })
  try {
    // A handler may ask twice at once; the effect is the same.
    const [value, other] = await Promise.all([charge(), job.run % 2 === 0 ? charge() : undefined])
    effect.returned.push(value, ...(other === undefined ? [] : [other]))
  } catch (error) {
    // A handler that was told to stop does not wait for the store.
    if (!host.isGone && !job.signal.aborted) stage.effectFails(host, job.id, error)
    throw error
  }
  if (fails) throw new Error('failed after the charge')
  return effect.returned.at(-1)
}

/** Takes time on the process's clock, and ends early when the handler is aborted. */
function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (ms === 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, resolve)
    const stop = (): void => {
      timer.cancel()
      reject(signal!.reason)
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
