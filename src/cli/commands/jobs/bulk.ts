import { checkAtMost } from '../../../core/job/bulk.js'
import { ChronosError } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import type { JobOrSchedule } from '../../../engine/jobs/by-id.js'
import type { JobQuery } from '../../../engine/jobs/jobs.js'
import type { Count } from '../../../store/store.js'
import type { Backend } from '../../backend/backend.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { Progress } from '../../output/progress.js'
import { many, manyOf, show } from '../../output/show.js'
import { scheduleLine } from '../schedules/line.js'
import type { Action, ActionOptions } from './action.js'
import { unconfirmed } from './filter.js'
import { found } from './job.js'
import { jobTable } from './list.js'

/** An action on all jobs that a filter selects. */
export interface Bulk {
  readonly name: string
  readonly action: Action
  readonly query: JobQuery
  readonly backend: Backend
  readonly options: ActionOptions
  readonly io: Io
}

interface Tally {
  changed: number
  refused: number
  firstRefusal?: string
}

const COUNT_MAX = 1_000_000
const PAGE = 200
/** Concurrent actions: enough for a shared commit, few enough for a connection pool. */
const TOGETHER = 50
const SAMPLE = 5

/** Only counts the jobs unless `--yes` is given. */
export async function actOnAll(bulk: Bulk): Promise<number> {
  const { name, action, backend, query, options, io } = bulk
  const count = await backend.jobs.count(query, COUNT_MAX)
  if (options.dryRun) return showSample(bulk, count)
  if (!options.yes && count.value > 0) {
    throw unconfirmed(`jobs ${name}: ${manyOf(count, 'job')} would be ${action.done}`, count)
  }
  checkAtMost(`jobs ${name}`, count.value, options.atMost)
  const tally = await work(bulk, count.value)
  const { changed, refused, firstRefusal } = tally
  show(io, options, { action: name, count, changed, refused, dryRun: false }, () =>
    count.value === 0 ? 'no job matches the filter\n' : `${many(changed, 'job')} ${action.done}\n`,
  )
  if (refused > 0) io.stderr.write(`${many(refused, 'job')} refused; first error: ${firstRefusal}\n`)
  return refused > 0 && changed === 0 ? EXIT.notAllowed : EXIT.ok
}

async function showSample(bulk: Bulk, count: Count): Promise<number> {
  const { data } = await bulk.backend.jobs.list(bulk.query, { limit: SAMPLE })
  await showDryRun(bulk, count, data)
  return EXIT.ok
}

/** The dry run of an action on ids: it refuses the jobs that the action would refuse. */
export async function tryEach(attempt: Omit<Bulk, 'query'>, ids: readonly string[]): Promise<number> {
  const { name, action, backend } = attempt
  const jobs = await Promise.all(ids.map(id => found(backend, id)))
  // A schedule may have several jobs; the action itself finds the one that it changes.
  const accepted = jobs.filter(job => job.kind === 'schedule' || (action.accepts ?? action.states).includes(job.state))
  const [refused] = jobs.filter(job => !accepted.includes(job))
  await showDryRun(attempt, { value: accepted.length, relation: 'exact' }, accepted)
  if (!refused) return EXIT.ok
  throw new ChronosError('NOT_ALLOWED', `jobs ${name}: job ${refused.id} is ${refused.state}`, {
    details: { jobId: refused.id, state: refused.state },
  })
}

async function showDryRun(
  { name, action, backend, options, io }: Omit<Bulk, 'query'>,
  count: Count,
  sample: readonly JobOrSchedule[],
): Promise<void> {
  const { now } = await backend.info()
  show(io, options, { action: name, count, sample, dryRun: true }, style => {
    const jobs = sample.filter(one => one.kind === 'job')
    const schedules = sample.filter(one => one.kind === 'schedule').map(one => `${scheduleLine(one)}\n`)
    return [...schedules, jobs.length === 0 ? '' : jobTable(jobs, now, style)].join('')
  })
  if (!options.json) io.stderr.write(`${manyOf(count, 'job')} would be ${action.done}; nothing was changed\n`)
}

/** Pages by key from the newest job on, so that concurrent changes neither repeat nor skip a job. */
async function work(bulk: Bulk, expected: number): Promise<Tally> {
  const { name, action, backend, query, options, io } = bulk
  const { stderr, interrupted } = io
  const tally: Tally = { changed: 0, refused: 0 }
  const progress = new Progress(io, expected, action.done)
  const sayProgress = (): void => {
    progress.end()
    stderr.write(`${many(tally.changed, 'job')} ${action.done} so far\n`)
  }
  interrupted.addEventListener('abort', sayProgress, { once: true })
  try {
    for (let cursor: string | undefined, matched = 0; ; ) {
      const { data, page } = await backend.jobs.list(query, present({ limit: PAGE, cursor }))
      matched += data.length
      checkAtMost(`jobs ${name}`, matched, options.atMost, tally.changed)
      for (let from = 0; from < data.length; from += TOGETHER) {
        interrupted.throwIfAborted()
        const jobs = data.slice(from, from + TOGETHER)
        await Promise.all(jobs.map(({ id }) => actOnOne(bulk, id, tally)))
        progress.add(jobs.length)
      }
      cursor = page.next
      if (cursor === undefined) return tally
    }
  } finally {
    interrupted.removeEventListener('abort', sayProgress)
    progress.end()
  }
}

/** A job that changed meanwhile is skipped and counted. */
async function actOnOne({ action, backend, options }: Bulk, id: string, tally: Tally): Promise<void> {
  try {
    await action.act(backend, id, options)
    tally.changed++
  } catch (error) {
    if (!(error instanceof ChronosError) || (error.code !== 'NOT_ALLOWED' && error.code !== 'NOT_FOUND')) throw error
    tally.refused++
    tally.firstRefusal ??= error.message
  }
}
