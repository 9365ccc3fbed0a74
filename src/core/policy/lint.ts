import { DAY_MS, formatMs, HOUR_MS, toMs } from '../values/duration.js'
import { about, anyText, type Infer, named, oneOf } from '../values/schema.js'
import { view } from '../values/shape.js'
import { type ComputedBackoff, capMs, cappedDelay, rawDelay } from './backoff.js'
import { jitterLabel, jitterWindow } from './jitter.js'
import type { Policy } from './policy.js'
import { PRESETS } from './presets.js'
import { type PreviewRow, preview } from './preview.js'
import { outageSurvived } from './survival.js'

const FINDING_CODES = [
  'no-retries',
  'no-jitter',
  'narrow-jitter',
  'full-jitter-halves',
  'decorrelated-wanders',
  'factor-ignored',
  'factor-one',
  'hot-loop',
  'cap-flattens',
  'cap-reached',
  'cap-never-reached',
  'max-elapsed-cuts',
  'max-elapsed-may-cut',
  'max-elapsed-unused',
  'list-repeats',
  'list-unused',
  'short-window',
  'delivery-window',
  'long-window',
  'many-runs',
  'retry-after-off',
  'custom-backoff',
  'dependencies-left-out',
] as const
export type FindingCode = (typeof FINDING_CODES)[number]

/** Something about a policy that its author may not have meant, or should know. */
export const finding = named(
  'PolicyFinding',
  view({
    code: oneOf(FINDING_CODES),
    severity: oneOf(['note', 'warning']),
    message: about(anyText, 'One or two plain sentences with the numbers.'),
  }),
)
export type Finding = Infer<typeof finding>

const NARROW_JITTER = 0.1
const HOT_MS = 10
const SHORT_MS = 5 * 60_000
const VERY_SHORT_MS = 60_000
const DELIVERY_MS = HOUR_MS
const LONG_MS = 7 * DAY_MS
const VERY_LONG_MS = 30 * DAY_MS
const MANY_RETRIES = 25

interface Look {
  readonly policy: Policy
  readonly backoff: ComputedBackoff
  readonly rows: readonly PreviewRow[]
  readonly survivedMs: number
}

/** The findings about a policy, warnings first. Notes are not necessarily problems. */
export function lintPolicy(policy: Policy): readonly Finding[] {
  const { backoff, maxRetries, retryAfter, circuit, budget } = policy
  if (maxRetries === 0) return [noRetries()]
  const notes = [
    ...(retryAfter === false ? [retryAfterOff()] : []),
    ...(circuit || budget ? [dependenciesLeftOut()] : []),
  ]
  if (backoff.type === 'custom') return [customBackoff(backoff.name, policy), ...notes]
  const look: Look = { policy, backoff, rows: preview(policy), survivedMs: outageSurvived(policy) }
  const findings = [
    ...jitterFindings(look),
    ...delayFindings(look),
    ...capFindings(look),
    ...elapsedFindings(look),
    ...windowFindings(look),
    ...notes,
  ]
  return [...findings.filter(isWarning), ...findings.filter(finding => !isWarning(finding))]
}

const isWarning = ({ severity }: Finding): boolean => severity === 'warning'
const note = (code: FindingCode, message: string): Finding => ({ code, severity: 'note', message })
const warning = (code: FindingCode, message: string): Finding => ({ code, severity: 'warning', message })

function noRetries(): Finding {
  return note('no-retries', 'There are no retries: the first failure is the last, and no outage is survived.')
}

function customBackoff(name: string, policy: Policy): Finding {
  return note(
    'custom-backoff',
    `The worker's function "${name}" decides every delay, up to the cap of ${formatMs(capMs(policy))} and without jitter; previews can't compute it.`,
  )
}

function retryAfterOff(): Finding {
  return note(
    'retry-after-off',
    'Retry-After is ignored: a server that says when to come back is called earlier, which costs an attempt each time.',
  )
}

function dependenciesLeftOut(): Finding {
  return note(
    'dependencies-left-out',
    'Its circuit or budget makes retries wait for more than their delay, at no attempt; previews and simulations show the policy without.',
  )
}

