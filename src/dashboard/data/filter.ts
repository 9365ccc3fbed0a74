/** The query of a URL, as the router has it. */
type Query = Readonly<Record<string, string>>

/** A word before a colon that narrows a list. Its name is also its name in the URL. */
export interface FilterToken {
  readonly name: string
  /** What it means, in the list of suggestions. */
  readonly hint: string
  /** Values to suggest; others may be typed too. */
  readonly values?: readonly string[] | undefined
}

export const PHASES = ['scheduled', 'queued', 'retrying', 'running', 'succeeded', 'dead', 'cancelled'] as const

export const REASONS = [
  'exhausted',
  'too-old',
  'permanent',
  'failed',
  'unknown-outcome',
  'poison',
  'expired',
  'blocked',
  'gone',
  'endpoint-disabled',
  'discarded',
] as const

/** What narrows a list of jobs. Queues and names are known once somebody asked for them. */
export function jobTokens(
  known: { queues?: readonly string[]; names?: readonly string[] } = {},
): readonly FilterToken[] {
  return [
    { name: 'state', hint: 'What it does now', values: PHASES },
    { name: 'queue', hint: 'The queue it waits in', values: known.queues },
    { name: 'name', hint: 'The name of the job', values: known.names },
    { name: 'tag', hint: 'A tag that it carries' },
    { name: 'key', hint: 'Its idempotency key' },
    { name: 'error', hint: 'Words of its last error' },
    { name: 'reason', hint: 'Why it is dead', values: REASONS },
    { name: 'fingerprint', hint: 'Its group of equal errors' },
    { name: 'schedule', hint: 'The schedule that made it' },
    { name: 'redrive', hint: 'The redrive that sent it round again' },
    { name: 'dependency', hint: 'The target that it depends on' },
    { name: 'tenant', hint: 'Whose job it is' },
    { name: 'after', hint: 'Made after a time, such as 2026-11-16T08:00:00Z' },
    { name: 'before', hint: 'Made before a time' },
  ]
}

/** Names in the URL that are called otherwise in the API. A phase is a state to everybody but the store. */
const API_NAMES: Readonly<Record<string, string>> = {
  state: 'phase',
  schedule: 'scheduleId',
  redrive: 'redriveId',
  tenant: 'tenantId',
  after: 'createdAfter',
  before: 'createdBefore',
}

/** The filter of a list's URL as the API takes it; `cursor`, tabs and the like stay out. */
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

/** The filter in words, for dialogs: `state:dead queue:mail "card declined"`. */
export function filterWords(query: Query, tokens: readonly FilterToken[] = jobTokens()): string {
  const words = tokens.flatMap(({ name }) => (query[name] ? [`${name}:${spaced(query[name])}`] : []))
  return [...words, ...(query['q'] ? [`"${query['q']}"`] : [])].join(' ')
}

const spaced = (value: string): string => (/\s/.test(value) ? `"${value}"` : value)

const TYPED = /(\w+):("[^"]*"|\S*)|"([^"]*)"|(\S+)/g

/** What somebody typed, as a change of the query: `queue:mail timeout` → `{ queue: 'mail', q: 'timeout' }`. */
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
