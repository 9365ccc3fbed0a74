import { afterEach, beforeEach, describe } from 'vitest'
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
import { historyCases } from './history.js'
import { keyCases } from './keys.js'
import { leaseCases } from './lease.js'
import { manualCases } from './manual.js'
import { pruneCases } from './prune.js'
import { queueCases } from './queues.js'
import { readCases } from './read.js'
import { recordCases } from './records.js'
import { redriveCases } from './redrive.js'
import { scheduleCases } from './schedules.js'
import { searchCases } from './search.js'
import { settleCases } from './settle.js'
import { spawnCases } from './spawn.js'
import { sweepCases } from './sweep.js'
import { timeCases } from './time.js'

/** What every store promises. A store's own test file only says how to open it. */
export function conformance(name: string, open: Open, sql?: Sql): void {
  describe(name, () => {
    const bench = new Bench(open, sql)
    beforeEach(() => bench.open())
    afterEach(() => bench.close())

    enqueueCases(bench)
    keyCases(bench)
    claimCases(bench)
    leaseCases(bench)
    settleCases(bench)
    historyCases(bench)
    sweepCases(bench)
    manualCases(bench)
    editCases(bench)
    readCases(bench)
    searchCases(bench)
    censusCases(bench)
    backlogCases(bench)
    effectCases(bench)
    queueCases(bench)
    pruneCases(bench)
    timeCases(bench)
    dependencyCases(bench)
    groupCases(bench)
    redriveCases(bench)
    spawnCases(bench)
    followingCases(bench)
    scheduleCases(bench)
    recordCases(bench)
    deltaCases(bench)
    foldCases(bench)
    auditCases(bench)
  })
}
