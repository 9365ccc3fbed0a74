import { circuitState } from '../dependency/state.js'
import { partitionWords } from '../partition/wait.js'
import { isInternal } from '../queue/internal.js'
import { DAY_MS, formatMs } from '../values/duration.js'
import { countText, many, retryRateText } from '../values/number.js'
import { DELIVERIES, endpointKey } from '../webhook/delivery.js'
import { endpointHost } from '../webhook/webhook.js'
import type { Reading } from './alert.js'
import { type CountFacts, type Facts, type QueueFacts, type Rule, retryRateOf } from './rule.js'

const URGENT_AFTER_MS = DAY_MS

/**
 * The rules. An entry is everything that there is to say about a rule: its settings, the REST API, the CLI, the
 * dashboard and the table of `docs/alerts.md` follow from it.
 *
 * Each rule has two thresholds, so that a value that varies around one of them does not alert all the time.
 */
const TABLE = [
  rule({
    name: 'dead-letters',
    about: 'Unacknowledged dead letters of a queue',
    details: 'The newest 5,000 dead letters are examined. Acknowledged, discarded and redriven jobs do not count.',
    measures: 'level',
    unit: 'count',
    defaults: { critical: 100, for: '5m', keep: '2m' },
    urgentIf: 'one is older than a day',
    reads: 'queues',
    readings: (queues, _, now) =>
      queues
        .filter(({ dead }) => dead > 0)
        .map(({ queue, dead, isCapped, deadSince = now }) => {
          const letters = `${isCapped ? 'at least ' : ''}${countText(dead)} unacknowledged ${dead === 1 ? 'dead letter' : 'dead letters'}`
          const age = now - deadSince
          return {
            labels: { queue },
            value: dead,
            summary: `${letters} in queue ${queue}, the oldest for ${formatMs(age)}`,
            isUrgent: age > URGENT_AFTER_MS,
          }
        }),
  }),
  rule({
    name: 'retry-rate',
    about: 'Retries ÷ first attempts of a queue in the window',
    details:
      'There is no value without first attempts, or with fewer retries than minRetries (5). Runs are counted when they end, per minute, so the window is up to a minute longer.',
    measures: 'rate',
    unit: 'share',
    defaults: { fire: 0.1, clear: 0.08, critical: 0.3, for: '5m', keep: '5m', window: '5m', minRetries: 5 },
    reads: 'counts',
    readings: (counts, { minRetries = 0 }, now) =>
      ofQueues(counts).flatMap(([queue, { first, retry }]) => {
        const value = retryRateOf({ first, retry })
        if (value === undefined || retry < minRetries) return []
        const counted = `${countText(retry)} retries to ${countText(first)} first attempts in the last ${spanOf(counts, now)}`
        return [{ labels: { queue }, value, summary: `queue ${queue} has ${retryRateText(value)}: ${counted}` }]
      }),
  }),
  rule({
    name: 'exhausted-burst',
    about: 'Jobs of a queue that used all their retries in the window',
    measures: 'rate',
    unit: 'count',
    defaults: { fire: 9, clear: 4, critical: 9, keep: '10m', repeat: 'doubled', window: '5m' },
    reads: 'counts',
    readings: (counts, _, now) =>
      [...counts.queues].map(([queue, { exhausted: value }]) => ({
        labels: { queue },
        value,
        summary: `${many(value, 'job')} of queue ${queue} ran out of retries in the last ${spanOf(counts, now)}`,
      })),
  }),
  rule({
    name: 'retry-latency',
    about: 'Mean time from a failure to the next start, backoff included, of the retries of a queue in the window',
    details:
      'There is no value with fewer retries than minRetries (5). It is the mean of chronos_retry_latency_seconds; a retry is counted when it ends.',
    measures: 'rate',
    unit: 'duration',
    defaults: { fire: '10m', clear: '5m', for: '2m', keep: '5m', window: '15m', minRetries: 5 },
    reads: 'counts',
    readings: (counts, { minRetries = 0 }, now) =>
      ofQueues(counts).flatMap(([queue, { measured, latencyMs }]) => {
        if (measured === 0 || measured < minRetries) return []
        const value = Math.round(latencyMs / measured)
        const counted = `the mean of ${countText(measured)} in the last ${spanOf(counts, now)}`
        const summary = `retries of queue ${queue} start ${formatMs(value)} after the failure: ${counted}`
        return [{ labels: { queue }, value, summary }]
      }),
  }),
  rule({
    name: 'retries-late',
    about: 'Wait of the oldest due retry of a queue',
    measures: 'level',
    unit: 'duration',
    defaults: { fire: '1m', clear: '30s', for: '2m', keep: '2m' },
    reads: 'queues',
    readings: (queues, _, now) =>
      waiting(queues).map(({ queue, retryDueAt }) => lateness('retry', queue, retryDueAt, now)),
  }),
  rule({
    name: 'queue-latency',
    about: 'Wait of the oldest due job of a queue',
    details: 'Jobs that wait for a limit of their queue or partition do not count.',
    measures: 'level',
    unit: 'duration',
    defaults: { fire: '5m', clear: '2m', critical: '1h', for: '1m', keep: '2m' },
    reads: 'queues',
    readings: (queues, _, now) => waiting(queues).map(({ queue, dueAt }) => lateness('job', queue, dueAt, now)),
  }),
  rule({
    name: 'no-workers',
    about: 'A queue has due jobs, and no live worker takes them',
    measures: 'level',
    unit: 'flag',
    defaults: { critical: 0, for: '1m', keep: '1m' },
    reads: 'queues',
    readings: queues =>
      waiting(queues)
        .filter(({ dueAt, isServed }) => dueAt !== undefined && !isServed)
        .map(({ queue }) => flag({ queue }, `queue ${queue} has due jobs and no live worker takes them`)),
  }),
  rule({
    name: 'circuit-open',
    about: 'The circuit of a dependency is open',
    measures: 'level',
    unit: 'flag',
    defaults: { for: '2m', keep: '1m' },
    reads: 'dependencies',
    // Webhook endpoints have a rule of their own, and alerts are delivered through them.
    readings: (dependencies, _, now) =>
      dependencies
        .filter(dependency => !dependency.key.startsWith(endpointKey('')))
        .filter(dependency => ['open', 'half-open'].includes(circuitState(dependency, now)))
        .map(({ key, tenantId, reason }) => {
          const place = tenantId === undefined ? key : `${key} for tenant ${tenantId}`
          const why = reason === undefined ? '' : `: ${reason}`
          const labels = { circuit: key, ...(tenantId !== undefined && { tenant: tenantId }) }
          return flag(labels, `the circuit of ${place} is open${why}`)
        }),
  }),
  rule({
    name: 'endpoint-disabled',
    about: 'Chronos disabled a webhook endpoint',
    details: 'An endpoint that a user disabled raises no alert.',
    measures: 'level',
    unit: 'flag',
    defaults: {},
    reads: 'endpoints',
    readings: endpoints =>
      endpoints
        .filter(({ state, disabledReason }) => state === 'disabled' && disabledReason !== 'by-hand')
        .map(endpoint => {
          const { id, disabledReason } = endpoint
          const why = disabledReason === 'gone' ? 'it answered 410' : 'all deliveries failed for days'
          return flag({ endpoint: id }, `the webhook to ${endpointHost(endpoint)} is disabled: ${why}`)
        }),
  }),
  rule({
    name: 'schedule-missed',
    about: 'Occurrences of a schedule in the window at which no scheduler was running',
    measures: 'level',
    unit: 'count',
    defaults: { window: '10m' },
    reads: 'missed',
    readings: schedules =>
      schedules.map(({ schedule, missed }) => {
        const occurrences = many(missed, 'occurrence was', 'occurrences were')
        const summary = `${occurrences} missed by schedule ${schedule}: no scheduler was alive`
        return { labels: { schedule }, value: missed, summary }
      }),
  }),
  rule({
    name: 'no-handler',
    about: 'Waiting jobs that no live worker of their queue has a handler for',
    details: 'A worker has met such a job. Its name is misspelt, or the worker with its handler is not running.',
    measures: 'level',
    unit: 'count',
    defaults: { for: '5m', keep: '1m' },
    reads: 'unhandled',
    readings: unhandled =>
      unhandled.map(({ queue, name, waiting: { value }, similar }) => {
        const jobs = many(value, 'job waits', 'jobs wait')
        const meant = similar === undefined ? '' : `; did you mean ${similar}?`
        return {
          labels: { queue, name },
          value,
          summary: `no worker of queue ${queue} has a handler for ${name}: ${jobs}${meant}`,
        }
      }),
  }),
  rule({
    name: 'partition-stopped',
    about: 'Partitions of a queue that a dead letter stops',
    details: "Only with `order: 'fifo', onDead: 'stop'`. Redrive or discard the dead letter. Up to 100 are counted.",
    measures: 'level',
    unit: 'count',
    defaults: { for: '1m', keep: '1m' },
    reads: 'stopped',
    readings: stopped =>
      stopped.map(({ queue, partitions: value, partition, jobId }) => {
        const others = value === 1 ? '' : `; ${countText(value)} partitions are stopped`
        const summary = `${partitionWords(partition)} of queue ${queue} is stopped by dead letter ${jobId}${others}`
        return { labels: { queue }, value, summary }
      }),
  }),
  rule({
    name: 'nothing-pruned',
    about: 'Ended jobs in a store from which no job is ever pruned',
    details: 'Set `retention`, or run `chronos prune` regularly. Up to 1,000,000 are counted.',
    measures: 'level',
    unit: 'count',
    defaults: { fire: 1_000_000 - 1, clear: 900_000, for: '1h', keep: '1m' },
    reads: 'retention',
    readings: ({ kept }) => [
      {
        labels: {},
        value: kept,
        summary: `no job is ever pruned, and the store has ${countText(kept)} ended jobs or more`,
      },
    ],
  }),
] as const

