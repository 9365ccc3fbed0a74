import type { Start } from '../ledger.js'
import { MAX_RETRIES, POISON_RETRIES } from '../processes/facts.js'
import type { Verdict } from '../verdict.js'
import type { Joined } from './joined.js'

const LIMITS: Readonly<Record<string, number>> = {
  ...MAX_RETRIES,
  pulled: 2,
  abort: POISON_RETRIES,
  memory: POISON_RETRIES,
  endless: POISON_RETRIES,
  blocking: POISON_RETRIES,
  bystander: POISON_RETRIES,
}

/** Compares the rows of one job with what its handlers wrote. `isMixed`: processes of an older version ran beside. */
export function checkRuns(one: Joined, isMixed: boolean, verdict: Verdict): void {
  checkNumbers(one, verdict)
  checkLimit(one, isMixed, verdict)
  checkEnd(one, verdict)
  checkOutcomes(one, verdict)
  count(one, verdict)
}

function checkNumbers({ job, rows, starts }: Joined, verdict: Verdict): void {
  const runs = rows.map(row => row.run)
  const gapless = runs.every((run, index) => run === index + 1)
  verdict.expect(gapless, 'every run has one row, numbered without gaps', () => `${job.id} has runs ${runs}`)
  const started = starts.map(start => start.run)
  const twice = started.filter((run, index) => started.indexOf(run) !== index)
  verdict.expect(twice.length === 0, 'each run has one lease holder', () => `run ${twice} of ${job.id} started twice`)
  const unknown = started.filter(run => run > runs.length)
  const text = (): string => `run ${unknown} of ${job.id} began and has no row`
  verdict.expect(unknown.length === 0, 'every run has one row, numbered without gaps', text)
}

/**
 * A snooze and an orderly release do not count. A process of an older version may have decided that a lost run does not
 * count either.
 */
function checkLimit({ job, rows, starts }: Joined, isMixed: boolean, verdict: Verdict): void {
  const free = ['snoozed', 'released', 'deferred', ...(isMixed ? ['lost'] : [])]
  const statusOf = new Map(rows.map(row => [row.run, row.status]))
  for (const [generation, own] of byGeneration(starts)) {
    const counted = own.filter(({ run }) => !free.includes(statusOf.get(run) ?? ''))
    const most = (LIMITS[job.name] ?? Number.POSITIVE_INFINITY) + 1
    const text = (): string => `${job.name} ${job.id} started ${counted.length} times in generation ${generation}`
    verdict.expect(counted.length <= most, 'a handler starts at most maxRetries + 1 times', text)
    verdict.expect(job.name !== 'most' || own.length <= 1, 'an at-most-once handler starts at most once', text)
  }
}

function checkEnd({ job, rows, starts }: Joined, verdict: Verdict): void {
  const hasEnded = job.state !== 'waiting' && job.state !== 'running'
  verdict.expect(hasEnded, 'everything ends once the faults are over', () => `${job.name} ${job.id} is ${job.state}`)
  const succeeded = rows.filter(({ status }) => status === 'succeeded')
  const wanted = job.state === 'succeeded' ? 1 : 0
  const own = succeeded.filter(({ generation }) => generation === job.generation)
  const text = (): string => `${job.id} is ${job.state} with ${own.length} successes in its generation`
  verdict.expect(own.length === wanted, 'a completed job never runs again', text)
  for (const { run, generation } of succeeded) {
    const later = starts.find(start => start.generation === generation && start.run > run)
    verdict.expect(!later, 'a completed job never runs again', () => `${job.id}: run ${later?.run} after run ${run}`)
  }
}

/** A handler must have done what its row says. */
function checkOutcomes({ job, rows, starts }: Joined, verdict: Verdict): void {
  for (const { run, status } of rows) {
    if (status !== 'succeeded' && status !== 'failed') continue
    const start = starts.find(one => one.run === run)
    if (LIMITS[job.name] === undefined) continue
    const how = start?.end?.how ?? 'no end'
    const fits = how === (status === 'succeeded' ? 'returned' : 'threw')
    verdict.expect(fits, 'rows agree with what the handlers did', () => `${job.id}: run ${run} is ${status}: ${how}`)
  }
}

function count({ job, rows, starts }: Joined, verdict: Verdict): void {
  verdict.count('runs', rows.length)
  for (const { from } of starts) if (from?.includes('/.cache/')) verdict.count('runs by the old version')
  for (const { run, status } of rows) {
    if (status !== 'lost') continue
    verdict.count('runs lost')
    // The handler ended, but its worker no longer held the lease.
    if (starts.find(start => start.run === run)?.end) verdict.count('results of lost runs refused')
    if (job.name === 'pulled') verdict.count('runs of pull workers lost')
  }
  if (job.reason === 'unknown-outcome') verdict.count('at-most-once jobs with an unknown outcome')
  if (job.name === 'pulled' && job.state === 'succeeded') verdict.count('jobs completed by pull workers')
  if (job.tenantId !== undefined) verdict.count('jobs of tenants')
  if (job.generation > 1) verdict.count('jobs redriven')
}

function byGeneration(starts: readonly Start[]): ReadonlyMap<number, readonly Start[]> {
  const groups = new Map<number, Start[]>()
  for (const start of starts) groups.set(start.generation, [...(groups.get(start.generation) ?? []), start])
  return groups
}
