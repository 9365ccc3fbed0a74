import type { Chronos } from '../../src/index.js'
import { readLedger } from './ledger.js'
import { checkEnqueues } from './promises/enqueues.js'
import { checkEffects, checkMessages, checkOccurrences, checkRedrives } from './promises/features.js'
import { checkIntegrity } from './promises/integrity.js'
import { join } from './promises/joined.js'
import { checkRuns } from './promises/runs.js'
import { tailOf } from './promises/tail.js'
import type { Verdict } from './verdict.js'

/** The judge of every scenario: joins the ledger with the database, after every job has ended. */
export async function check(chronos: Chronos, ledgerPath: string, verdict: Verdict): Promise<void> {
  const ledger = readLedger(ledgerPath)
  const joined = await join(chronos, ledger)
  const isInTail = tailOf(ledger)
  verdict.count('jobs', joined.size)
  const versions = new Set([...ledger.starts.values()].flat().flatMap(({ from = [] }) => from))
  const isMixed = versions.size > 1
  checkEnqueues(ledger, joined, isInTail, verdict)
  for (const [id, one] of joined) {
    if (isInTail(id)) verdict.count('jobs touched in a tail')
    else checkRuns(one, isMixed, verdict)
  }
  checkEffects(ledger, isInTail, verdict)
  checkOccurrences(ledger, joined, verdict)
  checkMessages(ledger, joined, isInTail, verdict)
  checkRedrives(ledger, joined, verdict)
  await checkIntegrity(chronos, verdict)
}