function jitterFindings({ policy, backoff, rows, survivedMs }: Look): readonly Finding[] {
  const { jitter } = policy
  const first = rows[0]?.delayMs ?? 0
  const last = rows.at(-1)!
  if (jitter === 'none' || jitter === 0) {
    if (first === 0) return []
    const { lo, hi } = jitterWindow(PRESETS.standard.jitter, first, Number.POSITIVE_INFINITY)
    const better = `${jitterLabel(PRESETS.standard.jitter)} would spread the first retry over ${formatMs(hi - lo)}`
    return [
      warning('no-jitter', `There is no jitter: jobs that fail together come back together, every time. ${better}.`),
    ]
  }
  if (typeof jitter === 'number' && jitter < NARROW_JITTER) {
    const width = rows[0]!.window[1] - rows[0]!.window[0]
    return [note('narrow-jitter', `${jitterLabel(jitter)} spreads the first retries over only ${formatMs(width)}.`)]
  }
  if (jitter === 'full' && last.totalMs[1] > 0) {
    const message =
      `Full jitter halves the covered window: the waits come to ${formatMs(last.totalMs[1] / 2)} on average, not ` +
      `${formatMs(last.totalMs[1])}, and 1 job in 100 is out of retries after ${formatMs(survivedMs)}. "equal" or more retries cover more.`
    return [note('full-jitter-halves', message)]
  }
  if (jitter !== 'decorrelated' || backoff.type !== 'exponential') return []
  const wanders = note(
    'decorrelated-wanders',
    `Decorrelated jitter may draw short waits again and again: the last retry comes between ${formatMs(last.totalMs[0])} and ` +
      `${formatMs(last.totalMs[1])} after the first failure.`,
  )
  if (backoff.factor === undefined) return [wanders]
  const ignored = `The factor of ${backoff.factor} has no effect: decorrelated jitter always draws up to three times the last wait.`
  return [wanders, note('factor-ignored', ignored)]
}

function delayFindings({ policy, backoff, rows }: Look): readonly Finding[] {
  const found: Finding[] = []
  const hot = rows.filter(({ window }) => window[1] < HOT_MS)
  if (hot.length > 0) {
    const { retry, window } = hot[0]!
    const which = hot.length === 1 ? `Retry ${retry}` : `${hot.length} retries, the first being retry ${retry},`
    const wait = window[1] === 0 ? 'at once' : `after ${formatMs(window[1])} or less`
    found.push(
      warning('hot-loop', `${which} would run ${wait}: nothing has recovered by then, and the attempt is lost.`),
    )
  }
  if (backoff.type === 'exponential' && backoff.factor === 1 && policy.jitter !== 'decorrelated') {
    found.push(
      note(
        'factor-one',
        `With a factor of 1 every retry waits ${formatMs(rows[0]!.delayMs ?? 0)}; that is a fixed backoff.`,
      ),
    )
  }
  if (backoff.type === 'list') found.push(...listFindings(backoff.delays.length, policy.maxRetries, rows))
  return found
}

function listFindings(delays: number, retries: number, rows: readonly PreviewRow[]): readonly Finding[] {
  if (retries > delays && rows.length > delays) {
    const lastDelay = formatMs(rows[delays - 1]!.delayMs ?? 0)
    return [
      note(
        'list-repeats',
        `The list has ${delays} delays for ${retries} retries: from retry ${delays + 1} on its last, ${lastDelay}, repeats.`,
      ),
    ]
  }
  if (retries >= delays) return []
  const message = `The list has ${delays} delays, but maxRetries of ${retries} uses only the first ${retries}.`
  return [warning('list-unused', message)]
}

