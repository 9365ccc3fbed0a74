import type { BudgetOptions, CircuitOptions } from '../../../src/core/dependency/settings.js'
import type { Delivery } from '../../../src/core/job/job.js'
import type { QueueLimits } from '../../../src/core/partition/limits.js'
import { Chance } from './chance.js'
import { type Features, NO_MORE, planFeatures } from './features.js'
import { type LIMITED, planLimits } from './limits.js'

/** Everything about a seed that is decided in advance. */
export interface Plan {
  readonly seed: number
  readonly mood: Mood
  /** One connection for all processes, or on a file one for each. */
  readonly store: 'memory' | 'sqlite' | 'sqlite file'
  /** Workers may have two pending claims, and claim as part of an enqueue. */
  readonly commitsAlone: boolean
  readonly leaseMs: number
  /** How long faults continue before everything heals. */
  readonly faultMs: number
  readonly swarm: Swarm
  readonly workers: readonly WorkerPlan[]
  readonly clients: number
  readonly jobs: readonly JobPlan[]
  readonly script: readonly Step[]
  readonly chaos: readonly Chaos[]
  readonly features: Features
  readonly limits?: QueueLimits
}

/**
 * Most seeds are wild: any fault may meet any other. In some, a promise can be checked exactly, because only whole
 * processes fail, or only those and the store for all processes at once. Some test one thing only: processes that pause
 * until others take over, and then resume.
 */
export type Mood = 'wild' | 'crashes' | 'outages' | 'zombies'

/** The probability that each call is disturbed; 0 for a class of faults that is off in a seed. */
export interface Swarm {
  readonly refused: number
  readonly lost: number
  readonly slow: number
  /** The race that matters lies between a sweeper's read and its write. */
  readonly slowSweeps: number
  readonly twice: number
  /** An error that the engine does not know. */
  readonly strange: number
  readonly latencyMs: number
  readonly skewed: boolean
  /** Lost responses have a cause: the probability that one is the first symptom of a store outage, … */
  readonly lossIsOutage: number
  /** … or of a process that is told to stop. */
  readonly lossIsStop: number
  /** The probability that a process dies with a call of its own under way, in the middle of something. */
  readonly dies: number
}

export interface WorkerPlan {
  readonly concurrency: number
  readonly leaseMs: number
  readonly pollMs: number
  readonly graceMs: number
  /** It does not know this job until everything heals, as in a rolling deploy. */
  readonly unknown?: JobName
  /** It runs an older version until everything heals. */
  readonly isOld?: true
}

export const JOB_NAMES = ['quick', 'spread', 'listed', 'charge'] as const
/** `call` has a dependency; `pulled` is for workers in another language. */
export type JobName = (typeof JOB_NAMES)[number] | 'call' | 'pulled'
export const QUEUES = ['default', 'mail'] as const
export type QueueName = (typeof QUEUES)[number] | 'pull' | typeof LIMITED

export interface RetryPlan {
  readonly maxRetries: number
  readonly backoff:
    | { readonly type: 'fixed'; readonly delay: number }
    | { readonly type: 'exponential'; readonly base: number; readonly factor: number }
    | { readonly type: 'list'; readonly delays: readonly number[] }
  readonly jitter: 'none' | 'full' | 'equal' | number
  readonly cap?: number
  readonly crashes?: 'forgive'
  readonly circuit?: CircuitOptions
  readonly budget?: BudgetOptions
}

/** The settings in the definitions of every worker. */
export const DEFINED: Readonly<Record<JobName, RetryPlan>> = {
  quick: { maxRetries: 3, backoff: { type: 'fixed', delay: 400 }, jitter: 'none' },
  spread: { maxRetries: 2, backoff: { type: 'exponential', base: 700, factor: 3 }, jitter: 0.3, cap: 5_000 },
  listed: { maxRetries: 2, backoff: { type: 'list', delays: [50, 2_500] }, jitter: 'full', crashes: 'forgive' },
  charge: { maxRetries: 3, backoff: { type: 'fixed', delay: 300 }, jitter: 'none' },
  call: { maxRetries: 3, backoff: { type: 'fixed', delay: 400 }, jitter: 'none' },
  pulled: { maxRetries: 3, backoff: { type: 'fixed', delay: 300 }, jitter: 'none' },
}

/** The policy of a job: no plan overrides how its definition treats crashes. */
export function policyOf({ name, override }: Pick<JobPlan, 'name' | 'override'>): RetryPlan {
  const { crashes } = DEFINED[name]
  return { ...(override ?? DEFINED[name]), ...(crashes && { crashes }) }
}

