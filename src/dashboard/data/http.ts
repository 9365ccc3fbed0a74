import { signal } from '@preact/signals'
import { present } from '../../core/values/present.js'
import { base } from '../shell/router.js'

/** An error response of the server, with the fields of problem+json. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly retryable: boolean
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
  /** The counts, if more items match than were confirmed. */
  readonly details: { readonly matched: number } | undefined

  constructor(status: number, facts: ProblemFacts) {
    super(facts.title ?? facts.detail ?? `the server answered ${status}`)
    this.name = 'Problem'
    this.status = status
    this.code = facts.code ?? 'UNKNOWN'
    this.detail = facts.detail ?? this.message
    this.requestId = facts.requestId
    this.retryable = facts.retryable ?? status >= 500
    this.errors = facts.errors ?? []
    this.details = facts.details
  }
}

interface ProblemFacts {
  readonly title?: string
  readonly detail?: string
  readonly code?: string
  readonly requestId?: string | undefined
  readonly retryable?: boolean
  readonly errors?: Problem['errors']
  readonly details?: Problem['details']
}

/** A number that JavaScript would round, with its original digits. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export type Parameter = string | number | boolean | undefined | readonly string[]

export interface Call {
  readonly query?: Readonly<Record<string, Parameter>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** A repeated request with the same key takes effect once. */
  readonly idempotencyKey?: string | undefined
  /** The ETag that must still match. */
  readonly ifMatch?: string | undefined
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Called when a request is answered with 401. */
let onSignedOut: () => void = () => {}

export function whenSignedOut(run: () => void): void {
  onSignedOut = run
}

/** The server or its store is unavailable. Shown once for the whole page until a request succeeds. */
export const trouble = signal<Problem | undefined>(undefined)

export function apiUrl(path: string, query: Call['query'] = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === '') continue
    for (const one of Array.isArray(value) ? value : [value]) search.append(key, String(one))
  }
  const text = search.toString()
  return `${base}api/v1${path}${text === '' ? '' : `?${text}`}`
}

export async function request<T>(method: Method, path: string, call: Call = {}): Promise<T> {
  const { query, signal, idempotencyKey, ifMatch } = call
  const sent = call.body ?? (method === 'POST' ? {} : undefined)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (sent !== undefined) headers['content-type'] = 'application/json'
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
  if (ifMatch !== undefined) headers['if-match'] = ifMatch
  const init = present({
    method,
    headers,
    cache: 'no-store',
    credentials: 'same-origin',
    body: sent === undefined ? undefined : JSON.stringify(sent),
    signal,
  })
  const response = await fetched(apiUrl(path, query), init)
  const text = await response.text()
  if (!response.ok) throw noted(problemOf(response, text))
  trouble.value = undefined
  return (text === '' ? undefined : parseJson(text)) as T
}

async function fetched(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw noted(
      new Problem(0, {
        title: 'Server not reachable',
        code: 'UNREACHABLE',
        detail: 'The server is stopped or restarting, or the network is down.',
        retryable: true,
      }),
    )
  }
}

function noted(problem: Problem): Problem {
  if (problem.status === 0 || problem.status === 502 || problem.status === 503) trouble.value = problem
  return problem
}

function problemOf(response: Response, text: string): Problem {
  const requestId = response.headers.get('x-request-id') ?? undefined
  if (response.status === 401) onSignedOut()
  try {
    return new Problem(response.status, { requestId, ...(JSON.parse(text) as ProblemFacts) })
  } catch {
    return new Problem(response.status, {
      title: `The server answered ${response.status}`,
      detail: text.slice(0, 500) || response.statusText,
      requestId,
    })
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown

const LONG_NUMBER = /\d{16}/
const exact: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || context?.source === undefined || !LONG_NUMBER.test(context.source)) return value
  return String(value) === context.source ? value : new ExactNumber(context.source)
}

/** Keeps the digits of numbers that JavaScript would round, if the browser provides the source text. */
export function parseJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, exact) : JSON.parse(text)
}

type RawJson = (text: string) => unknown

/** Restores the original digits of exact numbers. */
export function sendable(value: unknown): unknown {
  if (value instanceof ExactNumber) {
    const { rawJSON } = JSON as { readonly rawJSON?: RawJson }
    return rawJSON ? rawJSON(value.text) : Number(value.text)
  }
  if (Array.isArray(value)) return value.map(sendable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sendable(each)]))
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new Problem(0, { title: 'Error in this page', code: 'PAGE', detail, retryable: true })
}
