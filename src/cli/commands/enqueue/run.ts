import { enqueueOptions } from '../../../core/job/options.js'
import type { JobView } from '../../../core/job/view.js'
import type { PolicyInput } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { toMs } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { EnqueueOptions, EnqueueResult } from '../../../engine/client/enqueuer.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import { flagValues } from '../../flags.js'
import type { Io } from '../../io.js'
import { jsonText } from '../../output/show.js'
import { errorText } from '../jobs/note.js'
import { readDeadline, readPayload, readPolicy } from './payload.js'

type Renamed = 'tenantId' | 'tags' | 'deadline' | 'retry' | 'mode' | 'for' | 'maxWait'

/** The flags of the fields of a job have the names of the fields, except those listed here. */
export interface EnqueueFlags extends BackendOptions, Omit<EnqueueOptions, Renamed> {
  readonly payload?: string
  readonly deadline?: string
  readonly tenant?: string
  readonly tag?: readonly string[]
  readonly retry?: string
  readonly atMostOnce?: true
  readonly uniqueMode?: EnqueueOptions['mode']
  readonly uniqueFor?: EnqueueOptions['for']
  readonly uniqueMaxWait?: EnqueueOptions['maxWait']
  /** True: without a limit. */
  readonly wait?: true | string
}

export async function enqueueJob(name: string, flags: EnqueueFlags, io: Io): Promise<number> {
  return addJob(name, await readPayload(flags.payload, io), flags, io)
}

/** Enqueues a job, prints its id, and waits for its end with `--wait`. */
export async function addJob(name: string, payload: unknown, flags: EnqueueFlags, io: Io): Promise<number> {
  const options = optionsOf(flags)
  const within = typeof flags.wait === 'string' ? toMs(flags.wait, '--wait', { min: 1 }) : undefined
  const add = async (backend: Backend): Promise<number> => {
    const result = await backend.enqueue(name, payload, options)
    for (const warning of result.warnings ?? []) io.stderr.write(`warning: ${warning}\n`)
    if (flags.wait === undefined) return print(result, result, flags, io)
    io.stderr.write(`waiting for job ${result.id} …\n`)
    const job = await backend.jobs.ended(result.id, present({ within, signal: io.interrupted }))
    print(job, result, flags, io)
    if (job.state === 'succeeded') return EXIT.ok
    io.stderr.write(`job ${job.id} ${outcomeWords(job)}\n`)
    return EXIT.jobDied
  }
  return withBackend(flags, io, add, 'any')
}

export async function replayJob(id: string, options: BackendOptions, io: Io): Promise<number> {
  return withBackend(options, io, async backend => {
    const result = await backend.byId.replay(id)
    return print(result, result, options, io)
  })
}

type Printed = Pick<EnqueueFlags, 'json' | 'key' | 'unique'>

/** Only the id on stdout, for `$(…)`. */
function print(value: unknown, { id, status }: EnqueueResult, options: Printed, io: Io): number {
  io.stdout.write(options.json ? jsonText(value) : `${id}\n`)
  if (!options.json && status !== 'created')
    io.stderr.write(`job ${id} ${status === 'existing' ? same(options) : TOOK}\n`)
  return EXIT.ok
}

const TOOK = 'was waiting and has the new payload'

const same = ({ key, unique }: Printed): string =>
  `already exists with this ${key === undefined && unique !== undefined ? 'unique value' : 'key'}`

function optionsOf(flags: EnqueueFlags): EnqueueOptions {
  const { maxRetries: _, ...given } = flagValues<EnqueueOptions>(enqueueOptions.fields, flags)
  return present({
    ...given,
    deadline: flags.deadline === undefined ? undefined : readDeadline(flags.deadline),
    delivery: flags.atMostOnce ? ('at-most-once' as const) : undefined,
    retry: policyOf(flags),
  })
}

/** `--max-retries` takes precedence over the policy. */
function policyOf({ retry, maxRetries }: EnqueueFlags): PolicyInput | undefined {
  const policy = retry === undefined ? undefined : readPolicy(retry, '--retry')
  if (maxRetries === undefined) return policy
  const named = typeof policy === 'string' ? PRESETS[policy] : policy
  return { ...named, maxRetries }
}

function outcomeWords({ state, reason, error }: JobView): string {
  if (state !== 'dead') return 'was cancelled'
  return `died (${reason})${error ? `: ${errorText(error)}` : ''}`
}
