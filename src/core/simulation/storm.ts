import type { Policy } from '../policy/policy.js'
import { outageSurvived } from '../policy/survival.js'
import { runHerd, type Storm } from './herd.js'
import type { Simulation } from './simulate.js'

/** Simulates a scenario that was read before. Without schemas, so that a thread of the browser need not load them. */
export function simulateStorm(policy: Policy, storm: Storm): Simulation {
  const { jobs, withinMs, outageMs, capacityPerSecond, seed, limits } = storm
  const plain: Policy = { ...policy, jitter: 'none' }
  const [jittered, together] = [runHerd(policy, storm), runHerd(plain, storm)]
  const binMs = Math.max(jittered.recorder.binMs, together.recorder.binMs)
  return {
    scenario: {
      jobs,
      withinMs,
      outageMs,
      seed,
      ...(Number.isFinite(capacityPerSecond) && { capacityPerSecond }),
      ...limits?.given,
    },
    withJitter: {
      outageSurvivedMs: outageSurvived(policy),
      ...jittered.herd,
      series: jittered.recorder.series(binMs),
    },
    withoutJitter: {
      outageSurvivedMs: outageSurvived(plain),
      ...together.herd,
      series: together.recorder.series(binMs),
    },
  }
}
