import type { Chance } from './chance.js'
import type { JobPlan, Mood, RetryPlan, Step } from './plan.js'

/** What a seed has besides jobs, workers and clients. Most seeds have some of it; some seeds have none. */
export interface Features {
  /** The tenants that share the store; without any, no job has one. */
  readonly tenants: readonly string[]
  readonly services: readonly ServicePlan[]
  readonly schedules: readonly SchedulePlan[]
  readonly endpoints: readonly EndpointPlan[]
  readonly pullers: readonly PullerPlan[]
  readonly alerts: boolean
}

/** A time during which something is down, from the start of the seed. */
export interface Window {
  readonly from: number
  readonly until: number
}

/** The other side of calls: each tenant reaches its own. */
export interface ServicePlan {
  readonly key: string
  /** By tenant; '' is for jobs without one. */
  readonly downs: Readonly<Record<string, readonly Window[]>>
  /** It also refuses with this `Retry-After`, in seconds. */
  readonly retryAfterS?: number
}

export interface SchedulePlan {
  readonly id: string
  readonly everyMs: number
  /** From the start of the seed. */
  readonly startMs: number
  readonly endMs: number
  readonly overlap: 'allow' | 'skip' | 'queue'
  readonly missed: 'run-once' | 'skip' | { readonly all: number }
  readonly tenantId?: string
  readonly ref: number
}

export interface EndpointPlan {
  readonly url: string
  readonly events: readonly EndpointEvent[]
  readonly tenantId?: string
  readonly downs: readonly Window[]
  /** The share of requests that are received and whose response is lost. */
  readonly lost: number
  readonly slowMs: number
  readonly hasCircuit: boolean
}

export type EndpointEvent = 'job.succeeded' | 'job.dead' | 'job.cancelled' | 'job.retrying' | 'alert.firing'

export interface PullerPlan {
  readonly leaseMs: number
  readonly limit: number
  readonly waitMs: number
}

const NO_FEATURES: Features = {
  tenants: [],
  services: [],
  schedules: [],
  endpoints: [],
  pullers: [],
  alerts: false,
}

interface Planned {
  readonly features: Features
  readonly jobs: readonly JobPlan[]
  readonly script: readonly Step[]
}

export const NO_MORE: Planned = { features: NO_FEATURES, jobs: [], script: [] }

interface Scene {
  readonly chance: Chance
  readonly mood: Mood
  readonly leaseMs: number
  readonly faultMs: number
  readonly clients: number
  /** The first free number of a job. */
  readonly firstRef: number
}

/** The jobs of features come after the others, so that a seed without features stays as it is. */
export function planFeatures(scene: Scene): Planned {
  const { chance } = scene
  const jobs: JobPlan[] = []
  const script: Step[] = []
  const tenants = chance.is(0.5) ? ['acme', 'beta'] : []
  const draft: Draft = { ...scene, tenants, jobs, script }
  const services = chance.is(0.55) ? planServices(draft) : []
  const schedules = chance.is(0.4) ? planSchedules(draft) : []
  const endpoints = chance.is(0.35) ? planEndpoints(draft) : []
  const pullers = chance.is(0.3) ? planPullers(draft) : []
  if (chance.is(0.25)) planFuture(draft)
  if (chance.is(0.45)) planRedrives(draft)
  if (chance.is(0.4)) planLooks(draft)
  const alerts = chance.is(0.25)
  return { features: { tenants, services, schedules, endpoints, pullers, alerts }, jobs, script }
}

interface Draft extends Scene {
  readonly tenants: readonly string[]
  readonly jobs: JobPlan[]
  readonly script: Step[]
}

const PLAIN = { queue: 'default', logs: 0, delivery: 'at-least-once', priority: 5, delayMs: 0 } as const

function addJob({ jobs, firstRef }: Draft, plan: Omit<JobPlan, 'ref' | keyof typeof PLAIN> & Partial<JobPlan>): number {
  const ref = firstRef + jobs.length
  jobs.push({ ...PLAIN, ...plan, ref })
  return ref
}

function enqueueLater(draft: Draft, ref: number, at: number): void {
  const { chance, clients, script } = draft
  script.push({ at: Math.floor(at), client: chance.between(0, clients - 1), act: 'enqueue', refs: [ref] })
}

