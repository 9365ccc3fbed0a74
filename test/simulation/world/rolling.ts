import type { NewJob } from '../../../src/store/store.js'
import type { AnswerOf, Arguments, Verb } from '../verbs.js'
import type { Payload } from './handlers.js'
import type { JobPlan } from './plan.js'

// A newer version writes some jobs in a way that the current one does not understand: another encoding of the payload,
// or a setting of the policy. Its processes translate both ways; the real engine plays the old version as it is.

const ENCODED = '~'
const SETTING = 'settingOfTomorrow'

interface Written {
  readonly payload: string
  readonly override?: object
}

export const payloadOf = (payload: string): Payload =>
  JSON.parse(payload.startsWith(ENCODED) ? payload.slice(ENCODED.length) : payload) as Payload

export const isOfNewerVersion = (payload: string, override: object | undefined): boolean =>
  payload.startsWith(ENCODED) || (override !== undefined && SETTING in override)

function asStored(job: NewJob, plans: readonly JobPlan[]): NewJob {
  const { future } = plans[payloadOf(job.payload).ref] ?? {}
  if (future === 'payload') return { ...job, payload: ENCODED + job.payload }
  return future === 'policy' ? { ...job, override: { ...job.override, [SETTING]: 1 } as object } : job
}

function asRead<Job extends Written>(job: Job): Job {
  if (job.payload.startsWith(ENCODED)) return { ...job, payload: job.payload.slice(ENCODED.length) }
  if (!job.override || !(SETTING in job.override)) return job
  const { override, ...rest } = job
  const { [SETTING]: _, ...known } = override as Record<string, unknown>
  return (Object.keys(known).length === 0 ? rest : { ...rest, override: known }) as Job
}

/** The arguments as a process of the newer version sends them. */
export function newerArguments<V extends Verb>(verb: V, args: Arguments<V>, plans: readonly JobPlan[]): Arguments<V> {
  if (verb !== 'enqueue') return args
  const [jobs, ...rest] = args as Arguments<'enqueue'>
  return [jobs.map(job => asStored(job, plans)), ...rest] as unknown as Arguments<V>
}

/** The answer as a process of the newer version understands it. */
export function newerAnswer<V extends Verb>(verb: V, answer: AnswerOf<V>): AnswerOf<V> {
  switch (verb) {
    case 'claim':
    case 'held':
    case 'expired': {
      const { jobs, ...rest } = answer as AnswerOf<'expired'>
      return { ...rest, jobs: jobs.map(asRead) } as AnswerOf<V>
    }
    case 'get':
      return (answer && asRead(answer as NonNullable<AnswerOf<'get'>>)) as AnswerOf<V>
    case 'list': {
      const { data, ...rest } = answer as AnswerOf<'list'>
      return { ...rest, data: data.map(asRead) } as AnswerOf<V>
    }
    case 'change':
      return (answer as AnswerOf<'change'>).map(one =>
        'job' in one ? { ...one, job: asRead(one.job) } : one,
      ) as unknown as AnswerOf<V>
    default:
      return answer
  }
}
