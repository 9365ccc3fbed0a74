import type { Job } from '../../core/job/job.js'
import type { Count, JobFilter, PageRequest, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** A text is looked for in so many jobs, the newest, and no further. */
export const SEARCH_MAX = 100_000
/** Jobs that a store looks at before the time is looked at. */
const LIST_STEP = 20_000
const SEARCH_STEP = 10_000
/** A page that finds too little says after so long where to go on. */
const LIST_MS = 40
const SEARCH_MS = 500
/** Counting looks no further than this, unless more is asked for. */
const COUNT_LOOK_AT = 50_000

/** How far a text was looked for. */
export interface Searched {
  /** So many of the newest jobs were looked at, over all pages up to this one. */
  readonly newest: number
  /** Whether those were all. */
  readonly complete: boolean
}

export interface FoundJobs {
  readonly data: readonly Job[]
  readonly next?: string
  /** Where a text was looked for. */
  readonly searched?: Searched
}

const isSearch = ({ text, error }: JobFilter): boolean => text !== undefined || error !== undefined

/**
 * A page of jobs in bounded time: however many there are among which few match, it comes back soon, with what it found
 * and, where there may be more, a cursor.
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
  do {
    const lookAt = isText ? Math.min(SEARCH_STEP, SEARCH_MAX - looked) : LIST_STEP
    const part = await store.list(filter, {
      limit: page.limit - data.length,
      lookAt,
      ...(cursor !== undefined && { cursor }),
    })
    data.push(...part.data)
    looked += part.looked ?? 0
    cursor = part.next
  } while (cursor !== undefined && data.length < page.limit && mayGoOn(isText, looked) && env.clock.now() < until)
  if (!isText) return { data, ...(cursor !== undefined && { next: cursor }) }
  const searched = { newest: Math.min(looked, SEARCH_MAX), complete: cursor === undefined }
  if (cursor === undefined || !mayGoOn(isText, looked)) return { data, searched }
  return { data, next: writeCursor(looked, cursor), searched }
}

const mayGoOn = (isText: boolean, looked: number): boolean => !isText || looked < SEARCH_MAX

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whoever looks for an id wants that job, however old it is. */
async function namedJob(store: Store, filter: JobFilter, { cursor }: PageRequest): Promise<Job | undefined> {
  const { text, ...others } = filter
  if (text === undefined || cursor !== undefined || !ID.test(text)) return undefined
  const ids = others.ids === undefined || others.ids.includes(text) ? [text] : []
  return (await store.list({ ...others, ids }, { limit: 1 })).data[0]
}

export async function countJobs(store: Store, filter: JobFilter, cap: number): Promise<Count> {
  return store.count(filter, cap, isSearch(filter) ? SEARCH_MAX : Math.max(COUNT_LOOK_AT, cap))
}

/** The cursor of a search also says how far it has come; anything else is for the store to refuse. */
function writeCursor(looked: number, cursor: string): string {
  return `${looked}.${cursor}`
}

function readCursor(text: string | undefined): { looked: number; cursor: string | undefined } {
  const [, looked, cursor] = /^(\d{1,6})\.(.+)$/.exec(text ?? '') ?? []
  return looked === undefined
    ? { looked: 0, cursor: text }
    : { looked: Math.min(Number(looked), SEARCH_MAX - 1), cursor }
}
