import type { Phase } from '../../core/job/job.js'
import type { JobView } from '../../core/job/view.js'
import { BLOCK_WORDS } from '../../core/job/wait-reason.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import type { Hue } from './badge.js'
import { Icon, type IconName } from './icon.js'

interface Look {
  readonly hue: Hue
  readonly icon: IconName
  readonly word: string
}

/** The look of every state: phases of jobs, outcomes of runs, and states of other things. */
const LOOKS: Readonly<Record<string, Look>> = {
  scheduled: { hue: 'wait', icon: 'scheduled', word: 'Scheduled' },
  queued: { hue: 'wait', icon: 'queued', word: 'Queued' },
  waiting: { hue: 'wait', icon: 'queued', word: 'Waiting' },
  retrying: { hue: 'retry', icon: 'retrying', word: 'Retrying' },
  blocked: { hue: 'retry', icon: 'pause', word: 'Blocked' },
  running: { hue: 'run', icon: 'running', word: 'Running' },
  succeeded: { hue: 'ok', icon: 'succeeded', word: 'Succeeded' },
  dead: { hue: 'dead', icon: 'died', word: 'Dead' },
  cancelled: { hue: 'off', icon: 'cancelled', word: 'Cancelled' },
  // Deliveries.
  delivered: { hue: 'ok', icon: 'succeeded', word: 'Delivered' },
  // Outcomes of runs.
  failed: { hue: 'dead', icon: 'died', word: 'Failed' },
  'timed-out': { hue: 'dead', icon: 'clock', word: 'Timed out' },
  lost: { hue: 'dead', icon: 'lost', word: 'Lost' },
  snoozed: { hue: 'wait', icon: 'clock', word: 'Snoozed' },
  released: { hue: 'off', icon: 'out', word: 'Released' },
  deferred: { hue: 'wait', icon: 'pause', word: 'Deferred' },
  next: { hue: 'wait', icon: 'scheduled', word: 'Next' },
  // Redrives.
  canary: { hue: 'run', icon: 'running', word: 'Canary' },
  paused: { hue: 'retry', icon: 'pause', word: 'Paused' },
  stopped: { hue: 'dead', icon: 'stop', word: 'Stopped' },
  aborted: { hue: 'off', icon: 'cancelled', word: 'Aborted' },
  done: { hue: 'ok', icon: 'check', word: 'Done' },
  // Error groups.
  open: { hue: 'dead', icon: 'warning', word: 'Open' },
  regressed: { hue: 'dead', icon: 'redrive', word: 'Regressed' },
  resolved: { hue: 'ok', icon: 'check', word: 'Resolved' },
  ignored: { hue: 'off', icon: 'minus', word: 'Ignored' },
  // Schedules, endpoints, workers.
  active: { hue: 'ok', icon: 'play', word: 'Active' },
  ended: { hue: 'off', icon: 'stop', word: 'Ended' },
  enabled: { hue: 'ok', icon: 'check', word: 'Enabled' },
  disabled: { hue: 'dead', icon: 'cancelled', word: 'Disabled' },
  alive: { hue: 'ok', icon: 'check', word: 'Alive' },
  silent: { hue: 'dead', icon: 'lost', word: 'Silent' },
  draining: { hue: 'retry', icon: 'pause', word: 'Draining' },
  // Circuits. An open circuit is `circuit-open`, because `open` is the state of an error group.
  closed: { hue: 'ok', icon: 'check', word: 'Closed' },
  'circuit-open': { hue: 'dead', icon: 'cancel', word: 'Open' },
  'half-open': { hue: 'retry', icon: 'retrying', word: 'Half open' },
  ramping: { hue: 'retry', icon: 'up', word: 'Ramping' },
  // Alerts.
  firing: { hue: 'dead', icon: 'alerts', word: 'Firing' },
  pending: { hue: 'retry', icon: 'clock', word: 'Pending' },
  inactive: { hue: 'off', icon: 'minus', word: 'Inactive' },
}

export function lookOf(state: string): Look {
  return LOOKS[state] ?? { hue: 'off', icon: 'info', word: state }
}

export interface StateMarkProps {
  readonly state: Phase | string
  /** The reason behind the state: `Dead · exhausted`. */
  readonly reason?: string | undefined
  /** `badge` stands out; `plain` is for tables; `icon` has its text in the tooltip and for screen readers. */
  readonly as?: 'badge' | 'plain' | 'icon' | undefined
}

/** A webhook delivery is a job, and its state has the same word wherever it is shown. */
const OF_DELIVERY: Readonly<Record<string, string>> = { succeeded: 'delivered', dead: 'failed' }

export function stateOf({ queue, phase }: Pick<JobView, 'queue' | 'phase'>): string {
  return (queue === DELIVERIES && OF_DELIVERY[phase]) || phase
}

/** Why a job is dead or blocked. */
export function stateReason({ reason, blockedBy }: Pick<JobView, 'reason' | 'blockedBy'>): string | undefined {
  return reason ?? (blockedBy && BLOCK_WORDS[blockedBy])
}

/** A state with its icon, text and colour. */
export function StateMark({ state, reason, as = 'plain' }: StateMarkProps) {
  const { hue, icon, word } = lookOf(state)
  const words = reason === undefined ? word : `${word} · ${reason}`
  if (as === 'icon') {
    return (
      <span class={`state icon ${hue}`} role="img" aria-label={words} data-tip={words}>
        <Icon name={icon} size={14} />
      </span>
    )
  }
  return (
    <span class={`state ${as} ${hue}`}>
      <Icon name={icon} size={14} />
      <span>{word}</span>
      {reason !== undefined && <span class="reason">{reason}</span>}
    </span>
  )
}
