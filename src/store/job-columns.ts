import type { Job } from '../core/job/job.js'
import { timeOf } from '../core/job/run-time.js'
import { fromText, toCounters, toJson, toTags, toText } from './columns.js'
import type { NewJob } from './store.js'

// The nullable columns of a job, for all SQL stores: one line is one field of `Job`. The stores derive their column
// lists, inserts and row readers from this table, so a new field needs one line here and one migration per database.

/** How a value is stored: unchanged, as encoded text (`toText`), or as JSON text. */
type Kind = 'number' | 'word' | 'text' | 'json'

export interface OptionalColumn {
  readonly field: OptionalField
  readonly column: string
  readonly kind: Kind
  /** Whether an enqueue can set it. */
  readonly isGiven: boolean
  /** Whether a worker that claims the job receives it. */
  readonly isHeld: boolean
}

type OptionalField = { [F in keyof Job]-?: undefined extends Job[F] ? F : never }[keyof Job]

const given = { isGiven: true, isHeld: true } as const
const held = { isGiven: false, isHeld: true } as const
const kept = { isGiven: false, isHeld: false } as const

const COLUMNS = [
  { field: 'firstStartedAt', column: 'first_started_at', kind: 'number', ...held },
  { field: 'startedAt', column: 'started_at', kind: 'number', ...held },
  { field: 'deadline', column: 'deadline', kind: 'number', ...given },
  { field: 'timeoutMs', column: 'timeout_ms', kind: 'number', ...given },
  { field: 'tenantId', column: 'tenant_id', kind: 'text', ...given },
  { field: 'key', column: 'key', kind: 'text', ...given },
  { field: 'policyId', column: 'policy_id', kind: 'text', ...given },
  { field: 'override', column: 'override', kind: 'json', ...given },
  { field: 'dependency', column: 'dependency', kind: 'text', ...given },
  { field: 'pass', column: 'pass', kind: 'number', ...held },
  { field: 'fingerprint', column: 'fingerprint', kind: 'text', ...given },
  { field: 'partition', column: 'partition', kind: 'text', ...given },
  { field: 'units', column: 'units', kind: 'json', ...given },
  { field: 'lane', column: 'lane', kind: 'text', ...held },
  { field: 'webhook', column: 'webhook', kind: 'text', ...given },
  { field: 'trace', column: 'trace', kind: 'text', ...given },
  { field: 'scheduleId', column: 'schedule_id', kind: 'text', ...given },
  { field: 'unique', column: '"unique"', kind: 'text', isGiven: true, isHeld: false },
  { field: 'reason', column: 'reason', kind: 'word', ...kept },
  { field: 'finishedAt', column: 'finished_at', kind: 'number', ...kept },
  { field: 'progress', column: 'progress', kind: 'text', ...kept },
  { field: 'result', column: 'result', kind: 'text', ...kept },
  { field: 'acknowledgedAt', column: 'acknowledged_at', kind: 'number', ...kept },
  { field: 'redriveId', column: 'redrive_id', kind: 'text', ...kept },
] as const satisfies readonly OptionalColumn[]

/** Optional fields that an enqueue can set, as a store keeps them; a deadline is a `RunTime`. */
export type GivenField = Extract<(typeof COLUMNS)[number], { isGiven: true }>['field']

type HeldColumn = Extract<(typeof COLUMNS)[number], { isHeld: true }>
/** Optional fields that a worker does not receive. */
export type UnheldField = Exclude<OptionalField, HeldColumn['field'] | 'backoffMs' | 'failedAt'>

export const HELD_COLUMNS = COLUMNS.filter((column): column is HeldColumn => column.isHeld)
export const UNHELD_COLUMNS: readonly OptionalColumn[] = COLUMNS.filter(({ isHeld }) => !isHeld)
export const GIVEN_COLUMNS: readonly (OptionalColumn & { readonly field: GivenField })[] = COLUMNS.filter(
  (column): column is Extract<(typeof COLUMNS)[number], { isGiven: true }> => column.isGiven,
)

