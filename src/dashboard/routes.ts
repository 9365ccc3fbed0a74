import type { IconName } from './parts/icon.js'

export interface Route {
  readonly path: string
  /** The file in `screens/`. */
  readonly screen: string
  /** A tenant's token may not see it. */
  readonly forAll?: boolean
}

/** Each screen is a file of its own, fetched when it is first looked at. The first that fits counts. */
export const ROUTES: readonly Route[] = [
  { path: '/', screen: 'overview', forAll: true },
  { path: '/queues', screen: 'queues', forAll: true },
  { path: '/queues/:name', screen: 'queue', forAll: true },
  { path: '/jobs', screen: 'jobs' },
  { path: '/jobs/:id', screen: 'job' },
  { path: '/dead', screen: 'dead' },
  { path: '/dead/:fingerprint', screen: 'error-group' },
  { path: '/redrives', screen: 'redrives' },
  { path: '/redrives/:id', screen: 'redrive' },
  { path: '/schedules', screen: 'schedules' },
  { path: '/schedules/new', screen: 'schedule-editor' },
  { path: '/schedules/:id', screen: 'schedule' },
  { path: '/schedules/:id/edit', screen: 'schedule-editor' },
  { path: '/policies', screen: 'policies', forAll: true },
  { path: '/webhooks', screen: 'webhooks' },
  { path: '/webhooks/:id', screen: 'webhook' },
  { path: '/dependencies', screen: 'dependencies', forAll: true },
  { path: '/alerts', screen: 'alerts', forAll: true },
  { path: '/workers', screen: 'workers', forAll: true },
  { path: '/system', screen: 'system', forAll: true },
  { path: '/audit', screen: 'audit-log' },
  { path: '/tokens', screen: 'tokens' },
]

export interface Place {
  readonly path: string
  readonly text: string
  readonly icon: IconName
  /** Pressed after `g`. */
  readonly key?: string
  readonly forAll?: boolean
  readonly admin?: boolean
}

/** The map of the dashboard, in the order of the side. */
export const PLACES: readonly { readonly group?: string; readonly places: readonly Place[] }[] = [
  {
    places: [
      { path: '/', text: 'Overview', icon: 'overview', key: 'o', forAll: true },
      { path: '/queues', text: 'Queues', icon: 'queues', key: 'q', forAll: true },
      { path: '/jobs', text: 'Jobs', icon: 'jobs', key: 'j' },
      { path: '/dead', text: 'Dead letters', icon: 'dead', key: 'd' },
      { path: '/redrives', text: 'Redrives', icon: 'redrive', key: 'r' },
      { path: '/schedules', text: 'Schedules', icon: 'schedules', key: 's' },
    ],
  },
  {
    group: 'Behaviour',
    places: [
      { path: '/policies', text: 'Retry policies', icon: 'policies', key: 'p', forAll: true },
      { path: '/webhooks', text: 'Webhooks', icon: 'webhooks', key: 'h' },
      { path: '/dependencies', text: 'Dependencies', icon: 'dependencies', key: 't', forAll: true },
      { path: '/alerts', text: 'Alerts', icon: 'alerts', key: 'a', forAll: true },
    ],
  },
  {
    group: 'Operation',
    places: [
      { path: '/workers', text: 'Workers', icon: 'workers', key: 'w', forAll: true },
      { path: '/system', text: 'System', icon: 'system', key: 'y', forAll: true },
      { path: '/audit', text: 'Audit log', icon: 'audit', key: 'u', admin: true },
      { path: '/tokens', text: 'Tokens', icon: 'tokens', key: 'k', admin: true },
    ],
  },
]

/** Those that somebody may see: a tenant's token only what is its own, tokens only an admin. */
export function placesFor(isTenant: boolean, isAdmin: boolean): typeof PLACES {
  return PLACES.map(({ places, ...rest }) => ({
    ...rest,
    places: places.filter(place => !(place.forAll && isTenant) && !(place.admin && (!isAdmin || isTenant))),
  })).filter(({ places }) => places.length > 0)
}

/** Whether a place is the one that is open, or the one above it. */
export function isAt(place: string, path: string): boolean {
  return place === '/' ? path === '/' : path === place || path.startsWith(`${place}/`)
}