const tenantOf = ({ chance, tenants }: Draft): { readonly tenantId?: string } =>
  tenants.length === 0 || chance.is(0.1) ? {} : { tenantId: chance.pick(tenants) }

function windows(chance: Chance, untilMs: number): Window[] {
  return Array.from({ length: chance.between(1, 2) }, () => {
    const from = chance.between(0, untilMs * 0.6)
    return { from, until: from + chance.between(2_000, Math.max(4_000, untilMs * 0.5)) }
  })
}

/** Long enough for a circuit to open, to be probed in vain, and to be probed again. */
function outage(chance: Chance, untilMs: number): Window {
  return { from: Math.floor(chance.share(0, 0.2) * untilMs), until: Math.floor(chance.share(0.5, 0.9) * untilMs) }
}

// ---------------------------------------------------------------- calls to services, with circuits and budgets

function planServices(draft: Draft): ServicePlan[] {
  const { chance, tenants, faultMs } = draft
  const callers = tenants.length > 0 ? [...tenants, ''] : ['']
  // The last tenant's service is always up: nothing that happens to the others may delay it.
  const failing = callers.filter(caller => caller !== tenants.at(-1) && (caller !== '' || tenants.length === 0))
  const service: ServicePlan = {
    key: 'api.example',
    downs: Object.fromEntries(failing.map(caller => [caller, [outage(chance, faultMs)]])),
    ...(chance.is(0.3) && { retryAfterS: chance.between(1, 5) }),
  }
  const retry = planCircuit(chance)
  for (let count = chance.between(10, 20); count > 0; count--) {
    const ref = addJob(draft, {
      name: 'call',
      behaviour: { does: 'call', ms: chance.between(0, 800), service: 0, kills: chance.is(0.3) },
      override: retry,
      ...tenantOf(draft),
      delivery: chance.is(0.1) ? 'at-most-once' : 'at-least-once',
      dependsOn: service.key,
    })
    enqueueLater(draft, ref, chance.share(0.05, 0.7) * faultMs)
  }
  return [service]
}

function planCircuit(chance: Chance): RetryPlan {
  return {
    maxRetries: chance.pick([1, 2, 3, 5]),
    jitter: 'none',
    backoff: { type: 'fixed', delay: chance.between(200, 1_500) },
    circuit: {
      window: 10_000,
      minimumCalls: chance.pick([1, 2, 2]),
      failureRate: 0.5,
      openFor: chance.between(500, 3_000),
      openMax: 8_000,
      ramp: { perSecond: chance.pick([2, 5, 20]), doubleEvery: 1_000 },
    },
    ...(chance.is(0.4) && { budget: { ratio: 0.2, minPerSecond: chance.pick([0.5, 1, 2]) } }),
  }
}

// ---------------------------------------------------------------- schedules

function planSchedules(draft: Draft): SchedulePlan[] {
  const { chance, faultMs, leaseMs } = draft
  return Array.from({ length: chance.between(1, 3) }, (_, index) => {
    const everyMs = chance.between(2, 8) * 1_000
    const overlap = chance.pick(['allow', 'allow', 'skip', 'queue'] as const)
    const ref = addJob(draft, {
      name: 'quick',
      behaviour: chance.is(0.6)
        ? { does: 'succeed', ms: chance.between(0, 1.5 * everyMs) }
        : { does: 'fail', ms: chance.between(0, 400), times: chance.between(1, 2) },
      ...tenantOf(draft),
    })
    const { tenantId } = draft.jobs.at(-1)!
    const startMs = chance.between(1_000, 5_000)
    return {
      id: `schedule-${index}`,
      everyMs,
      startMs,
      endMs: Math.min(startMs + 15 * everyMs, faultMs + chance.between(0, leaseMs)),
      overlap,
      missed: chance.pick(['run-once', 'skip', { all: 100 }, { all: 2 }] as const),
      ref,
      ...(tenantId !== undefined && { tenantId }),
    }
  })
}

// ---------------------------------------------------------------- webhooks

