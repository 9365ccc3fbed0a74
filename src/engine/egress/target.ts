import { EgressBlocked } from './blocked.js'
import { type EgressRules, mayAsk, mayReach, mayUsePort, type Trust } from './rules.js'

/** A host as the rules look at it: without brackets, small letters, without the dot that ends a full name. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

const isLiteral = (host: string): boolean => host.includes(':') || /^\d+(?:\.\d+){3}$/.test(host)

/**
 * All that can be said of a URL without asking anybody. It is parsed here once; the parser has turned `0x7f.1`, `2130706433` and
 * their like into the address that they are.
 */
export function checkTarget(given: string | URL, rules: EgressRules, trust: Trust): URL {
  if (typeof given === 'string' && !URL.canParse(given)) throw new EgressBlocked('parse', '')
  const url = new URL(given)
  const host = hostOf(url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new EgressBlocked('scheme', host)
  if (url.username !== '' || url.password !== '') throw new EgressBlocked('userinfo', host)
  if (host === '') throw new EgressBlocked('parse', host)
  // Node asks no resolver about an address, so nothing later would look at it.
  if (isLiteral(host)) {
    if (!mayReach(host, undefined, rules, trust)) throw new EgressBlocked('ip', host)
  } else if (!mayAsk(host, rules, trust)) throw new EgressBlocked('name', host)
  if (!mayUsePort(portOf(url), host, rules, trust)) throw new EgressBlocked('port', host)
  return url
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
