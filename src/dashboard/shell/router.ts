import { batch, computed, signal } from '@preact/signals'

/** The URL holds the state: every filter, tab and open row. Back works, and a link shows the same view. */

/** The base path of the dashboard, as the server wrote it into the page. It ends with a slash. */
export const base = new URL(document.baseURI).pathname.replace(/[^/]*$/, '')

export type Query = Readonly<Record<string, string>>
/** `undefined` and `''` remove a parameter. */
export type QueryChange = Readonly<Record<string, string | undefined>>

const current = signal(read())

/** The path without the base: `/jobs/0190…`. */
export const path = computed(() => current.value.path)
export const query = computed<Query>(() => current.value.query)

function read(): { readonly path: string; readonly query: Query } {
  const { pathname, search } = window.location
  const inside = pathname.startsWith(base) ? pathname.slice(base.length) : pathname.slice(1)
  return { path: `/${inside.replace(/\/+$/, '')}`, query: Object.fromEntries(new URLSearchParams(search)) }
}

/** The URL of a page: `href('/jobs', { state: 'dead' })`. */
export function href(to: string, change: QueryChange = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(change)) if (value !== undefined && value !== '') search.set(key, value)
  const text = search.toString()
  return `${base}${to.replace(/^\//, '')}${text === '' ? '' : `?${text}`}`
}

interface NavigateOptions {
  readonly replace?: boolean
}

/** Opens a URL of `href`. */
export function navigate(address: string, { replace = false }: NavigateOptions = {}): void {
  const before = path.peek()
  if (replace) window.history.replaceState(null, '', address)
  else window.history.pushState(null, '', address)
  batch(() => {
    current.value = read()
  })
  if (path.peek() !== before) window.scrollTo(0, 0)
}

export function go(to: string, change?: QueryChange): void {
  navigate(href(to, change))
}

/** Changes parameters of the current URL. */
export function setQuery(change: QueryChange, options?: NavigateOptions): void {
  navigate(href(path.peek(), { ...query.peek(), ...change }), options)
}

/** The parameters of a path that matches a pattern such as `/jobs/:id`. */
export function match(pattern: string, at: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [pattern.split('/'), at.split('/')]
  if (wanted.length !== given.length) return undefined
  const found: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    if (part.startsWith(':')) found[part.slice(1)] = decoded(given[i]!)
    else if (part !== given[i]) return undefined
  }
  return found
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Encodes a name as a path segment: `/queues/${segment(name)}`. */
export const segment = (name: string): string => encodeURIComponent(name)

type Noun = 'jobs' | 'names' | 'queues' | 'schedules' | 'webhooks' | 'redrives' | 'dead' | 'workers'

/** The URL of the page of one thing: `pageOf('jobs', id)`. */
export const pageOf = (noun: Noun, id: string, change?: QueryChange): string => href(`/${noun}/${segment(id)}`, change)

/** Handles clicks on internal links without a page load. */
export function startRouter(): void {
  window.addEventListener('popstate', () => {
    current.value = read()
  })
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const isOurs = link.origin === window.location.origin && link.pathname.startsWith(base)
    if (!isOurs || link.target !== '' || link.hasAttribute('download') || link.dataset['external'] !== undefined) return
    event.preventDefault()
    navigate(link.pathname + link.search)
  })
}
