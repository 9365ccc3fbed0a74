import type { ErrorGroup, GroupState } from '../../store/fold.js'

/** An error over all tenants; the store keeps a group for each. */
export interface RolledUp extends ErrorGroup {
  /** Absent if no job has a tenant. */
  readonly tenants?: readonly ErrorGroup[]
}

const PLACES_MAX = 10
const SAMPLES_MAX = 5
const TREND_HOURS = 48

/** Rolls up the groups of each fingerprint. */
export function rollUpAll(groups: readonly ErrorGroup[]): RolledUp[] {
  const byError = new Map<string, ErrorGroup[]>()
  for (const group of groups) {
    const same = byError.get(group.fingerprint)
    if (same) same.push(group)
    else byError.set(group.fingerprint, [group])
  }
  return [...byError.values()].map(rollUp)
}

/** Rolls up groups of one fingerprint. */
export function rollUp(groups: readonly ErrorGroup[]): RolledUp {
  const { tenantId: _, ...latest } = groups.reduce((a, b) => (b.lastSeen > a.lastSeen ? b : a))
  const sum = (what: 'failures' | 'deaths' | 'dead'): number => groups.reduce((total, group) => total + group[what], 0)
  const all = (what: 'names' | 'queues' | 'samples'): string[] => [...new Set(groups.flatMap(group => group[what]))]
  const isShared = groups.some(({ tenantId }) => tenantId !== undefined)
  return {
    ...latest,
    names: all('names').slice(0, PLACES_MAX),
    queues: all('queues').slice(0, PLACES_MAX),
    failures: sum('failures'),
    deaths: sum('deaths'),
    dead: sum('dead'),
    firstSeen: Math.min(...groups.map(({ firstSeen }) => firstSeen)),
    trend: trendOf(groups),
    // Ids of jobs sort by time.
    samples: all('samples').sort().reverse().slice(0, SAMPLES_MAX),
    state: stateOf(groups),
    ...(isShared && { tenants: groups.toSorted((a, b) => b.dead - a.dead || b.lastSeen - a.lastSeen) }),
  }
}

function trendOf(groups: readonly ErrorGroup[]): ErrorGroup['trend'] {
  const sums = new Map<string, number>()
  for (const { trend } of groups) {
    for (const [hour, failures] of Object.entries(trend)) sums.set(hour, (sums.get(hour) ?? 0) + failures)
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => Number(b) - Number(a)).slice(0, TREND_HOURS))
}

/** The state that needs most attention comes first. */
const URGENCY = ['regressed', 'open', 'resolved', 'ignored'] as const satisfies readonly GroupState[]

/** A decision for all tenants holds for those in which the error occurs later. */
function stateOf(groups: readonly ErrorGroup[]): GroupState {
  const decision = groups.filter(({ isForAll }) => isForAll).sort((a, b) => b.stateAt - a.stateAt)[0]
  const states = groups.map(({ state, firstSeen }) => {
    if (!decision || state !== 'open' || firstSeen < decision.stateAt) return state
    return decision.state === 'resolved' ? 'regressed' : decision.state
  })
  return URGENCY.find(state => states.includes(state))!
}
