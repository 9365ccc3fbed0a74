import { isSecretHeader } from '../../core/http/headers.js'
import type { HttpCall } from '../../core/http/request.js'
import { shownUrl } from '../../core/http/shown-url.js'
import { present } from '../../core/values/present.js'
import { cleanText } from '../../core/values/text.js'
import type { JobContext } from '../client/definition.js'
import type { EgressAnswer } from '../egress/egress.js'
import type { Timing } from '../egress/exchange.js'

export const BODY_KEPT_BYTES = 16 * 1024
/** Measured as JSON, in which a quote takes two bytes and a control character six. */
const BODY_KEPT_JSON_BYTES = 2 * BODY_KEPT_BYTES
const HEADER_KEPT_BYTES = 500
/** The part of a body that fits into one line of a job's log. */
const LINE_BYTES = 3_000

/** What is kept of a response: the result of a successful job, log lines of a failed attempt. */
export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The first 16 KiB, if the body is text. */
  readonly body?: string
  /** The body was longer than the limit, or the rest did not arrive in time. */
  readonly truncated?: true
  readonly redirects?: number
  readonly timing: Timing
}

const HEADERS_KEPT = [
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'etag',
  'last-modified',
  'location',
  'retry-after',
  'server',
  'x-request-id',
]

export function responseOf(answer: EgressAnswer, call: HttpCall): Response {
  const { status, truncated, redirects, timing } = answer
  const hide = hider(call)
  const headers: Record<string, string> = {}
  for (const name of HEADERS_KEPT) {
    const value = answer.headers[name]
    if (value === undefined) continue
    headers[name] = cleanText(name === 'location' ? shownUrl(hide(value)) : hide(value), HEADER_KEPT_BYTES)
  }
  const text = call.captureBody ? textOf(answer.body, headers['content-encoding']) : undefined
  return {
    status,
    headers,
    ...(text !== undefined && text !== '' && { body: cleanText(hide(text), BODY_KEPT_JSON_BYTES) }),
    ...(truncated && { truncated: true as const }),
    ...(redirects > 0 && { redirects }),
    timing,
  }
}

/** One line if the body fits into it; a longer body follows in lines of its own. */
export function logResponse({ body, ...rest }: Response, message: string, job: JobContext): void {
  const pieces = body === undefined ? [] : piecesOf(body)
  if (pieces.length <= 1) {
    job.log(message, present({ ...rest, body }))
    return
  }
  job.log(message, rest)
  for (const [i, piece] of pieces.entries()) job.log(`body, part ${i + 1} of ${pieces.length}`, { body: piece })
}

function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  for (let rest = text; rest !== ''; ) {
    // Splits at whole characters, whatever their size as JSON. `cleanText` would mark a cut, but here the text
    // continues.
    const fitting = cleanText(rest, LINE_BYTES)
    const piece = fitting.length >= rest.length ? rest : rest.slice(0, fitting.length - 1)
    pieces.push(piece)
    rest = rest.slice(piece.length)
  }
  return pieces
}

/** Undefined if the body is not text. The end may be cut in the middle of a character. */
function textOf(body: Uint8Array, encoding: string | undefined): string | undefined {
  if (encoding !== undefined && encoding !== 'identity') return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: true })
  } catch {
    return undefined
  }
}

const SECRET_LENGTH_MIN = 6
const HIDDEN = '[hidden]'

/** Removes credentials of the request, because some servers repeat them in the response. */
function hider({ headers, url }: HttpCall): (text: string) => string {
  const secrets = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    if (!isSecretHeader(name)) continue
    // The scheme before a token and the names of cookies are not secret.
    for (const part of [value, ...value.split(/[\s;,]+/), ...value.split(/[\s;,=]+/)]) secrets.add(part)
  }
  for (const [name, value] of new URL(url).searchParams) if (isSecretHeader(name)) secrets.add(value)
  const long = [...secrets].filter(secret => secret.length >= SECRET_LENGTH_MIN).sort((a, b) => b.length - a.length)
  return text => long.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
}
