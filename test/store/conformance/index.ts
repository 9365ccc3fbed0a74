import { Bench, type Open, type Sql } from './bench.js'
import { batchCases } from './life/batch.js'
import { claimCases } from './life/claim.js'
import { dependencyCases } from './life/dependencies.js'
import { editCases } from './life/edit.js'
import { effectCases } from './life/effects.js'
import { enqueueCases } from './life/enqueue.js'
import { followingCases } from './life/following.js'
import { heldCases } from './life/held.js'
import { keyCases } from './life/keys.js'
import { leaseCases } from './life/lease.js'
import { manualCases } from './life/manual.js'
import { partitionCases } from './life/partitions.js'
import { redriveCases } from './life/redrive.js'
import { scheduleCases } from './life/schedules.js'
import { settleCases } from './life/settle.js'
import { spawnCases } from './life/spawn.js'
import { sweepCases } from './life/sweep.js'
import { timeCases } from './life/time.js'
import { uniqueCases } from './life/unique.js'
import { backlogCases } from './reads/backlog.js'
import { censusCases } from './reads/census.js'
import { groupCases } from './reads/groups.js'
import { historyCases } from './reads/history.js'
import { queueCases } from './reads/queues.js'
import { readCases } from './reads/read.js'
import { searchCases } from './reads/search.js'
import { waitingCases } from './reads/waiting.js'
import { type Suite, suiteOf, type TestFramework } from './runner.js'
import { auditCases } from './upkeep/audit.js'
import { deltaCases } from './upkeep/deltas.js'
import { foldCases } from './upkeep/fold.js'
import { pruneCases } from './upkeep/prune.js'
import { recordCases } from './upkeep/records.js'
import { timingCases } from './upkeep/timings.js'

export { type Open, type Sql, TestClock } from './bench.js'
export type { Expect, TestFramework } from './runner.js'

const CASES: readonly ((bench: Bench, suite: Suite) => void)[] = [
  enqueueCases,
  keyCases,
  uniqueCases,
  claimCases,
  heldCases,
  leaseCases,
  settleCases,
  batchCases,
  historyCases,
  sweepCases,
  manualCases,
  editCases,
  readCases,
  searchCases,
  censusCases,
  waitingCases,
  backlogCases,
  effectCases,
  queueCases,
  pruneCases,
  timeCases,
  dependencyCases,
  groupCases,
  redriveCases,
  partitionCases,
  spawnCases,
  followingCases,
  scheduleCases,
  recordCases,
  deltaCases,
  foldCases,
  timingCases,
  auditCases,
]

/** The promises of every store, as tests of your test framework. `open` returns a new, empty store on the given clock. */
export function conformance(framework: TestFramework, name: string, open: Open, sql?: Sql): void {
  framework.describe(name, () => {
    const bench = new Bench(open, sql)
    framework.beforeEach(() => bench.open())
    framework.afterEach(() => bench.close())
    const suite = suiteOf(framework)
    for (const cases of CASES) cases(bench, suite)
  })
}
