import type { Chronos, IntegrityReport } from '../../../src/index.js'
import type { Verdict } from '../verdict.js'

const EXAMPLES_MAX = 3

/** Runs the integrity check after the faults, when every job has ended. */
export async function checkIntegrity(chronos: Chronos, verdict: Verdict): Promise<void> {
  const report = await chronos.verify()
  verdict.expect(report.isSound, 'the integrity check is sound', () => shortly(flawsOf(report)))
}

/** Runs the integrity check while processes are killed or frozen. */
export async function checkIntegrityUnderFaults(chronos: Chronos, verdict: Verdict): Promise<void> {
  const flaws = flawsUnderFaults(await chronos.verify())
  verdict.expect(flaws.length === 0, 'the integrity check is sound', () => shortly(flaws))
}

type Report = Pick<IntegrityReport, 'queues' | 'findings'>

/** A line for each queue that is not balanced and for each finding. */
export function flawsOf({ queues, findings }: Report): readonly string[] {
  const lost = queues.flatMap(({ queue, isBalanced, problem }) => (isBalanced ? [] : [`queue ${queue}: ${problem}`]))
  return [...lost, ...findings.map(({ jobId, what, detail }) => `${what} of ${jobId}: ${detail}`)]
}

/** How soon an expired lease is recovered depends on the machine; whether it is recovered is judged at the end. */
export function flawsUnderFaults({ queues, findings }: Report): readonly string[] {
  return flawsOf({ queues, findings: findings.filter(({ what }) => what !== 'lease-expired') })
}

export function shortly(flaws: readonly string[]): string {
  const more = flaws.length > EXAMPLES_MAX ? `; and ${flaws.length - EXAMPLES_MAX} more` : ''
  return flaws.slice(0, EXAMPLES_MAX).join('; ') + more
}
