import type { QueueLimits } from '../../../src/core/partition/limits.js'
import { Chance } from './chance.js'
import type { Behaviour, JobPlan, Step } from './plan.js'

/** The queue whose partitions have limits, in the seeds that have one. */
export const LIMITED = 'limited'

export interface LimitsPlan {
  readonly limits: QueueLimits
  readonly jobs: readonly JobPlan[]
  readonly script: readonly Step[]
}

interface Scene {
  readonly seed: number
  readonly leaseMs: number
  readonly faultMs: number
  readonly clients: number
  readonly firstRef: number
}

/** The seeds that have limits, by their remainder: few of those that are known to catch a mutant. */
const EVERY = 13
const WITH_LIMITS: ReadonlySet<number> = new Set([1, 5, 6, 11])

/** The jobs come after all others, so that the other seeds stay as they are. */
export function planLimits(scene: Scene): LimitsPlan | undefined {
  if (!WITH_LIMITS.has(scene.seed % EVERY)) return undefined
  const chance = new Chance(scene.seed, 12)
  const partitions = ['a', 'b', 'c'].slice(0, chance.between(1, 3))
  const jobs: JobPlan[] = []
  const script: Step[] = []
  for (let count = chance.between(8, 20); count > 0; count--) {
    const ref = scene.firstRef + jobs.length
    jobs.push({
      ref,
      name: chance.pick(['quick', 'spread', 'charge'] as const),
      queue: LIMITED,
      behaviour: planBehaviour(chance, scene.leaseMs),
      logs: 0,
      delivery: 'at-least-once',
      priority: chance.is(0.7) ? 5 : chance.between(0, 9),
      delayMs: chance.is(0.8) ? 0 : chance.between(1, 5_000),
      ...(chance.is(0.1) && { deadlineMs: chance.between(500, 12_000) }),
      partition: chance.pick(partitions),
    })
    const last = jobs.at(-1)!
    if (last.name === 'charge') jobs[jobs.length - 1] = { ...last, delivery: 'at-most-once' }
    const at = Math.floor(chance.share(0, 0.6) * scene.faultMs)
    script.push({ at, client: chance.between(0, scene.clients - 1), act: 'enqueue', refs: [ref] })
  }
  return { limits: planQueue(chance), jobs, script }
}

function planQueue(chance: Chance): QueueLimits {
  const limit = chance.is(0.4) ? { limit: { concurrency: chance.between(1, 4) } } : {}
  const from = 'operator'
  const roll = chance.between(1, 100)
  if (roll <= 30) return { ...limit, from, partitions: { concurrency: chance.between(1, 3) } }
  if (roll <= 55) return { ...limit, from, partitions: { order: 'fifo', onDead: chance.pick(['stop', 'continue']) } }
  if (roll <= 80)
    return { ...limit, from, partitions: { rate: chance.pick(['1/s', '2/s', '30/m']), burst: chance.between(1, 3) } }
  if (roll <= 90) return { ...limit, from, partitions: { fair: true } }
  return { limit: { rate: '2/s', burst: 2 }, from }
}

function planBehaviour(chance: Chance, leaseMs: number): Behaviour {
  const ms = chance.is(0.8) ? chance.between(1, 1_500) : chance.between(1, 1.5 * leaseMs)
  const times = chance.between(1, 3)
  const roll = chance.between(1, 100)
  if (roll <= 45) return { does: 'succeed', ms }
  if (roll <= 65) return { does: 'fail', ms, times }
  if (roll <= 72) return { does: 'give up', ms, times: 1_000 }
  if (roll <= 82) return { does: 'snooze', ms, times, delayMs: chance.between(0, 2_000) }
  if (roll <= 90) return { does: 'ignore abort', ms: chance.between(leaseMs, 2 * leaseMs) }
  return { does: 'kill', ms, times }
}