/** The index in `HELD_COLUMNS`, which starts with `first_started_at` and `started_at`. */
export const STARTED_AT_PLACE = 1

export const columnNames = (columns: readonly { readonly column: string }[]): string =>
  columns.map(({ column }) => column).join(', ')

// ---------------------------------------------------------------- reading

export type JobDraft = { -readonly [Field in keyof Job]: Job[Field] }

/** Sets the fields whose columns are not NULL. The first column is at `from` in the row. */
export function readOptional(
  draft: Omit<JobDraft, 'state'>,
  row: readonly unknown[],
  columns: readonly OptionalColumn[],
  from: number,
): void {
  const fields = draft as Record<string, unknown>
  for (let place = 0; place < columns.length; place++) {
    const value = row[from + place]
    if (value === null) continue
    const { field, kind } = columns[place]!
    if (kind === 'text') fields[field] = fromText(value as string)
    else fields[field] = kind === 'json' ? JSON.parse(value as string) : value
  }
}

/** The columns may still name the last worker of a job that has ended. */
export function readLease(job: JobDraft, workerId: string | null, leaseUntil: number | null): void {
  if (job.state !== 'running' || workerId === null || leaseUntil === null) return
  job.workerId = fromText(workerId)
  job.leaseUntil = leaseUntil
}

// ---------------------------------------------------------------- writing

type Written = string | number | boolean | null

function toColumn(kind: Kind, value: unknown): string | number | null {
  if (value === undefined) return null
  if (kind === 'text') return toText(value as string)
  return kind === 'json' ? toJson(value as object) : (value as string | number)
}

/** The column value of a new job. */
export function givenValue({ field, kind }: (typeof GIVEN_COLUMNS)[number], job: NewJob, now: number) {
  if (field === 'deadline') return job.deadline === undefined ? null : timeOf(job.deadline, now)
  return toColumn(kind, job[field])
}

/** A column that a change can write; `fields` are the fields stored in it. */
export interface ChangedColumn {
  readonly column: string
  readonly type: 'number' | 'text' | 'flag'
  readonly fields: readonly (keyof Job)[]
  readonly value: (job: Job) => Written
}

const COUNTED = ['snoozes', 'releases', 'losses', 'strikes', 'suspect', 'backoffMs', 'failedAt'] as const

const CHANGEABLE: readonly ChangedColumn[] = [
  { column: 'state', type: 'text', fields: ['state'], value: ({ state }) => state },
  { column: 'queue', type: 'text', fields: ['queue'], value: ({ queue }) => toText(queue) },
  { column: 'priority', type: 'number', fields: ['priority'], value: ({ priority }) => priority },
  { column: 'run_at', type: 'number', fields: ['runAt'], value: ({ runAt }) => runAt },
  { column: 'generation', type: 'number', fields: ['generation'], value: ({ generation }) => generation },
  { column: 'attempt', type: 'number', fields: ['attempt'], value: ({ attempt }) => attempt },
  { column: 'begun', type: 'flag', fields: ['begun'], value: ({ begun }) => begun },
  {
    column: 'cancel_requested',
    type: 'flag',
    fields: ['cancelRequested'],
    value: ({ cancelRequested }) => cancelRequested,
  },
  { column: 'counters', type: 'text', fields: COUNTED, value: toCounters },
  { column: 'tags', type: 'text', fields: ['tags'], value: ({ tags }) => toTags(tags) },
  ...COLUMNS.map(({ field, column, kind }) => {
    const type = kind === 'number' ? ('number' as const) : ('text' as const)
    return { column, type, fields: [field], value: (job: Job) => toColumn(kind, job[field]) }
  }),
]

/**
 * The columns that differ in at least one of these jobs. The payload is excluded because each store keeps it in its
 * own place.
 */
export function changedColumns(writes: readonly JobWrite[]): readonly ChangedColumn[] {
  return CHANGEABLE.filter(({ fields }) =>
    writes.some(({ before, next }) => fields.some(field => before[field] !== next[field])),
  )
}

/** A job before and after a change. */
export interface JobWrite {
  readonly before: Job
  readonly next: Job
}
