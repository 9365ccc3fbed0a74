import { type Chronos, createChronos } from '../../../src/index.js'
import { Fleet, type Place } from '../fleet.js'
import { patiently, pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import { checkIntegrity } from '../promises/integrity.js'
import type { Scenario, Size } from '../scenario.js'
import type { Verdict } from '../verdict.js'
import { allJobs, claimTimes, drained, exceedsRate } from './limited.js'

const QUEUE = 'paced'
const WORKERS = 4
const BATCH = 5_000
const BURST = 3

/** Kills workers in even distances while the jobs run. */
async function killWhileBusy(
  chronos: Chronos,
  fleet: Fleet,
  { jobs = 0, kills = 0 }: Size,
  verdict: Verdict,
): Promise<void> {
  const ended = async (): Promise<number> =>
    (await patiently(() => chronos.jobs.count({ queue: QUEUE, state: 'succeeded' }, jobs))).value
  for (let killed = 0; killed < kills; ) {
    if ((await ended()) < (jobs * (killed + 0.5)) / kills) await pause(100)
    else if (await fleet.kill()) {
      killed++
      verdict.count('processes killed')
    }
  }
}

/** The rate of each partition in every window, and how much of all of them was used. */
async function checkRates(chronos: Chronos, { perSecond = 1, usedPercent = 0 }: Size, verdict: Verdict): Promise<void> {
  const byPartition = new Map<string, number[]>()
  for await (const job of allJobs(chronos, QUEUE)) {
    verdict.count('jobs')
    verdict.expect(job.state === 'succeeded', 'an acknowledged job is never lost', () => `${job.id} is ${job.state}`)
    const times = byPartition.get(job.partition!) ?? []
    byPartition.set(job.partition!, times)
    times.push(...(await claimTimes(chronos, job)))
  }
  let started = 0
  let allowed = 0
  for (const [partition, times] of byPartition) {
    started += times.length
    allowed += BURST + (perSecond * (Math.max(...times) - Math.min(...times))) / 1_000
    verdict.expect(
      !exceedsRate(times, perSecond, BURST),
      'a rate is never exceeded, and is used',
      () => `${partition} started more than ${perSecond}/s with a burst of ${BURST}`,
    )
  }
  const used = (100 * started) / allowed
  verdict.count('starts', started)
  verdict.count('used of the rate, %', Math.round(used))
  verdict.expect(
    used >= usedPercent,
    'a rate is never exceeded, and is used',
    () => `${used.toFixed(1)} % of the rate was used, not ${usedPercent} %`,
  )
}

async function ratesUnderKills(place: Place, size: Size, verdict: Verdict): Promise<void> {
  const { jobs = 0, partitions = 1, perSecond = 1 } = size
  const queues = { [QUEUE]: { partitions: { rate: `${perSecond}/s` as const, burst: BURST } } }
  await using chronos = createChronos({ store: place.store, log: false, queues })
  for (let first = 0; first < jobs; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, jobs - first) }, (_, place) => first + place)
    const payloads = numbers.map(number => ({ ms: 20, silent: true, partition: `p-${number % partitions}` }))
    await chronos.enqueueMany('limited', payloads, ({ partition }) => ({ queue: QUEUE, partition }))
  }
  const fleet = await Fleet.start(place, { workers: WORKERS, script: 'partitions', pullers: 0, perSecond: 0 })
  try {
    await killWhileBusy(chronos, fleet, size, verdict)
    await fleet.calm()
    await drained(chronos, verdict)
    await fleet.stop(verdict)
    await checkRates(chronos, size, verdict)
    await checkIntegrity(chronos, verdict)
  } finally {
    await fleet.abandon()
  }
}

const common = {
  about: 'Partitions with a rate have long backlogs, while workers are killed with kill -9.',
  slice: { jobs: 600, partitions: 20, perSecond: 4, kills: 2, usedPercent: 50 },
  full: { jobs: 1_000_000, partitions: 1_000, perSecond: 1, kills: 50, usedPercent: 97 },
  coverage: ({ jobs = 0, kills = 0 }: Size) => ({ jobs, starts: jobs, 'processes killed': kills }),
}

export const ratesOnSqlite: Scenario = {
  name: 'rates under kills on SQLite',
  ...common,
  run: (size, verdict) => onSqlite(place => ratesUnderKills(place, size, verdict)),
}

export const ratesOnPostgres: Scenario = {
  name: 'rates under kills on PostgreSQL',
  ...common,
  run: (size, verdict) => onPostgres(place => ratesUnderKills(place, size, verdict)),
}
