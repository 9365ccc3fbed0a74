import { HttpError } from '../../core/failure/http-error.js'
import { isSecretHeader } from '../../core/http/headers.js'
import type { Answer, Hop } from './exchange.js'

const REDIRECTS = [301, 302, 303, 307, 308]
/** Headers that describe a body that is no longer sent. */
const ABOUT_BODY = /^content-/

/** The next request of a redirect; undefined if the response is not one. Its URL is checked like any other. */
export function nextHop(hop: Hop, { status, headers }: Answer): Hop | undefined {
  const location = headers['location']
  if (!REDIRECTS.includes(status) || location === undefined) return undefined
  if (!URL.canParse(location, hop.url.href)) throw refused(hop, status, 'to an invalid URL')
  const url = new URL(location, hop.url)
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') throw refused(hop, status, 'from https to http')
  const dropsBody = status === 303 ? hop.method !== 'HEAD' : status <= 302 && hop.method === 'POST'
  const { body, ...rest } = hop
  return {
    ...rest,
    url,
    method: dropsBody ? 'GET' : hop.method,
    headers: kept(hop.headers, name => {
      if (dropsBody && (ABOUT_BODY.test(name) || name === 'idempotency-key')) return false
      return url.origin === hop.url.origin || !isSecretHeader(name)
    }),
    ...(body !== undefined && !dropsBody && { body }),
  }
}

export function tooManyRedirects(hop: Hop, status: number, max: number): HttpError {
  return refused(hop, status, `for more than ${max} times`)
}

function refused({ method, url }: Hop, status: number, how: string): HttpError {
  const words = `${method} ${url.origin} answered ${status}: it redirects ${how}, which is not followed`
  return new HttpError(words, { kind: 'permanent', status, code: 'REDIRECT' })
}

function kept(
  headers: Readonly<Record<string, string>>,
  keeps: (name: string) => boolean,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => keeps(name)))
}