export type Behaviour =
  | { readonly does: 'succeed'; readonly ms: number }
  | { readonly does: 'fail'; readonly ms: number; readonly times: number }
  | { readonly does: 'give up'; readonly ms: number; readonly times: number }
  | { readonly does: 'snooze'; readonly ms: number; readonly times: number; readonly delayMs: number }
  | { readonly does: 'overrun'; readonly times: number }
  | { readonly does: 'ignore abort'; readonly ms: number }
  | { readonly does: 'charge once'; readonly ms: number; readonly times: number }
  | { readonly does: 'kill'; readonly ms: number; readonly times: number }
  /** Calls a service, which may be down; `kills`: the probe of its circuit kills its process once. */
  | { readonly does: 'call'; readonly ms: number; readonly service: number; readonly kills: boolean }

export interface JobPlan {
  /** Its number in this seed, by which handlers find their instructions. */
  readonly ref: number
  readonly name: JobName
  readonly queue: QueueName
  readonly behaviour: Behaviour
  readonly logs: number
  readonly delivery: Delivery
  readonly override?: RetryPlan
  readonly maxElapsedMs?: number
  readonly priority: number
  readonly delayMs: number
  readonly deadlineMs?: number
  readonly timeoutMs?: number
  readonly key?: string
  readonly unique?: string
  readonly tenantId?: string
  readonly partition?: string
  readonly dependsOn?: string
  /** Enqueued by a newer version, in a way that the old one does not understand. */
  readonly future?: 'payload' | 'policy'
}

export type Step =
  | { readonly at: number; readonly client: number; readonly act: 'enqueue'; readonly refs: readonly number[] }
  /** Another payload under the key of this job. */
  | { readonly at: number; readonly client: number; readonly act: 'enqueue otherwise'; readonly ref: number }
  | {
      readonly at: number
      readonly client: number
      readonly act: 'cancel' | 'run now' | 'reschedule' | 'retry' | 'edit'
    }
  | { readonly at: number; readonly client: number; readonly act: 'explain' }
  | {
      readonly at: number
      readonly client: number
      readonly act: 'redrive'
      readonly canary: number
      readonly rate: number
      readonly stopWhenFailing: number
      readonly force: boolean
    }
  | {
      readonly at: number
      readonly client: number
      readonly act: 'pause queue' | 'resume queue'
      readonly queue: (typeof QUEUES)[number]
    }

export interface Chaos {
  readonly at: number
  readonly kind: 'crash' | 'pause' | 'stop' | 'outage' | 'jump'
  readonly ms: number
}

/** Every tenth seed from this one on has the mood. */
export const FIRST_SEED_OF = { crashes: 4, zombies: 7, outages: 9 } as const
export const MOOD_EVERY = 10
const FEATURED_JOBS = 12
const LEASES_MS = [1_000, 1_500, 2_000, 3_000, 5_000, 5_000, 10_000, 30_000]

export function planOf(seed: number): Plan {
  const chance = new Chance(seed, 0)
  const moods = Object.keys(FIRST_SEED_OF) as (keyof typeof FIRST_SEED_OF)[]
  const mood: Mood = moods.find(one => seed % MOOD_EVERY === FIRST_SEED_OF[one]) ?? 'wild'
  const leaseMs = chance.pick(LEASES_MS)
  const faultMs = chance.between(10, 30) * 1_000 + 3 * leaseMs
  const clients = chance.between(1, 2)
  const planned = planJobs(new Chance(seed, 1), mood, leaseMs)
  const featured = new Chance(seed, 8)
  // A seed with features has fewer other jobs, so that it takes no longer.
  const own = featured.is(0.3) ? planned : planned.slice(0, FEATURED_JOBS)
  const script = planScript(new Chance(seed, 3), own, clients, faultMs)
  const scene = { chance: featured, mood, leaseMs, faultMs, clients, firstRef: own.length }
  const more = own === planned ? NO_MORE : planFeatures(scene)
  const limited = planLimits({ seed, leaseMs, faultMs, clients, firstRef: own.length + more.jobs.length })
  const jobs = [...own, ...more.jobs, ...(limited?.jobs ?? [])]
  return {
    seed,
    mood,
    store: seed % 2 === 0 ? 'memory' : seed % 8 === 3 ? 'sqlite file' : 'sqlite',
    commitsAlone: seed % 4 === 0,
    leaseMs,
    faultMs,
    swarm: planSwarm(new Chance(seed, 2), mood, leaseMs),
    workers: planWorkers(chance, leaseMs, jobs),
    clients,
    jobs,
    script: [...script, ...more.script, ...(limited?.script ?? [])].sort((a, b) => a.at - b.at),
    chaos: planChaos(new Chance(seed, 4), mood, faultMs, leaseMs),
    features: more.features,
    ...(limited && { limits: limited.limits }),
  }
}

