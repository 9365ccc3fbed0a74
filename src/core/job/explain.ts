import { mergePolicies } from '../policy/policy.js'
import { PRESETS } from '../policy/presets.js'
import { crashWords } from '../policy/words.js'
import { formatMs, toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import { about, anyText, type Infer, named, oneOf } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import { attemptLabel, type DeathReason } from './job.js'
import { moment } from './moment.js'
import { type Outlook, outlookOf, projectionOf } from './projection.js'
import { type Decision, decision } from './transition.js'
import { type AttemptFacts, timeText } from './view.js'
import { brief, type ExplainFacts, WAIT_CODES, type WaitCode, type Waiting, waitingOf } from './wait-reason.js'

export type { DependencyFacts, ExplainFacts, WaitCode } from './wait-reason.js'

/** A job explained in plain words. Times are RFC 3339. */
export const explanation = named(
  'Explanation',
  view(
    { summary: about(anyText, 'One sentence.'), details: listOf(anyText) },
    {
      waiting: view({ because: oneOf(WAIT_CODES), words: anyText }, { until: timestamp }),
      last: view({ words: anyText, decision }),
      next: view({ words: anyText }, { at: timestamp, latestAt: timestamp }),
      dies: about(
        view({ words: anyText, earliest: timestamp, latest: timestamp }),
        'When a job that waits for a retry dies if nothing improves.',
      ),
      nextOccurrenceAt: about(timestamp, 'For the id of a schedule: its next occurrence.'),
    },
  ),
)
export type Explanation = Infer<typeof explanation>

/** Explains why a job is in its state, why its last failure was or wasn't retried, and what happens next. */
export function explain(facts: ExplainFacts): Explanation {
  const { job, policy, now } = facts
  const decided = facts.attempts.find(({ decision }) => decision !== undefined)
  const last = decided && { words: lastWords(decided), decision: decided.decision! }
  const waiting = job.state === 'waiting' ? waitingOf(facts) : undefined
  const outlook = job.state === 'waiting' || job.state === 'running' ? outlookOf(job, policy, now) : undefined
  return present({
    summary: summaryOf(facts, waiting, last?.decision),
    waiting: waiting && waitingView(waiting),
    last,
    next: nextOf(facts, outlook, waiting),
    dies: diesOf(facts, waiting),
    details: [...delayDetails(last?.decision), ...jobDetails(facts)],
  })
}

/** Only for a job that has failed and waits for its own time: any other has no date to die at. */
function diesOf({ job, policy, now }: ExplainFacts, waiting: Waiting | undefined): Explanation['dies'] {
  if (waiting === undefined || !TIMED.has(waiting.because) || job.attempt === 0) return undefined
  const { dies } = projectionOf(job, policy, now)
  const patient = projectionOf(job, mergePolicies(PRESETS.patient), now).dies
  if (dies === undefined) return undefined
  const range = dies.earliest === dies.latest ? '' : `between ${timeText(dies.earliest)} and `
  const words = `If nothing improves, it dies ${range || 'at '}${timeText(dies.latest)}`
  const longer =
    patient && patient.latest > dies.latest ? `; the policy patient would last until ${timeText(patient.latest)}` : ''
  return { words: `${words}${longer}.`, earliest: timeText(dies.earliest), latest: timeText(dies.latest) }
}

function waitingView({ until, ...rest }: Waiting): NonNullable<Explanation['waiting']> {
  return until === undefined ? rest : { ...rest, until: timeText(until) }
}

function summaryOf(facts: ExplainFacts, waiting: Waiting | undefined, decision: Decision | undefined): string {
  const { job, now } = facts
  const { attempt } = job
  switch (job.state) {
    case 'waiting':
      return `Waiting: ${waiting!.words}.`
    case 'running': {
      const since = job.startedAt === undefined ? '' : ` for ${formatMs(Math.max(0, now - job.startedAt))}`
      const stopping = job.cancelRequested ? ', and asked to stop' : ''
      return `Running${since}: ${runName(attempt, facts)}${stopping}.`
    }
    case 'succeeded': {
      const after =
        job.finishedAt === undefined ? '' : `, ${formatMs(job.finishedAt - job.createdAt)} after its enqueue`
      const how = decision?.reconciled === 'done' ? 'reconcile found it done' : `at ${runName(attempt, facts)}`
      return `Succeeded: ${how}${after}.`
    }
    case 'dead':
      return `Dead (${job.reason ?? 'unknown'}): ${deathWords(facts, decision)}.`
    case 'cancelled':
      return `Cancelled: ${attempt === 0 ? 'it never ran' : `it was stopped after ${attempt === 1 ? 'one attempt' : `${attempt} attempts`}`}.`
  }
}

function runName(attempt: number, { policy }: ExplainFacts): string {
  return attempt <= 1 ? 'its first run' : `retry ${attempt - 1} of ${Math.max(attempt - 1, policy.maxRetries)}`
}

/** Without a recorded decision (an old job, or one that ended without a run), the reason gives the words. */
const DEATHS: Readonly<Record<DeathReason, string>> = {
  exhausted: 'all its retries were used',
  'too-old': 'its next run would have been later than maxElapsed allows',
  permanent: 'its error is permanent',
  failed: 'it failed, and an at-most-once job is not run twice',
  'unknown-outcome': 'its outcome is unknown, and it is not run twice',
  poison: 'it was the only job of its process each time that process crashed',
  expired: 'its deadline passed before it could start',
  blocked: 'its request went to a forbidden address',
  gone: 'the other side said that it is gone for good',
  'endpoint-disabled': 'its endpoint is disabled',
  discarded: 'it was discarded',
}

function deathWords({ job }: ExplainFacts, decision: Decision | undefined): string {
  if (decision?.action === 'die') return decision.why.replace(/^died: /, '')
  return job.reason === undefined ? 'no reason was recorded' : DEATHS[job.reason]
}

function lastWords({ attempt, status, startedAt, finishedAt, error, decision }: AttemptFacts): string {
  const took = formatMs(Math.max(0, finishedAt - startedAt))
  const thrown = error ? `: ${error.name}: ${brief(error.message)}` : ''
  const { action, why } = decision!
  const name = attempt <= 1 ? 'The first run' : attemptLabel(attempt)
  const what = `${name} ${STATUS_WORDS[status] ?? status} after ${took}${thrown}.`
  switch (action) {
    case 'succeed':
      return `${name} succeeded after ${took}${why.startsWith('succeeded: ') ? `: ${why.slice(11)}` : ''}.`
    case 'retry':
      return `${what} It is retried: ${why}.`
    case 'die':
      return `${what} It was not retried: ${why.replace(/^died: /, '')}.`
    case 'cancel':
      return `${what} It was not retried: ${why.replace(/^cancelled: /, '')}.`
    case 'wait':
      return `${what} It ${decision!.free ? 'cost no attempt' : 'counts'}: ${why}.`
  }
}

const STATUS_WORDS: Readonly<Record<string, string>> = {
  failed: 'failed',
  'timed-out': 'timed out',
  lost: 'was lost with its worker',
  snoozed: 'was snoozed',
  released: 'was handed back',
  deferred: 'was deferred',
  cancelled: 'was cancelled',
}

/** Waits that end at a known time. All others end when something else changes, at a time that can't be predicted. */
const TIMED: ReadonlySet<WaitCode> = new Set(['scheduled', 'retry', 'retry-after', 'snoozed', 'due'])

/** What happens next, and when the job ends at the latest. */
function nextOf(
  facts: ExplainFacts,
  outlook: Outlook | undefined,
  waiting: Waiting | undefined,
): NonNullable<Explanation['next']> {
  const { job, now } = facts
  if (outlook) {
    const words = outlookWords(facts, outlook, waiting)
    if (waiting === undefined) return { words, latestAt: timeText(outlook.lastStartAt) }
    if (!TIMED.has(waiting.because)) return { words }
    return { words, at: timeText(Math.max(now, job.runAt)), latestAt: timeText(outlook.lastStartAt) }
  }
  if (job.state !== 'dead') return { words: 'Nothing: it has ended.' }
  const check = job.reason === 'unknown-outcome' ? ' Check first whether it was carried out.' : ''
  return { words: `Nothing by itself. "retry" starts it again with all its attempts.${check}` }
}

function outlookWords({ job, policy, now }: ExplainFacts, outlook: Outlook, waiting: Waiting | undefined): string {
  const timed = waiting === undefined || TIMED.has(waiting.because)
  const failing =
    job.state === 'running' ? 'If this run fails' : timed ? 'If its next run fails' : 'If it starts and fails'
  const { retriesLeft, windowMs, lastStartAt, endedBy } = outlook
  if (job.delivery === 'at-most-once') return `${failing}, it is dead: at most once means that it is not run twice.`
  if (retriesLeft === 0) {
    const why = policy.maxRetries === 0 ? 'its policy has no retries' : 'no retry is left after it'
    return `${failing}, it is dead: ${why}.`
  }
  const [lo, hi] = windowMs!
  const wait = lo === hi ? formatMs(lo) : `${formatMs(lo)} to ${formatMs(hi)}`
  const left =
    retriesLeft === 1 ? `one retry is left, after ${wait}` : `${retriesLeft} retries are left, the first after ${wait}`
  const start = Math.max(now, job.state === 'running' ? now : job.runAt)
  const when = timed ? moment(lastStartAt, now) : `${formatMs(lastStartAt - start)} later`
  const last = `${retriesLeft === 1 ? 'It' : 'The last of them'} starts ${when} at the latest`
  const cut = endedBy === undefined ? '' : `, which is as far as its ${endedBy} lets it`
  return `${failing}, ${left}. ${last}${cut}, not counting the time that the runs take; if that fails too, it is dead.`
}

/** Shows in numbers how a delay was computed. */
function delayDetails(decision: Decision | undefined): readonly string[] {
  if (decision === undefined) return []
  const { strategy, rawMs, capMs, jitter, windowMs, draw, source, delayMs, rule, kind, retryAfterMs } = decision
  const details: string[] = []
  if (kind !== undefined && rule !== undefined)
    details.push(`The failure is classified as ${kind} by ${ruleWords(rule)}.`)
  if (windowMs !== undefined && rawMs !== undefined && delayMs !== undefined) {
    const from = source === 'rule' ? 'the rule' : `${strategy} backoff`
    const capped = capMs !== undefined && rawMs > capMs ? `, the cap makes it ${formatMs(capMs)}` : ''
    const [lo, hi] = windowMs
    const drawn = draw === undefined ? '' : `, drawn ${Math.round(draw * 1_000) / 1_000}`
    const window = lo === hi ? '' : `, jitter (${jitter}) spreads it over ${formatMs(lo)} to ${formatMs(hi)}${drawn}`
    const what =
      source === 'retry-after' ? 'Without that, its wait would have been' : `The wait of ${formatMs(delayMs)}`
    details.push(`${what}: ${from} gives ${formatMs(rawMs)}${capped}${window}.`)
  }
  if (source === 'custom')
    details.push(`The wait of ${formatMs(delayMs ?? 0)} was computed by the worker's backoff function.`)
  if (retryAfterMs !== undefined) {
    const isCut = delayMs !== undefined && delayMs < retryAfterMs
    const exact = isCut ? `; it waits ${formatMs(delayMs)}, the longest Retry-After that is honoured` : ', so it does'
    const effect = source === 'retry-after' ? exact : ', which the backoff covers'
    details.push(`The other side asked to wait ${formatMs(retryAfterMs)}${effect}.`)
  }
  return details
}

function ruleWords(rule: string): string {
  if (rule === 'default') return 'default: retry unknown errors'
  const [, builtIn] = /^built-in: (.+)$/.exec(rule) ?? []
  if (builtIn !== undefined) return `the built-in rule for ${builtIn}`
  const [, said] = /^handler: (.+)$/.exec(rule) ?? []
  return said === undefined ? rule : `the handler itself (${said})`
}

function jobDetails({ job, policy, attempts, now }: ExplainFacts): readonly string[] {
  const { maxElapsed } = policy
  const details: string[] = []
  if (job.generation > 1) details.push(`It was started again: this is generation ${job.generation}.`)
  if (job.snoozes > 0) details.push(`It was snoozed ${times(job.snoozes)}.`)
  const deferrals = attempts.filter(one => one.generation === job.generation && one.status === 'deferred').length
  if (deferrals > 0) details.push(`It was deferred ${times(deferrals)} recently, without using an attempt.`)
  const isFree = policy.crashes === 'forgive'
  if (job.losses > 0)
    details.push(
      `It was lost together with other jobs ${times(job.losses)}${isFree ? ', without using an attempt' : ''}.`,
    )
  if (job.strikes > 0)
    details.push(
      `Its worker crashed ${times(job.strikes)} while it ran alone; after three times the job is dead (poison).`,
    )
  if (job.suspect) details.push('It is a suspect: it may have crashed its worker, so it runs apart from other jobs.')
  if (job.state !== 'waiting' && job.state !== 'running') return details
  if (job.delivery === 'at-least-once') details.push(crashWords(policy))
  if (job.deadline !== undefined) details.push(`Its deadline is ${moment(job.deadline, now)}.`)
  if (maxElapsed !== undefined && job.firstStartedAt !== undefined) {
    details.push(`No retry starts after ${timeText(job.firstStartedAt + toMs(maxElapsed, 'maxElapsed'))} (maxElapsed).`)
  }
  return details
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}
