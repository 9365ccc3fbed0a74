import { type JobQuery, type RedriveFilter, redriveFilterWords } from '../core/job/filter.js'
import { countText } from '../core/values/number.js'

// The words of the audit log about a change, from its facts: the names in its path, and what its handler noted.

export type Facts = Readonly<Record<string, unknown>>

/** `17 jobs` */
export function counted({ count }: Facts, noun: string, nouns = `${noun}s`): string {
  return `${countText(Number(count))} ${count === 1 ? noun : nouns}`
}

/** `17 dead letters (error group 3f…, tenant acme)` */
export function chosen(facts: Facts, noun: string): string {
  const { q, ...filter } = facts['filter'] as JobQuery
  const isAll = q === undefined && Object.keys(filter).length === 0
  const words = redriveFilterWords({ ...filter, text: q } as RedriveFilter, String)
  return `${counted(facts, noun)} (${isAll ? 'all' : words})`
}

/** The job or the schedule that an id stood for. */
export function subject({ id, scheduleId }: Facts): string {
  return scheduleId === undefined ? `job ${id}` : `schedule ${scheduleId}`
}

export function tenantWords({ tenantId }: Facts): string {
  return tenantId === undefined ? '' : ` of tenant ${tenantId}`
}

/** `silenced alert queue-age (queue=mail) for 1h` */
export function silenced({ rule = 'of every rule', labels = {}, for: duration, until }: Facts): string {
  const pairs = Object.entries(labels as object).map(([label, value]) => `${label}=${value}`)
  const which = pairs.length === 0 ? '' : ` (${pairs.join(', ')})`
  return `silenced alert ${rule}${which} ${duration === undefined ? `until ${until}` : `for ${duration}`}`
}