function planSwarm(chance: Chance, mood: Mood, leaseMs: number): Swarm {
  const rate = (to: number): number => (mood === 'wild' && chance.is(0.5) ? chance.share(0.02, to) : 0)
  const strange = mood === 'wild' && chance.is(0.2) ? chance.share(0.03, 0.25) : 0
  return {
    refused: Math.max(strange, rate(chance.is(0.2) ? 0.5 : 0.15)),
    lost: rate(0.2),
    slow: rate(0.1),
    slowSweeps: mood === 'zombies' ? 1 : rate(0.7),
    twice: rate(0.2),
    strange,
    latencyMs: chance.is(0.5) ? 0 : chance.is(0.6) ? chance.between(1, 20) : chance.between(1, leaseMs / 25),
    skewed: chance.is(0.5),
    lossIsOutage: chance.is(0.5) ? 0.1 : 0,
    lossIsStop: chance.is(0.5) ? 0.1 : 0,
    dies: chance.is(0.4) ? chance.share(0.02, 0.2) : 0,
  }
}

function planWorkers(chance: Chance, leaseMs: number, jobs: readonly JobPlan[]): WorkerPlan[] {
  const isRolling = jobs.some(({ future }) => future !== undefined)
  return Array.from({ length: chance.between(2, 4) }, (_, index) => ({
    concurrency: chance.pick([1, 1, 2, 3, 5]),
    leaseMs: chance.is(0.1) ? Math.max(1_000, leaseMs / 2) : leaseMs,
    pollMs: chance.pick([200, 1_000, 1_000, 2_000]),
    graceMs: chance.pick([0, 500, 3_000, 10_000]),
    ...(chance.is(0.15) && { unknown: chance.pick(JOB_NAMES) }),
    ...(isRolling && index % 2 === 0 && { isOld: true as const }),
  }))
}

function planJobs(chance: Chance, mood: Mood, leaseMs: number): JobPlan[] {
  const jobs: JobPlan[] = []
  const count = chance.between(18, 36)
  for (let ref = 0; ref < count; ref++) {
    const name = chance.pick(JOB_NAMES)
    jobs.push({
      ref,
      name,
      queue: chance.is(0.3) ? 'mail' : 'default',
      behaviour: planBehaviour(chance, mood, leaseMs),
      logs: chance.is(0.3) ? chance.between(1, 4) : 0,
      delivery: name === 'charge' || chance.is(0.15) ? 'at-most-once' : 'at-least-once',
      ...(chance.is(0.4) && { override: planRetry(chance) }),
      ...(chance.is(0.1) && { maxElapsedMs: chance.between(500, 6_000) }),
      priority: chance.is(0.6) ? 5 : chance.between(0, 9),
      ...planTimes(chance),
      ...(chance.is(0.3) && { timeoutMs: chance.between(200, 4_000) }),
      ...(chance.is(0.4) ? { key: `key-${ref}` } : chance.is(0.2) ? { unique: 'only one' } : {}),
    })
  }
  return jobs
}

function planTimes(chance: Chance): Pick<JobPlan, 'delayMs' | 'deadlineMs'> {
  const delayMs = chance.is(0.7) ? 0 : chance.between(1, 15_000)
  if (!chance.is(0.25)) return { delayMs }
  // Some have no deadline, and some are due at the last moment.
  return { delayMs, deadlineMs: chance.is(0.5) ? chance.between(200, 12_000) : delayMs + chance.between(1, 150) }
}

function planRetry(chance: Chance): RetryPlan {
  const maxRetries = chance.pick([0, 1, 2, 3, 5])
  const jitter = chance.pick<RetryPlan['jitter']>(['none', 'full', 'equal', 0.2])
  if (chance.is(0.5)) return { maxRetries, jitter, backoff: { type: 'fixed', delay: chance.between(0, 3_000) } }
  const backoff = { type: 'exponential' as const, base: chance.between(1, 1_500), factor: 2 }
  return { maxRetries, jitter, backoff, cap: 4_000 }
}

