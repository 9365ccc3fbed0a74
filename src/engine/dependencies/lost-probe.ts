import { type Dependency, isProbed, type Probe } from '../../core/dependency/dependency.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

/** How long the report of an ended probe may take before the probe counts as lost. */
const REPORT_MS = 2_000

export interface ProbedEntry {
  dependency: Dependency
  /** Since when the run of the circuit's probe is over without a report, on this process's clock. */
  probeOverAt: number | undefined
}

/**
 * The circuit's probe, if its run has ended without a result: the sweeper has taken the job from a dead process, or the
 * process died after it stored the outcome and before it reported to the circuit.
 */
export async function lostProbe(env: Environment, store: Store, entry: ProbedEntry): Promise<Probe | undefined> {
  const { probe } = entry.dependency
  const isOver = probe && isProbed(entry.dependency, env.time.now()) && !(await isRunning(store, probe))
  if (!isOver) {
    entry.probeOverAt = undefined
    return undefined
  }
  const now = env.clock.now()
  entry.probeOverAt ??= now
  // A worker stores the outcome first and reports to the circuit a moment later.
  if (now - entry.probeOverAt < REPORT_MS) return undefined
  entry.probeOverAt = undefined
  return probe
}

async function isRunning(store: Store, { jobId, run }: Probe): Promise<boolean> {
  const job = await store.get(jobId)
  return job?.state === 'running' && (run === undefined || job.run === run)
}
