import { TERMINAL } from '../../../core/job/job.js'
import type { JobView } from '../../../core/job/view.js'
import type { PolicyInput } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { type Duration, formatMs, parseDuration, toMs } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import { type EnqueueOptions, type EnqueueResult, timeOf } from '../../../engine/client/enqueuer.js'
import { systemClock } from '../../../engine/time/system.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { jsonText } from '../../output/show.js'
import { errorText } from '../jobs/note.js'
import { readPayload, readPolicy } from './payload.js'

export interface EnqueueFlags extends BackendOptions {
  readonly json?: true
  readonly payload?: string
  readonly queue?: string
  readonly priority?: number
  readonly delay?: Duration
  readonly runAt?: string
  readonly deadline?: string
  readonly key?: string
  readonly unique?: string
  readonly tenant?: string
  readonly tag?: readonly string[]
  readonly atMostOnce?: true
  readonly timeout?: Duration
  readonly retry?: string
  readonly maxRetries?: number
  readonly maxElapsed?: Duration
  readonly dependsOn?: string
  readonly fingerprint?: string
  readonly webhook?: string
  /** True: for as long as it takes. */
  readonly wait?: true | string
}

export async function enqueueJob(name: string, flags: EnqueueFlags, io: Io): Promise<number> {
  return addJob(name, await readPayload(flags.payload, io), flags, io)
}

/** Adds it, says its id, and waits for its end if asked to. */
export async function addJob(name: string, payload: unknown, flags: EnqueueFlags, io: Io): Promise<number> {
  const options = optionsOf(flags)
  const patienceMs = typeof flags.wait === 'string' ? toMs(flags.wait, '--wait') : Number.POSITIVE_INFINITY
  const add = async (backend: Backend): Promise<number> => {
    const result = await backend.enqueue(name, payload, options)
    if (flags.wait === undefined) return tell(result, result, flags, io)
    io.stderr.write(`waiting for job ${result.id} …\n`)
    const job = await ended(backend, result.id, patienceMs, io.interrupted)
    tell(job, result, flags, io)
    if (job.state === 'succeeded') return EXIT.ok
    io.stderr.write(`job ${job.id} ${fate(job)}\n`)
    return EXIT.jobDied
  }
  return withBackend(flags, io, add, 'any')
}

export async function replayJob(id: string, options: BackendOptions & { json?: true }, io: Io): Promise<number> {
  return withBackend(options, io, async backend => {
    const result = await backend.jobs.replay(id)
    return tell(result, result, options, io)
  })
}

/** The id alone on stdout, for `$(…)`. */
function tell(value: unknown, { id, status }: EnqueueResult, options: { json?: true }, io: Io): number {
  io.stdout.write(options.json ? jsonText(value) : `${id}\n`)
  if (status === 'existing' && !options.json) io.stderr.write(`job ${id} was there already, under the same key\n`)
  return EXIT.ok
}

function optionsOf(flags: EnqueueFlags): EnqueueOptions {
  const {
    queue,
    priority,
    delay,
    runAt,
    deadline,
    key,
    unique,
    tenant,
    tag,
    timeout,
    maxElapsed,
    dependsOn,
    fingerprint,
    webhook,
  } = flags
  const retry = policyOf(flags)
  return {
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(delay !== undefined && { delay }),
    ...(runAt !== undefined && { runAt }),
    ...(deadline !== undefined && { deadline: deadlineOf(deadline) }),
    ...(key !== undefined && { key }),
    ...(unique !== undefined && { unique }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(tag && { tags: tag }),
    ...(flags.atMostOnce && { delivery: 'at-most-once' as const }),
    ...(timeout !== undefined && { timeout }),
    ...(retry !== undefined && { retry }),
    ...(maxElapsed !== undefined && { maxElapsed }),
    ...(dependsOn !== undefined && { dependsOn }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(webhook !== undefined && { webhook }),
  }
}

/** `--max-retries` goes before what a policy says of it. */
function policyOf({ retry, maxRetries }: EnqueueFlags): PolicyInput | undefined {
  const policy = retry === undefined ? undefined : readPolicy(retry, '--retry')
  if (maxRetries === undefined) return policy
  const named = typeof policy === 'string' ? PRESETS[policy] : policy
  return { ...named, maxRetries }
}

function deadlineOf(text: string): Date | Duration {
  return parseDuration(text) === undefined ? new Date(timeOf(text, '--deadline')) : (text as Duration)
}

const LOOK_FIRST_MS = 50
const LOOK_MAX_MS = 1_000

/** Looks again and again: the worker that ends it is another process. */
async function ended({ jobs }: Backend, id: string, patienceMs: number, interrupted: AbortSignal): Promise<JobView> {
  const since = systemClock.now()
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(LOOK_MAX_MS, pauseMs * 1.5)) {
    interrupted.throwIfAborted()
    const job = await jobs.get(id)
    if (!job) throw new ChronosError('NOT_FOUND', `job ${id} was deleted while it was waited for`)
    if (TERMINAL.has(job.state)) return job
    const leftMs = since + patienceMs - systemClock.now()
    if (leftMs <= 0) throw stillLive(job, patienceMs)
    await new Promise<void>(resolve => systemClock.timer(Math.min(pauseMs, leftMs), resolve))
  }
}

function stillLive({ id, phase }: JobView, patienceMs: number): ChronosError {
  return new ChronosError(
    'TIMED_OUT',
    `job ${id} is ${phase} after ${formatMs(patienceMs)}, and goes on; look at it with \`chronos jobs get ${id}\``,
  )
}

function fate({ state, reason, error }: JobView): string {
  if (state !== 'dead') return 'was cancelled'
  return `died (${reason})${error ? `: ${errorText(error)}` : ''}`
}
