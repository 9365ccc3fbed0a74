import { EgressBlocked } from './blocked.js'
import { type EgressRules, mayAsk, mayReach, mayUsePort, type Trust } from './rules.js'

/** A host in the form that the rules expect: without brackets, in lower case, without a trailing dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

const isLiteral = (host: string): boolean => host.includes(':') || /^\d+(?:\.\d+){3}$/.test(host)

/**
 * Checks a URL as far as possible without a DNS lookup. It is parsed here once; the parser has turned forms such as
 * `0x7f.1` and `2130706433` into plain addresses.
 */
export function checkTarget(given: string | URL, rules: EgressRules, trust: Trust): URL {
  if (typeof given === 'string' && !URL.canParse(given)) throw new EgressBlocked('parse', '')
  const url = new URL(given)
  const host = hostOf(url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new EgressBlocked('scheme', host)
  if (url.username !== '' || url.password !== '') throw new EgressBlocked('userinfo', host)
  if (host === '') throw new EgressBlocked('parse', host)
  // Node does not call the resolver for an address, so no later check would see it.
  if (isLiteral(host)) {
    if (!mayReach(host, undefined, rules, trust)) throw new EgressBlocked('ip', host)
  } else if (!mayAsk(host, rules, trust)) throw new EgressBlocked('name', host)
  if (!mayUsePort(portOf(url), host, rules, trust)) throw new EgressBlocked('port', host)
  return url
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
