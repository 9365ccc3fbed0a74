import { Cluster, type Replication } from '../cluster.js'
import { LOAD } from '../fleet.js'
import { writeTo } from '../ledger.js'
import { pause } from '../pause.js'
import { inFolder } from '../places.js'
import { type Scenario, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const UNDER_LOAD_MS = 1_500
const LAG_MS = 500

/** Kills the primary under load; its standby takes over and gets a standby of its own. */
export async function failOver(cluster: Cluster, failovers: number, ledger: string, verdict: Verdict): Promise<void> {
  const note = writeTo(ledger)
  for (let count = 0; count < failovers; count++) {
    await pause(UNDER_LOAD_MS)
    let resume = (): void => undefined
    if (cluster.mode === 'asynchronous') {
      note('fault', { kind: 'tail begins' })
      resume = await cluster.lag()
      await pause(LAG_MS)
    }
    await cluster.failOver(resume)
    if (cluster.mode === 'asynchronous') note('fault', { kind: 'tail ends' })
    verdict.count('failovers')
    await cluster.follow()
  }
}

const scenario = (mode: Replication, about: string): Scenario => ({
  name: `failovers to a standby, ${mode}`,
  about,
  slice: { failovers: 1 },
  full: { failovers: 20 },
  coverage: ({ failovers = 0 }) => ({
    failovers,
    'jobs acknowledged': failovers * 10,
    ...(mode === 'asynchronous' && { 'jobs touched in a tail': failovers }),
  }),
  run: ({ failovers = 0 }, verdict) =>
    inFolder(async place => {
      const cluster = await Cluster.start(mode)
      try {
        const run = { ...place, store: cluster.url }
        await underLoad(run, LOAD, verdict, () => failOver(cluster, failovers, place.ledger, verdict))
      } finally {
        await cluster.stop()
      }
    }),
})

export const synchronousFailovers = scenario(
  'synchronous',
  'The primary is killed and its synchronous standby is promoted. Nothing may be lost.',
)

export const asynchronousFailovers = scenario(
  'asynchronous',
  'The standby falls half a second behind, the primary is killed, and the standby is promoted. Only that tail may be lost.',
)
