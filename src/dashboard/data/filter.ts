import { DEATH_REASONS, PHASES } from '../../core/job/job.js'

/** The query of a URL, as the router has it. */
type Query = Readonly<Record<string, string>>

/** A filter such as `queue:mail`. Its name is also the name of the URL parameter. */
export interface FilterToken {
  readonly name: string
  /** Explains it in the list of suggestions. */
  readonly hint: string
  /** Suggested values; others may be typed too. */
  readonly values?: readonly string[] | undefined
}

/** The filters of a list of jobs. `known` are the queue and job names to suggest. */
export function jobTokens(
  known: { queues?: readonly string[]; names?: readonly string[] } = {},
): readonly FilterToken[] {
  return [
    { name: 'state', hint: 'Current state', values: PHASES },
    { name: 'queue', hint: 'Queue', values: known.queues },
    { name: 'name', hint: 'Job name', values: known.names },
    { name: 'tag', hint: 'Tag' },
    { name: 'key', hint: 'Idempotency key' },
    { name: 'error', hint: 'Text of the last error' },
    { name: 'reason', hint: 'Reason of death', values: DEATH_REASONS },
    { name: 'fingerprint', hint: 'Error group' },
    { name: 'schedule', hint: 'Schedule that created it' },
    { name: 'redrive', hint: 'Redrive that restarted it' },
    { name: 'dependency', hint: 'Dependency' },
    { name: 'worker', hint: 'Worker that runs it now' },
    { name: 'tenant', hint: 'Tenant' },
    { name: 'retried', hint: 'More than one attempt', values: ['true', 'false'] },
    { name: 'acknowledged', hint: 'Dead, and acknowledged by an operator', values: ['true', 'false'] },
    { name: 'internal', hint: 'Made by Chronos, such as webhook deliveries', values: ['true', 'false'] },
    { name: 'after', hint: 'Created after a time, such as 2026-11-16T08:00:00Z' },
    { name: 'before', hint: 'Created before a time' },
  ]
}

/** URL parameters with another name in the API. The dashboard calls a phase a state. */
const API_NAMES: Readonly<Record<string, string>> = {
  state: 'phase',
  schedule: 'scheduleId',
  redrive: 'redriveId',
  tenant: 'tenantId',
  worker: 'workerId',
  after: 'createdAfter',
  before: 'createdBefore',
}

/** The filter of the URL as API parameters, without `cursor`, tabs and the like. */
export function apiFilter(
  query: Query,
  tokens: readonly FilterToken[] = jobTokens(),
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of [...tokens.map(token => token.name), 'q']) {
    const value = query[name]
    if (value !== undefined && value !== '') found[API_NAMES[name] ?? name] = value
  }
  return found
}

/** The filter as text, for dialogs: `state:dead queue:mail "card declined"`. */
export function filterWords(query: Query, tokens: readonly FilterToken[] = jobTokens()): string {
  const words = tokens.flatMap(({ name }) => (query[name] ? [`${name}:${spaced(query[name])}`] : []))
  return [...words, ...(query['q'] ? [`"${query['q']}"`] : [])].join(' ')
}

const spaced = (value: string): string => (/\s/.test(value) ? `"${value}"` : value)

const TYPED = /(\w+):("[^"]*"|\S*)|"([^"]*)"|(\S+)/g

/** Typed text as a change of the query: `queue:mail timeout` → `{ queue: 'mail', q: 'timeout' }`. */
export function typedFilter(text: string, tokens: readonly FilterToken[]): Query {
  const change: Record<string, string> = {}
  const free: string[] = []
  for (const [whole, name, value, quotation, word] of text.matchAll(TYPED)) {
    const token = tokens.find(one => one.name === name)
    if (token && value) change[token.name] = value.replace(/^"|"$/g, '')
    else if (!token) free.push(quotation ?? word ?? whole)
  }
  return free.length === 0 ? change : { ...change, q: free.join(' ') }
}
