import { Problem } from '../http/problem.js'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * A browser sends cookies and reaches the loopback interface for any page. It also names that page's site, and only our own
 * pages are allowed.
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
  return new Problem(403, 'CROSS_SITE', `cross-site request refused (${why}); scripts authenticate with a token`)
}

/** Checks the Host header against the known names, which stops pages that use DNS rebinding. */
export function hostCheck(allowed: readonly string[], bound: string): (request: Request) => void {
  const onlyOwn = isLoopback(bound)
  const all = allowed.includes('*') || (!onlyOwn && allowed.length === 0)
  return request => {
    if (all) return
    const host = request.headers.get('Host') ?? ''
    const name = host.replace(/:\d+$/, '').toLowerCase()
    if (allowed.includes(name) || allowed.includes(host.toLowerCase()) || (onlyOwn && isLoopback(name))) return
    throw new Problem(421, 'UNKNOWN_HOST', 'Host: unknown host name; add it to allowedHosts')
  }
}
