import { Problem } from '../http/problem.js'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * A browser sends cookies, and reaches this machine's loopback, for whichever page asks it to. It also says which page
 * that is: only our own may.
 */
export function checkOrigin(request: Request): void {
  const site = request.headers.get('Sec-Fetch-Site')
  if (site !== null && site !== 'same-origin' && site !== 'none') throw crossSite(`Sec-Fetch-Site is ${site}`)
  const origin = request.headers.get('Origin')
  if (origin === null) return
  const host = request.headers.get('Host')
  if (!URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase()) throw crossSite('Origin is another site')
}

function crossSite(why: string): Problem {
  return new Problem(403, 'CROSS_SITE', `a browser sent this for another site (${why}); scripts send a token instead`)
}

/** Under which names a server may be called: a page whose name was made to point here must not be able to talk to it. */
export function hostCheck(allowed: readonly string[], bound: string): (request: Request) => void {
  const onlyOwn = isLoopback(bound)
  const all = allowed.includes('*') || (!onlyOwn && allowed.length === 0)
  return request => {
    if (all) return
    const host = request.headers.get('Host') ?? ''
    const name = host.replace(/:\d+$/, '').toLowerCase()
    if (allowed.includes(name) || allowed.includes(host.toLowerCase()) || (onlyOwn && isLoopback(name))) return
    throw new Problem(
      421,
      'UNKNOWN_HOST',
      'Host: this server does not go by that name; allowedHosts lists the names it knows',
    )
  }
}