export type RuleName = (typeof TABLE)[number]['name']

export const RULES: readonly Rule<RuleName>[] = TABLE as readonly unknown[] as readonly Rule<RuleName>[]
export const RULE_NAMES: readonly RuleName[] = RULES.map(({ name }) => name)

export function ruleNamed(name: RuleName): Rule<RuleName> {
  return RULES.find(each => each.name === name)!
}

function rule<const Name extends string, Source extends keyof Facts>(entry: Rule<Name, Source>): Rule<Name, Source> {
  return entry
}

/** Deliveries wait for endpoints by design, and a paused queue waits on purpose. */
function waiting(queues: readonly QueueFacts[]): readonly QueueFacts[] {
  return queues.filter(({ queue, isPaused }) => queue !== DELIVERIES && !isPaused)
}

/** Deliveries are retried by design. */
function ofQueues({ queues }: CountFacts) {
  return [...queues].filter(([queue]) => !isInternal(queue))
}

/** The true length of the window. */
const spanOf = ({ since }: CountFacts, now: number): string => formatMs(now - since)

function lateness(what: 'job' | 'retry', queue: string, dueAt: number | undefined, now: number): Reading {
  const value = Math.max(0, now - (dueAt ?? now))
  return { labels: { queue }, value, summary: `the oldest due ${what} in queue ${queue} waits for ${formatMs(value)}` }
}

function flag(labels: Reading['labels'], summary: string): Reading {
  return { labels, value: 1, summary }
}
