import type { AttemptView, Chronos, JobView } from '../../../src/index.js'
import type { Ledger, Start } from '../ledger.js'

const PAGE = 200
const READS_AT_ONCE = 20

/** A job with its rows in the order of their runs, beside the starts that its handlers wrote. */
export interface Joined {
  readonly job: JobView
  readonly rows: readonly AttemptView[]
  readonly starts: readonly Start[]
}

/** Reads every job with its history, and joins it with the ledger. */
export async function join(chronos: Chronos, ledger: Ledger): Promise<ReadonlyMap<string, Joined>> {
  const joined = new Map<string, Joined>()
  let cursor: string | undefined
  do {
    const { data, page } = await chronos.jobs.list({}, { limit: PAGE, ...(cursor !== undefined && { cursor }) })
    for (let first = 0; first < data.length; first += READS_AT_ONCE) {
      const reads = data.slice(first, first + READS_AT_ONCE).map(async job => {
        joined.set(job.id, { job, rows: await historyOf(chronos, job.id), starts: ledger.starts.get(job.id) ?? [] })
      })
      await Promise.all(reads)
    }
    cursor = page.next
  } while (cursor !== undefined)
  return joined
}

async function historyOf(chronos: Chronos, id: string): Promise<readonly AttemptView[]> {
  const rows: AttemptView[] = []
  let cursor: string | undefined
  do {
    const page = { order: 'oldest', limit: PAGE, ...(cursor !== undefined && { cursor }) } as const
    const answer = await chronos.jobs.history(id, page)
    rows.push(...answer.data)
    cursor = answer.page.next
  } while (cursor !== undefined)
  return rows
}
