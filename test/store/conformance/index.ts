import { afterEach, beforeEach, describe } from 'vitest'
import { Bench, type Open } from './bench.js'
import { claimCases } from './claim.js'
import { effectCases } from './effects.js'
import { enqueueCases } from './enqueue.js'
import { historyCases } from './history.js'
import { keyCases } from './keys.js'
import { leaseCases } from './lease.js'
import { manualCases } from './manual.js'
import { pruneCases } from './prune.js'
import { queueCases } from './queues.js'
import { readCases } from './read.js'
import { settleCases } from './settle.js'
import { sweepCases } from './sweep.js'
import { timeCases } from './time.js'

/** What every store promises. A store's own test file only says how to open it. */
export function conformance(name: string, open: Open): void {
  describe(name, () => {
    const bench = new Bench(open)
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
    readCases(bench)
    effectCases(bench)
    queueCases(bench)
    pruneCases(bench)
    timeCases(bench)
  })
}
