import { type Limit, limit, type PartitionLimits, partitionLimits } from '../../../core/partition/limits.js'
import { limitWords, partitionLimitWords } from '../../../core/partition/words.js'
import { present } from '../../../core/values/present.js'
import type { ObjectSchema } from '../../../core/values/shape.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import type { Problem } from '../../data/http.js'
import { wrongOnes } from '../../parts/form/form.js'
import { type Draft, formOf, sentence, type Wrong } from '../../parts/form/typed.js'

export type Limits = NonNullable<QueueReport['limits']>

const text = (value: unknown): string => (value === undefined ? '' : String(value))
const json = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, undefined, 2))

/** A limit as it is typed. */
export const limitValues = ({ concurrency, rate, burst, units }: Limit = {}) => ({
  concurrency: text(concurrency),
  rate: text(rate),
  burst: text(burst),
  units: json(units),
})

export const partitionValues = ({ order, onDead, override, learn, fair, ...own }: PartitionLimits = {}) => ({
  ...limitValues(own),
  order: text(order),
  onDead: text(onDead),
  override: json(override),
  learn: text(learn || undefined),
  fair: text(fair || undefined),
})

export type LimitDraft = Draft<ReturnType<typeof limitValues>>
export type PartitionDraft = Draft<ReturnType<typeof partitionValues>>

const JSON_FIELDS = ['units', 'override'] as const
const FLAGS = ['learn', 'fair'] as const

/** A typed limit: undefined if nothing is typed. `refused` are the errors of the server by field. */
function typedLimit<S extends ObjectSchema, T extends LimitDraft>(schema: S, draft: T, refused: Wrong) {
  const typed = draft as Partial<PartitionDraft>
  const parsed = JSON_FIELDS.map(name => [name, jsonIn(typed[name]?.value ?? '')] as const)
  const flags = FLAGS.map(name => [name, typed[name]?.value === 'true' || undefined] as const)
  const more = present(Object.fromEntries([...parsed.map(([name, { value }]) => [name, value]), ...flags]))
  const plain = Object.entries(draft).filter(([name]) => ![...JSON_FIELDS, ...FLAGS].some(own => own === name))
  const { body, wrong: found, of } = formOf(schema, Object.fromEntries(plain) as Draft<unknown>, more)
  const isEmpty = Object.keys(body as object).length === 0
  const { '': whole, ...own } = isEmpty ? {} : found
  const wrong: Wrong = {
    ...refused,
    ...own,
    ...(whole !== undefined && { [fieldOf(whole)]: whole }),
    ...wrongOnes(Object.fromEntries(parsed.map(([name, { problem }]) => [name, problem]))),
  }
  return { draft, wrong, of, body: isEmpty ? undefined : body }
}

export const typedQueueLimit = (draft: LimitDraft, refused: Wrong) => typedLimit(limit, draft, refused)
export const typedPartitionLimits = (draft: PartitionDraft, refused: Wrong) =>
  typedLimit(partitionLimits, draft, refused)

/** A rule about several fields begins with the name of the one that it is about. */
function fieldOf(says: string): string {
  const word = /^\w+/.exec(says)?.[0] ?? ''
  const name = word.charAt(0).toLowerCase() + word.slice(1)
  return Object.hasOwn(partitionLimits.fields, name) ? name : 'concurrency'
}

function jsonIn(typed: string): { readonly value?: unknown; readonly problem?: string } {
  if (typed.trim() === '') return {}
  try {
    return { value: JSON.parse(typed) }
  } catch {
    return { problem: 'Expected JSON, with names and rates in double quotes' }
  }
}

/** The errors of a refused change, by part and field. */
export function refusedFields({ errors }: Pick<Problem, 'errors'>): Readonly<Record<'limit' | 'partitions', Wrong>> {
  const of = (part: string): Wrong =>
    Object.fromEntries(
      errors.flatMap(({ pointer, detail }) => {
        const [first, field] = pointer.slice(1).split('/')
        return first === part ? [[field ?? fieldOf(detail), sentence(detail)]] : []
      }),
    )
  return { limit: of('limit'), partitions: of('partitions') }
}

export interface LimitsChange {
  readonly limit?: Limit | null
  readonly partitions?: PartitionLimits | null
}

/** Only the part that differs. An empty part stands for what the code says; no limit at all needs `{}`. */
export function changeOf(
  old: Limits | undefined,
  next: { readonly limit: Limit | undefined; readonly partitions: PartitionLimits | undefined },
): LimitsChange {
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? {}) === JSON.stringify(b ?? {})
  const code = old?.from === 'code' ? old : old?.code
  return {
    ...(!isSame(limitValues(old?.limit), limitValues(next.limit)) && {
      limit: next.limit ?? (code?.limit ? {} : null),
    }),
    ...(!isSame(partitionValues(old?.partitions), partitionValues(next.partitions)) && {
      partitions: next.partitions ?? null,
    }),
  }
}

export const queueLimitWords = (own: Limit | undefined): string => limitWords(own ?? {}) || 'no limit'
export const eachPartitionWords = (own: PartitionLimits | undefined): string =>
  (own && partitionLimitWords(own)) || 'no limit'

/** What a change does, in sentences: `The queue: at most 40 jobs at a time, now at most 20 jobs at a time.` */
export function changeWords(old: Limits | undefined, { limit: own, partitions }: LimitsChange): string {
  const code = old?.from === 'code' ? old : old?.code
  const sentences: string[] = []
  if (own !== undefined) {
    sentences.push(`The queue: ${queueLimitWords(own ?? code?.limit)} (until now: ${queueLimitWords(old?.limit)}).`)
  }
  if (partitions !== undefined) {
    const next = eachPartitionWords(partitions ?? code?.partitions)
    sentences.push(`Each partition: ${next} (until now: ${eachPartitionWords(old?.partitions)}).`)
  }
  return sentences.join(' ')
}
