import { auditCases } from './audit.js'
import { backlogCases } from './backlog.js'
import { Bench, type Open, type Sql } from './bench.js'
import { censusCases } from './census.js'
import { claimCases } from './claim.js'
import { deltaCases } from './deltas.js'
import { dependencyCases } from './dependencies.js'
import { editCases } from './edit.js'
import { effectCases } from './effects.js'
import { enqueueCases } from './enqueue.js'
import { foldCases } from './fold.js'
import { followingCases } from './following.js'
import { groupCases } from './groups.js'
import { heldCases } from './held.js'
import { historyCases } from './history.js'
import { keyCases } from './keys.js'
import { leaseCases } from './lease.js'
import { manualCases } from './manual.js'
import { pruneCases } from './prune.js'
import { queueCases } from './queues.js'
import { readCases } from './read.js'
import { recordCases } from './records.js'
import { redriveCases } from './redrive.js'
import { type Suite, suiteOf, type TestFramework } from './runner.js'
import { scheduleCases } from './schedules.js'
import { searchCases } from './search.js'
import { settleCases } from './settle.js'
import { spawnCases } from './spawn.js'
import { sweepCases } from './sweep.js'
import { timeCases } from './time.js'

export { type Open, type Sql, TestClock } from './bench.js'
export type { Expect, TestFramework } from './runner.js'

const CASES: readonly ((bench: Bench, suite: Suite) => void)[] = [
  enqueueCases,
  keyCases,
  claimCases,
  heldCases,
  leaseCases,
  settleCases,
  historyCases,
  sweepCases,
  manualCases,
  editCases,
  readCases,
  searchCases,
  censusCases,
  backlogCases,
  effectCases,
  queueCases,
  pruneCases,
  timeCases,
  dependencyCases,
  groupCases,
  redriveCases,
  spawnCases,
  followingCases,
  scheduleCases,
  recordCases,
  deltaCases,
  foldCases,
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