function planBehaviour(chance: Chance, mood: Mood, leaseMs: number): Behaviour {
  if (mood === 'zombies' && chance.is(0.5)) return { does: 'ignore abort', ms: chance.between(leaseMs, 4 * leaseMs) }
  if ((mood === 'outages' || mood === 'crashes') && chance.is(0.4))
    return { does: 'succeed', ms: chance.between(leaseMs, 4 * leaseMs) }
  const ms = chance.is(0.3) ? 0 : chance.is(0.8) ? chance.between(1, 2_000) : chance.between(1, 2.5 * leaseMs)
  const times = chance.between(1, 3)
  const roll = chance.between(1, 100)
  if (roll <= 30) return { does: 'succeed', ms }
  if (roll <= 50) return { does: 'fail', ms, times }
  if (roll <= 58) return { does: 'fail', ms, times: 1_000 }
  if (roll <= 65) return { does: 'give up', ms, times: chance.pick([1, 1_000]) }
  if (roll <= 73) return { does: 'snooze', ms, times, delayMs: chance.between(0, 4_000) }
  if (roll <= 79) return { does: 'overrun', times }
  if (roll <= 83) return { does: 'ignore abort', ms: chance.between(3_000, 15_000) }
  if (roll <= 92) return { does: 'charge once', ms, times }
  return { does: 'kill', ms, times: leaseMs <= 3_000 && chance.is(0.3) ? 1_000 : times }
}

function planScript(chance: Chance, jobs: readonly JobPlan[], clients: number, faultMs: number): Step[] {
  const script: Step[] = []
  const client = (): number => chance.between(0, clients - 1)
  const left = new Set(jobs)
  for (const job of left) {
    const at = Math.floor(chance.share(0, 1) ** 2 * faultMs * 0.7)
    const { ref, key } = job
    const alike = chance.is(0.15) ? [...left].filter(({ name }) => name === job.name).slice(0, 4) : [job]
    for (const one of alike) left.delete(one)
    script.push({ at, client: client(), act: 'enqueue', refs: alike.map(one => one.ref) })
    if (key === undefined) continue
    // The same key again: at the same moment from the other client, or some time later.
    if (chance.is(0.5)) script.push({ at, client: client(), act: 'enqueue', refs: [ref] })
    if (chance.is(0.3))
      script.push({ at: at + chance.between(1, 9_000), client: client(), act: 'enqueue', refs: [ref] })
    if (chance.is(0.1))
      script.push({ at: at + chance.between(0, 3_000), client: client(), act: 'enqueue otherwise', ref })
  }
  const acts = ['cancel', 'cancel', 'cancel', 'run now', 'reschedule', 'retry', 'retry', 'retry'] as const
  for (let count = chance.between(2, 14); count > 0; count--) {
    script.push({ at: chance.between(0, faultMs), client: client(), act: chance.pick(acts) })
  }
  for (let count = chance.pick([0, 0, 1, 2]); count > 0; count--) {
    const at = chance.between(0, faultMs)
    const queue = chance.pick(QUEUES)
    script.push({ at, client: client(), act: 'pause queue', queue })
    script.push({ at: at + chance.between(1, 10_000), client: client(), act: 'resume queue', queue })
  }
  return script.sort((a, b) => a.at - b.at)
}

const CHAOS_OF: Readonly<Record<Mood, readonly Chaos['kind'][]>> = {
  wild: ['crash', 'pause', 'stop', 'outage', 'jump'],
  crashes: ['crash', 'stop'],
  outages: ['crash', 'stop', 'outage'],
  zombies: ['pause', 'crash'],
}

function planChaos(chance: Chance, mood: Mood, faultMs: number, leaseMs: number): Chaos[] {
  const chaos: Chaos[] = []
  const some = (kind: Chaos['kind'], most: number, ms: () => number): void => {
    if (!CHAOS_OF[mood].includes(kind) || !chance.is(mood === 'wild' ? 0.5 : 0.8)) return
    for (let count = chance.between(1, most); count > 0; count--) {
      chaos.push({ at: chance.between(0, faultMs), kind, ms: ms() })
    }
  }
  some('crash', 4, () => chance.between(0, 15_000))
  // The process pauses for a while, or exactly until its leases expire.
  const nearLease = (): number => Math.round(leaseMs * chance.share(1, mood === 'zombies' ? 1.7 : 2.5))
  some('pause', mood === 'zombies' ? 25 : 4, () => (chance.is(0.5) ? nearLease() : chance.between(5_000, 120_000)))
  some('stop', 4, () => chance.between(0, 5_000))
  some('outage', mood === 'outages' ? 4 : 2, () => (chance.is(0.7) ? nearLease() : chance.between(500, 15_000)))
  some('jump', 2, () => chance.between(1, 600_000))
  return chaos
}
