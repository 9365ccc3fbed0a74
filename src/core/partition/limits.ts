import { canonicalJson } from '../job/payload.js'
import { shown } from '../values/error.js'
import { hash64 } from '../values/hash.js'
import { present } from '../values/present.js'
import { perSecondOf, type Rate, rate } from '../values/rate.js'
import { about, boolean, type Infer, integer, named, number, oneOf, refined, text } from '../values/schema.js'
import { object, record } from '../values/shape.js'
import { deliveryPartition } from '../webhook/delivery.js'

const CONCURRENCY_MAX = 1_000_000
const OVERRIDES_MAX = 1_000
/** Partitions are indexed together with the name of their queue. */
const PARTITION_LENGTH_MAX = 200
const HASHED_LENGTH = 160
const UNITS_MAX = 10
const UNITS_AMOUNT_MAX = 1_000_000_000
const UNIT = /^[a-zA-Z][\w.-]{0,39}$/

/** Starts are counted under the empty name; see `STARTS`. */
const unitNamed = (given: Readonly<Record<string, unknown>>): string | undefined => {
  const wrong = Object.keys(given).find(name => !UNIT.test(name))
  return wrong === undefined ? undefined : `a unit is a word such as "tokens", got ${shown(wrong)}`
}

/** What a start costs besides being a start, such as tokens: an amount per unit. */
export const units = about(
  refined(record(number(0, UNITS_AMOUNT_MAX), { max: UNITS_MAX, of: 'units' }), unitNamed),
  'What its start is expected to cost, by unit, such as `{ "tokens": 1200 }`.',
)
export type Units = Infer<typeof units>

/** Limits of starts, whatever they cost. */
export const startFields = {
  concurrency: about(integer(1, CONCURRENCY_MAX), 'How many jobs may run at the same time, over all workers.'),
  rate: about(rate, 'How many jobs may start per second, minute or hour, over all workers: `20/s`, `500/m`.'),
  burst: about(integer(1, CONCURRENCY_MAX), 'How many starts may come at once. Default: those of one second.'),
}

const limitFields = {
  ...startFields,
  units: about(
    refined(record(rate, { max: UNITS_MAX, of: 'rates of units' }), unitNamed),
    'Rates of what a start costs, by unit: `{ "tokens": "90000/m" }`.',
  ),
}

export const burstNeedsRate = (given: { readonly burst?: unknown; readonly rate?: unknown }): string | undefined =>
  given.burst !== undefined && given.rate === undefined ? 'burst needs a rate; give a rate too' : undefined

/** The limits of a whole queue, and what an override can set. */
export const limit = named('Limit', refined(object({}, limitFields), burstNeedsRate), {
  example: { concurrency: 40 },
})
export type Limit = Infer<typeof limit>

/** Limits that each partition of a queue has for itself. */
export const partitionLimits = named(
  'PartitionLimits',
  refined(
    object(
      {},
      {
        ...limitFields,
        learn: about(
          boolean,
          'Lower the rate when responses say so (`RateLimit`, `Retry-After`, 429), and raise it slowly again.',
        ),
        order: about(
          oneOf(['fifo'] as const),
          '`fifo`: the jobs of a partition run one after another, in the order of their creation, whatever fails.',
        ),
        onDead: about(
          oneOf(['stop', 'continue'] as const),
          'With `fifo`: whether a dead letter stops its partition until it is redriven or discarded. Default `continue`.',
        ),
        fair: about(boolean, 'The partitions take turns, without any other limit.'),
        override: about(record(limit, { max: OVERRIDES_MAX, of: 'limits by partition' }), 'Limits by partition.'),
      },
    ),
    partitionProblem,
  ),
  { example: { concurrency: 2, override: { 'acct:7': { concurrency: 10 } } } },
)
export type PartitionLimits = Infer<typeof partitionLimits>

type GivenPartitionLimits = {
  readonly [Field in 'concurrency' | 'rate' | 'burst' | 'learn' | 'order' | 'onDead' | 'fair']?: unknown
} & { readonly override?: Readonly<Record<string, { readonly concurrency?: unknown }>> }

function partitionProblem(given: GivenPartitionLimits): string | undefined {
  const { order, concurrency, learn, onDead } = given
  const all = [concurrency, ...Object.values(given.override ?? {}).map(own => own.concurrency)]
  const tooMany = all.find(one => one !== undefined && one !== 1)
  if (order === 'fifo' && tooMany !== undefined)
    return `order "fifo" runs one job at a time; leave concurrency out, or give 1 instead of ${String(tooMany)}`
  if (onDead !== undefined && order !== 'fifo') return 'onDead needs order "fifo"; give it, or leave onDead out'
  if (learn === true && given.rate === undefined) return 'learn needs a rate to begin with; give a rate too'
  if (Object.keys(given).length === 0) return 'no limit; give concurrency, rate, units, order or fair'
  return burstNeedsRate(given)
}

/** The two kinds of limits that a queue can have. */
export interface LimitPair {
  readonly limit?: Limit
  readonly partitions?: PartitionLimits
}

/** The limits of a queue, as they are stored. */
export interface QueueLimits extends LimitPair {
  /** Limits of code never replace those that an operator has set. */
  readonly from: 'code' | 'operator'
  /** With those of an operator: what the code says, which returns when they are removed. */
  readonly code?: LimitPair
  /** Since when they apply, on the store's clock. Absent if an earlier version has set them. */
  readonly since?: number
}

