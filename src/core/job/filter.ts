import { TAG_LENGTH_MAX, TEXT_LENGTH_MAX } from '../values/limits.js'
import { present } from '../values/present.js'
import { about, boolean, type Infer, named, oneOf, read, text } from '../values/schema.js'
import { list, object, omit, union, view } from '../values/shape.js'
import type { WordHints } from '../values/suggest.js'
import { epochMilliseconds, time, timeOf } from '../values/time.js'
import { JOB_STATES, PHASES, type Phase, WAITING_PHASES, type WaitingPhase } from './job.js'

const IDS_MAX = 10_000

/** What to say of a phase that is given as a state. */
export const PHASE_HINTS: WordHints = Object.fromEntries(
  WAITING_PHASES.map(phase => [phase, `waiting jobs have phases: filter by phase "${phase}"`]),
)
const state = oneOf(JOB_STATES, PHASE_HINTS)
const words = text(TEXT_LENGTH_MAX)

const run = 'Start of the latest run.'
const failure = 'A run that failed, timed out or was lost ended in this time, also if the job has succeeded since.'

const times = {
  createdAfter: about(time, { label: 'created after' }),
  createdBefore: about(time, { label: 'created before' }),
  startedAfter: about(time, run, { label: 'started after' }),
  startedBefore: about(time, run, { label: 'started before' }),
  finishedAfter: about(time, { label: 'ended after' }),
  finishedBefore: about(time, { label: 'ended before' }),
  failedAfter: about(time, failure, { label: 'failed after' }),
  failedBefore: about(time, failure, { label: 'failed before' }),
}

export type TimeField = keyof typeof times
/** Each range starts with the first time and ends before the second. */
export const TIME_FIELDS = Object.keys(times) as readonly TimeField[]

/** Which jobs: the same filter for lists, counts, bulk actions and redrives, in the library, REST and the CLI. */
export const jobQuery = object(
  {},
  {
    ids: list(text(128), { max: IDS_MAX, of: 'ids' }),
    state: union(state, list(state, { max: JOB_STATES.length, of: 'states' })),
    phase: about(
      oneOf([...PHASES, 'waiting']),
      'A state, with `waiting` split into `scheduled`, `queued`, `retrying` and `blocked`.',
    ),
    queue: about(words, { label: 'queue' }),
    name: about(words, { label: 'name' }),
    tenantId: about(words, { label: 'tenant' }),
    key: about(words, { label: 'key' }),
    tag: about(text(TAG_LENGTH_MAX), { label: 'tag' }),
    reason: about(words, { label: 'reason' }),
    fingerprint: about(words, { label: 'error group' }),
    dependency: about(words, { label: 'dependency' }),
    redriveId: about(words, { label: 'redrive' }),
    scheduleId: about(words, { label: 'schedule' }),
    workerId: about(words, 'The worker that runs the job now.', { label: 'worker' }),
    error: about(words, 'Part of the name, code or message of the last error; case does not matter.', {
      label: 'error with',
    }),
    q: about(words, 'Part of the id, name, queue, key, tags, payload or error; case does not matter.', {
      label: 'search',
    }),
    internal: about(
      boolean,
      'Only jobs that Chronos makes itself, such as webhook deliveries; false: only the others.',
    ),
    acknowledged: boolean,
    retried: about(boolean, 'Only jobs with more than one attempt since they were last redriven; false: the others.'),
    ...times,
  },
)

export type JobQuery = Infer<typeof jobQuery>

/** The same filter for dead jobs. */
export const deadQuery = omit(jobQuery, 'state', 'phase', 'redriveId', 'workerId', 'internal')
export type DeadQuery = Infer<typeof deadQuery>

/** The filter as stores take it: `q` is called `text`, and times are epoch milliseconds. */
export type StoredFilter = Omit<JobQuery, 'phase' | 'q' | TimeField> & {
  readonly phase?: WaitingPhase
  readonly text?: string
} & { readonly [Field in TimeField]?: number }

const storedTime = about(epochMilliseconds, 'Epoch milliseconds.')
const storedTimes = Object.fromEntries(TIME_FIELDS.map(field => [field, storedTime])) as Record<
  TimeField,
  typeof storedTime
>

/** The filter of a redrive, as it is stored and shown. */
export const redriveFilter = named(
  'RedriveFilter',
  view(
    {},
    {
      ...omit(deadQuery, 'q', ...TIME_FIELDS).optional,
      text: deadQuery.fields.q,
      ...storedTimes,
    },
  ),
)
export type RedriveFilter = Infer<typeof redriveFilter>

export function parseJobQuery(query: unknown, where: string): StoredFilter {
  const { phase, q, ...rest } = read(jobQuery, query, `${where}:`)
  const at = TIME_FIELDS.map(field => [field, rest[field] === undefined ? undefined : timeOf(rest[field], field)])
  return present({
    ...rest,
    text: q,
    ...(Object.fromEntries(at) as Record<TimeField, number | undefined>),
    ...(phase !== undefined && phaseFilter(phase)),
  })
}

function phaseFilter(phase: Phase | 'waiting'): Pick<StoredFilter, 'phase' | 'state'> {
  return isWaiting(phase) ? { phase } : { state: phase }
}

const isWaiting = (phase: Phase | 'waiting'): phase is WaitingPhase =>
  (WAITING_PHASES as readonly string[]).includes(phase)

/**
 * The filter of a redrive in words: `error group 3f…, queue mail, error with ECONNRESET`. Nothing of it is left out. An
 * error group is named by its title if that is known.
 */
export function redriveFilterWords(
  filter: RedriveFilter,
  timeWords: (ms: number) => string,
  titles: ReadonlyMap<string, string> = new Map(),
): string {
  const { ids, acknowledged, retried, text: q, ...rest } = filter
  const traits: Readonly<Record<string, string | number | undefined>> = { ...rest, q }
  const said = Object.entries(traits).flatMap(([key, value]) => {
    if (value === undefined) return []
    if (key === 'fingerprint') return errorGroupWords(`${value}`, titles)
    const label = jobQuery.fields[key as keyof JobQuery]?.about.label ?? key
    return `${label} ${typeof value === 'number' ? timeWords(value) : value}`
  })
  const all = [
    ...(ids ? [`${ids.length} ${ids.length === 1 ? 'job' : 'jobs'} by id`] : []),
    ...said,
    ...(retried === undefined ? [] : [retried ? 'retried' : 'not retried']),
    ...(acknowledged === undefined ? [] : [acknowledged ? 'acknowledged' : 'not acknowledged']),
  ]
  return all.length === 0 ? 'all dead jobs' : all.join(', ')
}

/** `error "connect ECONNREFUSED"`, or `error group 3f…` if its title is not known. */
function errorGroupWords(fingerprint: string, titles: ReadonlyMap<string, string>): string {
  const title = titles.get(fingerprint)
  return title === undefined ? `error group ${fingerprint}` : `error "${title}"`
}
