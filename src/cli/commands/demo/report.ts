import type { RunStatus } from '../../../core/job/job.js'
import type { AttemptView } from '../../../core/job/view.js'
import { jitterLabel } from '../../../core/policy/jitter.js'
import { formatMs, toMs } from '../../../core/values/duration.js'
import { type Cell, paint, type Style, type Tone, table } from '../../output/print.js'
import { MARKS } from './live.js'
import type { DemoJob, DemoRun } from './run.js'
import { STORIES } from './stories.js'

export function introduction(seed: number, file: string, style: Style): string {
  const nameColumns = Math.max(...STORIES.map(({ name }) => name.length))
  const stories = STORIES.map(({ name, shows }) => `  ${name.padEnd(nameColumns)}  ${paint(shows, 'dim', style)}\n`)
  const title = paint('Chronos demo', 'strong', style)
  return `${title}: eight jobs, eight different outcomes (seed ${seed}, ${file})\n\n${stories.join('')}`
}

export function report(run: DemoRun, style: Style): string {
  return [
    heading('Final states', style),
    finalStates(run.jobs, style),
    heading('Execution logs', style),
    run.jobs.map(job => executionLog(job, style)).join('\n'),
    heading('Retry statistics', style, 'from worker.getStats() of the main process'),
    statistics(run, style),
  ].join('')
}

export function heading(title: string, style: Style, more = ''): string {
  return `\n${paint(title, 'strong', style)}${more && paint(`, ${more}`, 'dim', style)}\n`
}

function finalStates(jobs: readonly DemoJob[], style: Style): string {
  const columns = [
    { title: 'Job' },
    { title: 'State' },
    { title: 'Reason' },
    { title: 'Attempts' },
    { title: 'Runs', align: 'right' },
    { title: 'Took', align: 'right' },
  ] as const
  const rows = jobs.map((job): Cell[] => [
    job.name,
    stateOf(job, style),
    job.reason ?? '',
    `${job.attempt} of ${job.maxAttempts}`,
    String(job.history.length),
    job.finishedAt === undefined ? '' : formatMs(Date.parse(job.finishedAt) - Date.parse(job.createdAt)),
  ])
  return table(columns, rows, style)
}

function stateOf({ state }: DemoJob, { unicode }: Style): Cell {
  const mark = state === 'succeeded' || state === 'dead' || state === 'cancelled' ? MARKS[state] : undefined
  if (!mark) return { text: state, tone: 'warn' }
  return { text: `${unicode ? mark.symbol : mark.ascii} ${mark.word}`, tone: mark.tone }
}

/** What each attempt did, and what was decided after it. */
function executionLog(job: DemoJob, style: Style): string {
  const columns = [
    { title: 'Attempt', min: 8 },
    { title: 'Status', min: 9 },
    { title: 'Duration', align: 'right' },
    { title: 'Notes', min: 42, wraps: true },
  ] as const
  const rows = [...job.history].reverse().map((attempt): Cell[] => {
    const { word, tone } = STATUS[attempt.status as RunStatus]
    return [attempt.label, { text: word, tone }, formatMs(attempt.durationMs), noteOf(attempt, job, style)]
  })
  const title = `Job: ${paint(job.name, 'strong', style)} ${paint(`(${job.id})`, 'dim', style)}\n`
  return title + policyLine(job, style) + table(columns, rows, style)
}

/** The retry policy of a job that was retried. */
function policyLine({ retry, history }: DemoJob, style: Style): string {
  if (!history.some(({ decision }) => decision?.action === 'retry')) return ''
  const { backoff, jitter, maxRetries } = retry
  const first = 'base' in backoff ? backoff.base : 'delay' in backoff ? backoff.delay : undefined
  const from = first === undefined ? '' : ` ${formatMs(toMs(first, 'retry'))}`
  const line = `${backoff.type}${from}, jitter ${jitterLabel(jitter)}, at most ${maxRetries} retries`
  return `${paint(line, 'dim', style)}\n`
}

const STATUS: Readonly<Record<RunStatus, { readonly word: string; readonly tone: Tone }>> = {
  succeeded: { word: 'SUCCESS', tone: 'good' },
  failed: { word: 'FAILED', tone: 'bad' },
  'timed-out': { word: 'TIMED OUT', tone: 'bad' },
  lost: { word: 'LOST', tone: 'odd' },
  snoozed: { word: 'SNOOZED', tone: 'calm' },
  released: { word: 'RELEASED', tone: 'dim' },
  deferred: { word: 'DEFERRED', tone: 'dim' },
  cancelled: { word: 'CANCELLED', tone: 'dim' },
}

/** The error and the decision, or the last log line of a successful run. */
function noteOf({ run, status, error, decision }: AttemptView, job: DemoJob, { unicode }: Style): string {
  const why = decision?.why ?? ''
  if (status === 'succeeded') return job.logs.findLast(line => line.run === run)?.message ?? why
  // For a lost run the decision says more than the error.
  if (!error || status === 'lost') return why
  // The table already names the run and the job.
  const message = error.message.replace(`run ${run} of job ${job.id} `, '')
  const next = decision?.action === 'retry' ? `retry in ${formatMs(decision.delayMs ?? 0)}` : why
  return `${message} ${unicode ? '→' : '->'} ${next}`
}

function statistics({ stats, jobs, durationMs }: DemoRun, style: Style): string {
  const { totalRetries, successfulRetries, retrySuccessRate } = stats
  const succeeded = jobs.filter(({ state }) => state === 'succeeded').length
  const rows: [name: string, value: string, meaning: string][] = [
    ['totalRetries', String(totalRetries), 'runs that were retries'],
    ['successfulRetries', String(successfulRetries), 'retries that succeeded'],
    ['retrySuccessRate', `${retrySuccessRate.toFixed(1)} %`, 'share of retries that succeeded'],
    ['started', String(stats.started), 'runs, including retries'],
    ['succeeded', String(stats.succeeded), 'runs that succeeded'],
    ['failed', String(stats.failed), 'runs that failed'],
    ['timedOut', String(stats.timedOut), 'runs stopped by their timeout'],
    ['snoozed', String(stats.snoozed), 'runs that snoozed'],
    ['retried', String(stats.retried), 'retries that were scheduled'],
    ['dead', String(stats.dead), 'jobs that died on this worker'],
  ]
  const columns = [{ title: 'Statistic' }, { title: 'Value', align: 'right' }, { title: 'Meaning' }] as const
  const shown = table(
    columns,
    rows.map(([name, value, meaning]) => [name, value, { text: meaning, tone: 'dim' }]),
    style,
  )
  return `${shown}\n${jobs.length} jobs in ${formatMs(durationMs)}: ${succeeded} succeeded, ${jobs.length - succeeded} died.\n`
}