/** The limits after a change: those of code do not replace those of an operator, and return when null removes them. */
export function limitsAfter(
  old: QueueLimits | undefined,
  change: QueueLimits | null | undefined,
  now: number,
): QueueLimits | undefined {
  if (change === undefined) return old
  const next = chosenLimits(old, change)
  return next && present({ ...next, since: old && isSame(next, old) ? old.since : now })
}

function chosenLimits(old: QueueLimits | undefined, change: QueueLimits | null): QueueLimits | undefined {
  if (change === null) return old?.code && { ...old.code, from: 'code' }
  const code = change.from === 'code' ? pairOf(change) : codeLimits(old)
  if (change.from === 'code' && old?.from !== 'operator') return { ...pairOf(change), from: 'code' }
  const said = change.from === 'code' ? old! : change
  return present({ ...pairOf(said), from: 'operator' as const, code })
}

/** What the code has said about the limits of a queue. */
export function codeLimits(limits: QueueLimits | undefined): LimitPair | undefined {
  return limits?.from === 'code' ? pairOf(limits) : limits?.code
}

const pairOf = ({ limit, partitions }: LimitPair): LimitPair => present({ limit, partitions })

/** A change by an operator: null stands for what the code says, and what is absent stays as it is. */
export interface LimitChange {
  readonly limit?: Limit | null | undefined
  readonly partitions?: PartitionLimits | null | undefined
}

/** What to store for it; undefined if it says nothing about limits, null if nothing of the operator's is left. */
export function operatorLimits(
  old: QueueLimits | undefined,
  { limit, partitions }: LimitChange,
): QueueLimits | null | undefined {
  if (limit === undefined && partitions === undefined) return undefined
  if (limit === null && partitions === null) return null
  const code = codeLimits(old)
  const next = present({
    limit: limit === null ? code?.limit : (limit ?? old?.limit),
    partitions: partitions === null ? code?.partitions : (partitions ?? old?.partitions),
  })
  const isLeft = next.limit !== undefined || next.partitions !== undefined
  const isCode = limit == null && partitions == null && isSame(next, code)
  return isLeft && !isCode ? { ...next, from: 'operator' } : null
}

export function isSame(a: LimitPair | undefined, b: LimitPair | undefined): boolean {
  const text = ({ limit = {}, partitions = {} }: LimitPair = {}): string =>
    canonicalJson(JSON.stringify([limit, partitions]))
  return text(a) === text(b)
}

/** The name of a partition. */
export const partitionName = about(
  text(PARTITION_LENGTH_MAX),
  'The partition of the job: jobs of one partition share its limits. Default: the tenant.',
)

interface Placed {
  readonly queue: string
  readonly partition?: string
  readonly dependency?: string
  readonly tenantId?: string
}

/** Jobs with neither a partition nor a tenant share the partition without a name. */
export function partitionOf(job: Placed): string {
  const name = job.partition ?? deliveryPartition(job) ?? job.tenantId ?? ''
  return name.length <= PARTITION_LENGTH_MAX ? name : `${name.slice(0, HASHED_LENGTH)} ${hash64(name)}`
}

/** A limit with its rates as numbers: what the rules of `turn.ts` and `pace.ts` need. */
export interface Bounds {
  readonly concurrency: number
  /** By resource: `''` stands for starts, any other name for a unit. */
  readonly rates: Readonly<Record<string, Pace>>
  readonly learns: boolean
  readonly isOrdered: boolean
  readonly stopsOnDead: boolean
}

export interface Pace {
  readonly perMs: number
  readonly burst: number
}

/** The resource of a rate that counts starts. */
export const STARTS = ''

/** The bounds of one partition, with its override. */
export function partitionBounds({ partitions }: Pick<QueueLimits, 'partitions'>, name: string): Bounds {
  const { override, order, onDead, learn = false, ...common } = partitions ?? {}
  const own = override && Object.hasOwn(override, name) ? override[name] : undefined
  const isOrdered = order === 'fifo'
  const bounds = boundsOf({ ...common, ...own })
  return {
    ...bounds,
    concurrency: isOrdered ? 1 : bounds.concurrency,
    learns: learn,
    isOrdered,
    stopsOnDead: isOrdered && onDead === 'stop',
  }
}

/** The bounds of a whole queue. */
export function queueBounds({ limit }: Pick<QueueLimits, 'limit'>): Bounds {
  return boundsOf(limit ?? {})
}

function boundsOf({ concurrency, rate, burst, units = {} }: Limit): Bounds {
  const rates = Object.fromEntries(Object.entries(units).map(([unit, given]) => [unit, paceOf(given)]))
  if (rate !== undefined) rates[STARTS] = paceOf(rate, burst)
  return {
    concurrency: concurrency ?? Number.POSITIVE_INFINITY,
    rates,
    learns: false,
    isOrdered: false,
    stopsOnDead: false,
  }
}

function paceOf(given: Rate, burst?: number): Pace {
  const perSecond = perSecondOf(given)
  return { perMs: perSecond / 1_000, burst: burst ?? Math.max(1, Math.ceil(perSecond)) }
}
