import type { Job } from '../../core/job/job.js'
import { present } from '../../core/values/present.js'
import { about, boolean, type Infer, integer } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import type { Count, JobFilter, PageRequest, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** A text search stops after this many jobs. Its cursor goes on with older ones. */
export const SEARCH_MAX = 100_000
/** The number of jobs that a store examines before the time limit is checked. */
const LIST_STEP = 20_000
const SEARCH_STEP = 10_000
/** A page that finds too few jobs returns after this time with a cursor. */
const LIST_MS = 40
const SEARCH_MS = 500
/** A count examines no more jobs than this, unless the caller asks for more. */
const COUNT_LOOK_AT = 50_000

/** How far a text search went. */
export const searched = view({
  newest: about(integer(), 'The number of newest jobs that were examined, including all pages before.'),
  complete: about(boolean, 'Whether these were all jobs.'),
})
export type Searched = Infer<typeof searched>

export interface SearchOptions {
  /** `q` is not looked for in the secrets of HTTP jobs: of their payload, only in the URL before its query. */
  readonly masksSecrets?: boolean
}

export interface FoundJobs {
  readonly data: readonly Job[]
  readonly next?: string
  /** Present if the query searched for a text. */
  readonly searched?: Searched
}

const isSearch = ({ text, error }: JobFilter): boolean => text !== undefined || error !== undefined

/**
 * A page of jobs in bounded time: even if few of very many jobs match, it returns soon, with the jobs found and, if
 * there may be more, a cursor.
 */
export async function findJobs(env: Environment, filter: JobFilter, page: PageRequest): Promise<FoundJobs> {
  const store = await env.connection.store()
  const named = await namedJob(store, filter, page)
  if (named) return { data: [named], searched: { newest: 1, complete: true } }
  const isText = isSearch(filter)
  const until = env.clock.now() + (isText ? SEARCH_MS : LIST_MS)
  const start = isText ? readCursor(page.cursor) : { looked: 0, cursor: page.cursor }
  const data: Job[] = []
  let { looked, cursor } = start
  // Each further page of a search looks through as many jobs again.
  const goal = isText ? SEARCH_MAX * (Math.floor(looked / SEARCH_MAX) + 1) : Number.POSITIVE_INFINITY
  do {
    const lookAt = isText ? SEARCH_STEP : LIST_STEP
    const part = await store.list(filter, present({ limit: page.limit - data.length, lookAt, cursor }))
    data.push(...part.data)
    looked += part.looked ?? 0
    cursor = part.next
  } while (cursor !== undefined && data.length < page.limit && looked < goal && env.clock.now() < until)
  if (!isText) return present({ data, next: cursor })
  const searched = { newest: looked, complete: cursor === undefined }
  if (cursor === undefined) return { data, searched }
  return { data, next: writeCursor(looked, cursor), searched }
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A search for an id finds that job, however old it is. */
async function namedJob(store: Store, filter: JobFilter, { cursor }: PageRequest): Promise<Job | undefined> {
  const { text, ...others } = filter
  if (text === undefined || cursor !== undefined || !ID.test(text)) return undefined
  const ids = others.ids === undefined || others.ids.includes(text) ? [text] : []
  return (await store.list({ ...others, ids }, { limit: 1 })).data[0]
}

export async function countJobs(store: Store, filter: JobFilter, cap: number): Promise<Count> {
  return store.count(filter, cap, isSearch(filter) ? SEARCH_MAX : Math.max(COUNT_LOOK_AT, cap))
}

/** The cursor of a search also contains how far it went; the store rejects any other text. */
function writeCursor(looked: number, cursor: string): string {
  return `${looked}.${cursor}`
}

function readCursor(text: string | undefined): { looked: number; cursor: string | undefined } {
  const [, looked, cursor] = /^(\d{1,10})\.(.+)$/.exec(text ?? '') ?? []
  return looked === undefined ? { looked: 0, cursor: text } : { looked: Number(looked), cursor }
}