function capFindings({ policy, backoff, rows }: Look): readonly Finding[] {
  if (policy.cap === undefined || policy.jitter === 'decorrelated') return []
  const cap = capMs(policy)
  const isOver = (retry: number): boolean => (rawDelay(backoff, retry, cap) ?? 0) > cap
  const reached = rows.find(({ retry }) => isOver(retry))?.retry
  if (reached === undefined) {
    // A delay that equals the cap reaches it.
    if (backoff.type === 'fixed' || backoff.type === 'list' || rows.some(({ delayMs }) => delayMs === cap)) return []
    const longest = rows.at(-1)!
    const grown = firstOver(backoff, cap)
    const more = grown === undefined ? '' : ` It would take ${grown} retries to get there.`
    return [
      note(
        'cap-never-reached',
        `The cap of ${formatMs(cap)} is never reached: the longest delay is ${formatMs(longest.delayMs ?? 0)}.${more}`,
      ),
    ]
  }
  if (reached === 1 && rows.length > 1 && backoff.type !== 'list') {
    const wayOut = backoff.type === 'fixed' ? 'Raise it, or shorten the delay' : 'Raise it, or use fixed'
    return [
      warning(
        'cap-flattens',
        `The cap of ${formatMs(cap)} is below the first delay, so every retry waits just that. ${wayOut}.`,
      ),
    ]
  }
  const capped = rows.length - reached + 1
  const many = capped === 1 ? 'the last retry waits' : `the last ${capped} retries wait`
  return [
    note(
      'cap-reached',
      `The cap is reached at retry ${reached} of ${rows.length}: ${many} ${formatMs(cap)} instead of longer.`,
    ),
  ]
}

const LOOK_AHEAD = 1_000

function firstOver(backoff: ComputedBackoff, cap: number): number | undefined {
  for (let retry = 1; retry <= LOOK_AHEAD; retry++) {
    if ((cappedDelay(backoff, retry, cap) ?? 0) >= cap) return retry
  }
  return undefined
}

function elapsedFindings({ policy, rows }: Look): readonly Finding[] {
  if (policy.maxElapsed === undefined) return []
  const limit = toMs(policy.maxElapsed, 'maxElapsed')
  const words = `maxElapsed of ${formatMs(limit)}`
  const never = rows.find(({ totalMs }) => totalMs[0] > limit)
  const count = rows.length
  if (never !== undefined) {
    const lost = count - never.retry + 1
    const which = lost === 1 ? `Retry ${never.retry} never happens` : `Retries ${never.retry} to ${count} never happen`
    return [
      warning(
        'max-elapsed-cuts',
        `${which}: ${words} ends the job before, since retry ${never.retry} could run after ${formatMs(never.totalMs[0])} at the earliest.`,
      ),
    ]
  }
  const maybe = rows.find(({ totalMs }) => totalMs[1] > limit)
  if (maybe !== undefined) {
    return [
      note(
        'max-elapsed-may-cut',
        `Retry ${maybe.retry} may not happen: it may fall due as late as ${formatMs(maybe.totalMs[1])} after the first run, and ${words} would end the job.`,
      ),
    ]
  }
  return [
    note(
      'max-elapsed-unused',
      `${words} ends nothing: the last retry runs after ${formatMs(rows.at(-1)!.totalMs[1])} at the latest.`,
    ),
  ]
}

function windowFindings({ policy, backoff, rows, survivedMs }: Look): readonly Finding[] {
  const found: Finding[] = []
  const limit = policy.maxElapsed === undefined ? Number.POSITIVE_INFINITY : toMs(policy.maxElapsed, 'maxElapsed')
  const lastMs = Math.min(limit, rows.at(-1)!.totalMs[1])
  if (backoff.type === 'list' && survivedMs < DELIVERY_MS) {
    const message =
      `The delays are over after ${formatMs(survivedMs)}. If these are deliveries, a receiver that is away for longer ` +
      `never gets them; "patient" holds out for ${formatMs(outageSurvived(PRESETS.patient))}.`
    found.push(note('delivery-window', message))
  } else if (survivedMs < SHORT_MS) {
    const say = survivedMs < VERY_SHORT_MS ? warning : note
    const killed = lastMs < SHORT_MS ? 'all jobs' : 'many of the jobs'
    const message =
      `The retries cover only ${formatMs(survivedMs)}: an outage of ${formatMs(SHORT_MS)}, such as a slow deploy, ` +
      `kills ${killed} that meet it.`
    found.push(say('short-window', message))
  }
  if (lastMs > LONG_MS) {
    const say = lastMs > VERY_LONG_MS ? warning : note
    const message =
      `The last retry may run ${formatMs(lastMs)} after the first failure; a deadline or maxElapsed ends jobs whose ` +
      'result is no longer needed.'
    found.push(say('long-window', message))
  }
  const retries = rows.filter(({ totalMs }) => totalMs[0] <= limit).length
  if (retries > MANY_RETRIES) {
    const message = `A job may run ${retries + 1} times: every job calls a dependency that stays down this often.`
    found.push(note('many-runs', message))
  }
  return found
}
