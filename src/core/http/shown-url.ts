/**
 * A URL as it may be shown and stored: without user info and fragment, and without the values of its query, which are
 * often tokens. A query without names is a value as a whole.
 */
export function shownUrl(url: string): string {
  const [address = '', query] = url
    .replace(/#.*$/s, '')
    .replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?]*@/i, '$1//')
    .split(/\?(.*)/s)
  if (!query) return address
  return `${address}?${query.split('&').map(shownParameter).join('&')}`
}

function shownParameter(pair: string): string {
  const end = pair.indexOf('=')
  return end < 0 ? '…' : `${pair.slice(0, end)}=…`
}
