/** Every transition of a job in this simulation. The reasons of HTTP jobs are covered by their own tests. */
export const EDGES = [
  'waiting → running',
  'waiting → cancelled',
  'waiting → dead (expired)',
  'running → waiting (retry)',
  'running → waiting (snoozed)',
  'running → waiting (released)',
  'running → waiting (lost)',
  'running → waiting (deferred)',
  'running → waiting (released before start)',
  'running → succeeded',
  'running → cancelled',
  'running → dead (exhausted)',
  'running → dead (permanent)',
  'running → dead (failed)',
  'running → dead (unknown-outcome)',
  'running → dead (poison)',
  'running → dead (expired)',
  'running → dead (too-old)',
  'dead → waiting',
  'cancelled → waiting',
] as const

export type Edge = (typeof EDGES)[number]

/** The events that 500 seeds must contain: a simulation without them proves nothing. */
export const REQUIRED_BY_500 = {
  'answer lost after commit': 200,
  'answer lost after commit: claim': 50,
  'answer lost after commit: settle': 50,
  'answer lost after commit: enqueue': 50,
  'zombie write refused': 100,
  'lease lost': 100,
  'at-most-once lost': 20,
  'suspect run again': 20,
  poison: 5,
  'last attempt lost': 20,
  'lost before begin': 20,
  'call refused': 200,
  'call answered late': 200,
  'call executed twice': 200,
  'process crashed': 100,
  'process paused': 100,
  'process stopped': 100,
  'store away': 50,
  'clock set forward': 50,
  'key enqueued again': 100,
  'key conflict': 10,
  'unique met a live job': 20,
  'handler ignored its abort': 20,
  'effect remembered': 20,
  'effect begun by a lost run': 5,
  'queue paused': 50,
  'died in the middle': 50,
  'circuit opened': 50,
  'circuit closed': 50,
  'probe sent': 50,
  'probe lost with its worker': 5,
  "call beside another tenant's outage": 50,
  'occurrence made a job': 200,
  'occurrence skipped': 20,
  'occurrence missed': 5,
  'scheduler died between occurrence and record': 5,
  'redrive done': 20,
  'redrive stopped': 5,
  'redrive taken over': 5,
  'redriver died in the middle': 5,
  'end told': 200,
  'webhook received': 200,
  'webhook refused': 50,
  'webhook response lost': 20,
  'alert told': 10,
  'a partition took its turn': 200,
  'partition stopped by a dead letter': 5,
  'wait explained': 20,
  'pull worker ran a job': 50,
  'job of a newer version handed back': 20,
} as const

export type Counted = keyof typeof REQUIRED_BY_500

export class Coverage {
  readonly counts = new Map<string, number>()

  count(what: Counted | Edge, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  add(other: Coverage): void {
    for (const [what, count] of other.counts) this.counts.set(what, (this.counts.get(what) ?? 0) + count)
  }
}

/** The events that this many seeds should have reached and did not. */
export function missing(counts: Readonly<Record<string, number>>, seeds: number): string[] {
  const edges = EDGES.map(edge => [edge, 1] as const)
  const counted = Object.entries(REQUIRED_BY_500).map(([what, by500]) => [what, (by500 * seeds) / 500] as const)
  return [...counted, ...edges]
    .filter(([what, least]) => (counts[what] ?? 0) < least)
    .map(([what, least]) => `${what}: ${counts[what] ?? 0}, expected at least ${Math.ceil(least)}`)
}