function planEndpoints(draft: Draft): EndpointPlan[] {
  const { chance, tenants, faultMs } = draft
  return Array.from({ length: chance.between(1, 2) }, (_, index) => ({
    url: `https://hooks.example/${index}`,
    events: chance.pick<readonly EndpointEvent[]>([
      ['job.dead'],
      ['job.dead', 'job.cancelled', 'alert.firing'],
      ['job.succeeded', 'job.dead', 'job.cancelled'],
      ['job.retrying', 'job.dead', 'alert.firing'],
    ]),
    ...(tenants.length > 0 && chance.is(0.5) && { tenantId: chance.pick(tenants) }),
    downs: chance.is(0.6) ? windows(chance, faultMs) : [],
    lost: chance.is(0.5) ? chance.share(0.05, 0.3) : 0,
    slowMs: chance.is(0.3) ? chance.between(1, 20_000) : chance.between(0, 300),
    hasCircuit: chance.is(0.4),
  }))
}

// ---------------------------------------------------------------- pull workers

function planPullers(draft: Draft): PullerPlan[] {
  const { chance, leaseMs, faultMs } = draft
  for (let count = chance.between(6, 14); count > 0; count--) {
    const roll = chance.between(1, 100)
    const ms = chance.is(0.7) ? chance.between(0, 1_500) : chance.between(leaseMs / 2, 2 * leaseMs)
    const times = chance.between(1, 3)
    const ref = addJob(draft, {
      name: 'pulled',
      queue: 'pull',
      behaviour:
        roll <= 45
          ? { does: 'succeed', ms }
          : roll <= 70
            ? { does: 'fail', ms, times }
            : roll <= 80
              ? { does: 'snooze', ms, times, delayMs: chance.between(0, 2_000) }
              : roll <= 90
                ? { does: 'give up', ms, times: chance.pick([1, 1_000]) }
                : { does: 'kill', ms, times },
      override: { maxRetries: chance.pick([1, 2, 3]), jitter: 'none', backoff: { type: 'fixed', delay: 300 } },
      delivery: chance.is(0.2) ? 'at-most-once' : 'at-least-once',
      ...tenantOf(draft),
    })
    enqueueLater(draft, ref, chance.share(0, 0.8) * faultMs)
  }
  return Array.from({ length: chance.between(1, 2) }, () => ({
    leaseMs,
    limit: chance.pick([1, 1, 3]),
    waitMs: chance.pick([0, 0, 2_000]),
  }))
}

// ---------------------------------------------------------------- jobs of a newer version

function planFuture(draft: Draft): void {
  const { chance, faultMs } = draft
  for (let count = chance.between(3, 8); count > 0; count--) {
    const ref = addJob(draft, {
      name: chance.pick(['quick', 'spread', 'charge'] as const),
      behaviour: chance.is(0.7)
        ? { does: 'succeed', ms: chance.between(0, 1_000) }
        : { does: 'fail', ms: 0, times: chance.between(1, 2) },
      future: chance.pick(['payload', 'policy'] as const),
      ...tenantOf(draft),
    })
    const plan = draft.jobs.at(-1)!
    if (plan.name === 'charge') draft.jobs[draft.jobs.length - 1] = { ...plan, delivery: 'at-most-once' }
    enqueueLater(draft, ref, chance.share(0, 0.8) * faultMs)
  }
}

// ---------------------------------------------------------------- what operators do

function planRedrives({ chance, script, faultMs, clients }: Draft): void {
  for (let count = chance.between(1, 3); count > 0; count--) {
    script.push({
      at: Math.floor(chance.share(0.3, 1.1) * faultMs),
      client: chance.between(0, clients - 1),
      act: 'redrive',
      canary: chance.pick([0, 1, 2, 3]),
      rate: chance.pick([2, 5, 20]),
      stopWhenFailing: chance.pick([0.2, 0.5, 1]),
      force: chance.is(0.2),
    })
  }
}

function planLooks({ chance, script, faultMs, clients }: Draft): void {
  for (let count = chance.between(3, 10); count > 0; count--) {
    const client = chance.between(0, clients - 1)
    script.push({ at: chance.between(0, faultMs), client, act: chance.is(0.5) ? 'explain' : 'edit' })
  }
}
