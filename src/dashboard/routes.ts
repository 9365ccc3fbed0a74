import type { IconName } from './parts/icon.js'

export interface Route {
  readonly path: string
  readonly screen: string
  /** Hidden from tenant tokens. */
  readonly forAll?: boolean
  /** It has a time range; this is the default. */
  readonly range?: string
}

/** A screen that the side navigation lists. */
export interface Place extends Route {
  readonly text: string
  readonly icon: IconName
  /** The key that opens it after `g`. */
  readonly key?: string
  readonly admin?: boolean
}

/** The entries of the side navigation, in order. */
const PLACES: readonly { readonly group?: string; readonly places: readonly Place[] }[] = [
  {
    places: [
      { path: '/', screen: 'overview', text: 'Overview', icon: 'overview', key: 'o', forAll: true, range: '1h' },
      { path: '/queues', screen: 'queues', text: 'Queues', icon: 'queues', key: 'q', forAll: true },
      { path: '/names', screen: 'names', text: 'Job names', icon: 'names', key: 'n', forAll: true, range: '1h' },
      { path: '/jobs', screen: 'jobs', text: 'Jobs', icon: 'jobs', key: 'j', range: 'all' },
      { path: '/dead', screen: 'dead', text: 'Dead letters', icon: 'dead', key: 'd', range: 'all' },
      { path: '/incident', screen: 'incident', text: 'Incident', icon: 'incident', key: 'i', range: '1h' },
      { path: '/redrives', screen: 'redrives', text: 'Redrives', icon: 'redrive', key: 'r' },
      { path: '/schedules', screen: 'schedules', text: 'Schedules', icon: 'schedules', key: 's' },
    ],
  },
  {
    group: 'Configuration',
    places: [
      { path: '/policies', screen: 'policies', text: 'Retry policies', icon: 'policies', key: 'p', forAll: true },
      { path: '/webhooks', screen: 'webhooks', text: 'Webhooks', icon: 'webhooks', key: 'h' },
      {
        path: '/dependencies',
        screen: 'dependencies',
        text: 'Dependencies',
        icon: 'dependencies',
        key: 't',
        forAll: true,
      },
      { path: '/alerts', screen: 'alerts', text: 'Alerts', icon: 'alerts', key: 'a', forAll: true },
    ],
  },
  {
    group: 'Operations',
    places: [
      { path: '/workers', screen: 'workers', text: 'Workers', icon: 'workers', key: 'w', forAll: true },
      { path: '/system', screen: 'system', text: 'System', icon: 'system', key: 'y', forAll: true },
      { path: '/audit', screen: 'audit-log', text: 'Audit log', icon: 'audit', key: 'u', admin: true },
      { path: '/tokens', screen: 'tokens', text: 'Tokens', icon: 'tokens', key: 'k', admin: true },
    ],
  },
]

/** The first route that matches wins. */
export const ROUTES: readonly Route[] = [
  ...PLACES.flatMap(({ places }) => places),
  { path: '/queues/:name', screen: 'queue', forAll: true, range: '1h' },
  { path: '/workers/:id', screen: 'worker', forAll: true },
  { path: '/names/:name', screen: 'name', forAll: true, range: '1h' },
  { path: '/jobs/:id', screen: 'job' },
  { path: '/dead/:fingerprint', screen: 'error-group', range: '2d' },
  { path: '/redrives/:id', screen: 'redrive' },
  { path: '/schedules/new', screen: 'schedule-editor' },
  { path: '/schedules/:id', screen: 'schedule' },
  { path: '/schedules/:id/edit', screen: 'schedule-editor' },
  { path: '/webhooks/:id', screen: 'webhook' },
]

/** The entries that the session may see. */
export function placesFor(isTenant: boolean, isAdmin: boolean): typeof PLACES {
  return PLACES.map(({ places, ...rest }) => ({
    ...rest,
    places: places.filter(place => !(place.forAll && isTenant) && !(place.admin && (!isAdmin || isTenant))),
  })).filter(({ places }) => places.length > 0)
}

/** Whether this entry is open, or a page below it. */
export function isAt(place: string, path: string): boolean {
  return place === '/' ? path === '/' : path === place || path.startsWith(`${place}/`)
}
