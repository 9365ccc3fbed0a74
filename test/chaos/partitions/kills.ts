import { type Chronos, createChronos } from '../../../src/index.js'
import { Fleet, type Place } from '../fleet.js'
import { isInHandler, type Ledger, readLedger, type Start } from '../ledger.js'
import { patiently, pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import { LIMITED } from '../processes/facts.js'
import { checkIntegrity, checkIntegrityUnderFaults } from '../promises/integrity.js'
import { type Joined, join } from '../promises/joined.js'
import type { Scenario, Size } from '../scenario.js'
import { killAndFreeze } from '../scenarios/kills.js'
import type { Verdict } from '../verdict.js'
import { countWithin, drained, exceedsRate, mostAtOnce } from './limited.js'

type Queue = keyof typeof LIMITED

const WORKERS = 4
const RUN_MS = 100
/** Every tenth job of an ordered partition fails once. */
const FAILS_EVERY = 10
const VERIFY_EVERY = 20
const LOOK_MS = 100
/** Clocks of two processes of one machine may differ by this much. */
const CLOCKS_MS = 5

/** How many partitions of each queue get a job in each round. */
const spread = (partitions: number): Readonly<Record<Queue, number>> => ({
  sync: partitions,
  whole: Math.ceil(partitions / 20),
  feed: Math.ceil(partitions / 10),
  paced: Math.ceil(partitions / 20),
})

/** Enqueues one job for each partition, several times, until the faults are over. */
async function feed(chronos: Chronos, partitions: number, isOver: () => boolean, verdict: Verdict): Promise<number> {
  let rounds = 0
  for (; !isOver() || rounds < 2; ) {
    const { value: live } = await patiently(() => chronos.jobs.count({ state: ['waiting', 'running'] }, 2 * partitions))
    if (live < 2 * partitions) {
      for (const [queue, many] of Object.entries(spread(partitions))) {
        const payloads = Array.from({ length: many }, (_, place) => {
          const fails = queue === 'feed' && (rounds + place) % FAILS_EVERY === 0
          return { ms: RUN_MS, round: rounds, partition: `${queue}-${place}`, ...(fails && { fails }) }
        })
        await chronos.enqueueMany('limited', payloads, ({ partition }) => ({ queue, partition }))
        verdict.count('jobs enqueued', many)
      }
      rounds++
      if (rounds % VERIFY_EVERY === 1) {
        await checkIntegrityUnderFaults(chronos, verdict)
        verdict.count('integrity checks')
      }
    }
    await pause(LOOK_MS)
  }
  return rounds
}

/** What a run of a job did, from the ledger, and until when it had its lease at least. */
interface Run {
  readonly job: Joined
  readonly from: number
  /** Its handler ended, was killed, or had lost its lease. */
  readonly to: number
  /** When its slot was free at the earliest. */
  readonly freeAt: number
}

function runOf(job: Joined, { at, run, pid, end }: Start, killedAt: ReadonlyMap<number, number>): Run {
  const row = job.rows.find(one => one.run === run)
  const lostAt = row?.status === 'lost' ? Date.parse(row.finishedAt) : Number.POSITIVE_INFINITY
  const stoppedAt = end?.at ?? killedAt.get(pid) ?? Number.POSITIVE_INFINITY
  const to = Math.min(stoppedAt, lostAt)
  return { job, from: at, to: Number.isFinite(to) ? to : at, freeAt: Number.isFinite(lostAt) ? lostAt : to }
}

async function check(
  chronos: Chronos,
  ledger: Ledger,
  { idleMs = 0, partitions = 0 }: Size,
  verdict: Verdict,
): Promise<void> {
  const joined = await join(chronos, ledger)
  const killedAt = new Map(ledger.faults.flatMap(({ kind, pid, at }) => (kind === 'kill' && pid ? [[pid, at]] : [])))
  const byPartition = new Map<string, Joined[]>()
  for (const one of joined.values()) {
    const { job } = one
    verdict.expect(
      job.state === 'succeeded',
      'an acknowledged job is never lost',
      () => `${job.id} of ${job.queue} is ${job.state}`,
    )
    const same = byPartition.get(job.partition!)
    if (same) same.push(one)
    else byPartition.set(job.partition!, [one])
  }
  const runs = (jobs: readonly Joined[]): readonly Run[] =>
    jobs.flatMap(job => job.starts.map(start => runOf(job, start, killedAt)))
  const all = [...joined.values()]
  const turns = all.flatMap(({ job, starts }) => (job.queue === 'sync' ? starts.map(({ at }) => at) : []))
  const bounds = { idleMs, turns: turns.sort((a, b) => a - b), partitions }
  for (const [partition, jobs] of byPartition) checkPartition(partition, jobs, runs(jobs), bounds, verdict)
  const whole = runs(all.filter(({ job }) => job.queue === 'whole'))
  checkMost('queue whole', whole, LIMITED.whole.limit.concurrency, verdict)
  verdict.count('jobs', joined.size)
  verdict.count('partitions', byPartition.size)
  verdict.count('runs lost', all.flatMap(({ rows }) => rows.filter(one => one.status === 'lost')).length)
}

interface Bounds {
  readonly idleMs: number
  /** When the jobs of all partitions of `sync` started. */
  readonly turns: readonly number[]
  readonly partitions: number
}

function checkPartition(
  partition: string,
  jobs: readonly Joined[],
  runs: readonly Run[],
  bounds: Bounds,
  verdict: Verdict,
): void {
  const queue = jobs[0]!.job.queue as Queue
  if (queue === 'sync') {
    checkMost(partition, runs, LIMITED.sync.partitions.concurrency, verdict)
    checkIdle(partition, jobs, runs, bounds, verdict)
  }
  if (queue === 'feed') {
    checkMost(partition, runs, 1, verdict)
    checkOrder(partition, jobs, verdict)
  }
  if (queue === 'paced') {
    const times = jobs.flatMap(({ job, rows }) =>
      rows.map(row => Date.parse(row.run === job.run ? job.startedAt! : row.startedAt)),
    )
    verdict.expect(
      !exceedsRate(times, 20, LIMITED.paced.partitions.burst),
      'a rate is never exceeded, and is used',
      () => {
        return `${partition} started at ${times.join(', ')}`
      },
    )
  }
}

function checkMost(name: string, runs: readonly Run[], limit: number, verdict: Verdict): void {
  const most = mostAtOnce(runs.map(({ from, to }) => [from, to - CLOCKS_MS]))
  if (most === limit) verdict.count('queues and partitions at their limit')
  verdict.expect(most <= limit, 'a limit is never exceeded', () => `${most} jobs of ${name} ran at once, not ${limit}`)
}

/** More than one for each slot, because a worker takes several jobs of a partition at a time. */
const TURNS_MAX = 3 * LIMITED.sync.partitions.concurrency

/**
 * How long jobs of the partition waited while none had a lease. A busy fleet needs its time for a round through all
 * partitions, so the others must also have had more turns meanwhile than is fair.
 */
function checkIdle(
  partition: string,
  jobs: readonly Joined[],
  runs: readonly Run[],
  { idleMs, turns, partitions }: Bounds,
  verdict: Verdict,
): void {
  const sorted = [...runs].sort((a, b) => a.from - b.from)
  const created = jobs.map(({ job }) => Date.parse(job.createdAt)).sort((a, b) => a - b)
  let busyUntil = 0
  let longest = 0
  for (const [place, { from, freeAt }] of sorted.entries()) {
    // The next job to start has waited since it was created, if no earlier one was there.
    const waitingSince = Math.max(busyUntil, created[Math.min(place, created.length - 1)]!)
    const idle = from - waitingSince
    const turnsOfOthers = countWithin(turns, [waitingSince, from]) / partitions
    longest = Math.max(longest, idle)
    busyUntil = Math.max(busyUntil, freeAt)
    verdict.expect(
      idle <= idleMs || turnsOfOthers <= TURNS_MAX,
      'no partition with waiting jobs is passed over',
      () => `${partition} ran nothing for ${Math.round(idle)} ms, the others ${turnsOfOthers.toFixed(1)} jobs each`,
    )
  }
  const name = 'longest time that a partition with waiting jobs ran none, ms'
  verdict.counts[name] = Math.max(verdict.counts[name] ?? 0, Math.round(longest))
}

/** Each job starts after the last run of the one before it has ended. */
function checkOrder(partition: string, jobs: readonly Joined[], verdict: Verdict): void {
  const round = ({ job }: Joined): number => (job.payload as { round: number }).round
  const sorted = [...jobs].sort((a, b) => round(a) - round(b))
  for (const [place, one] of sorted.entries()) {
    const before = sorted[place - 1]
    const endedAt = before?.starts.find(({ run }) => run === before.job.run)?.end?.at
    const startedAt = Math.min(...one.starts.map(({ at }) => at))
    const isBehind = !before || (endedAt !== undefined && startedAt >= endedAt - CLOCKS_MS)
    verdict.expect(
      isBehind,
      'a partition keeps its order',
      () => `${one.job.id} overtook ${before!.job.id} in ${partition}`,
    )
  }
}

async function limitsUnderKills(place: Place, size: Size, verdict: Verdict): Promise<void> {
  await using chronos = createChronos({ store: place.store, log: false, queues: LIMITED })
  await patiently(() => chronos.info())
  const fleet = await Fleet.start(place, { workers: WORKERS, script: 'partitions', pullers: 0, perSecond: 0 })
  try {
    let isOver = false
    const fed = feed(chronos, size['partitions'] ?? 0, () => isOver, verdict)
    await killAndFreeze(fleet, size, verdict, pid => isInHandler(place.ledger, pid)).finally(() => {
      isOver = true
    })
    await fed
    await fleet.calm()
    await drained(chronos, verdict)
    await fleet.stop(verdict)
    await checkIntegrity(chronos, verdict)
    verdict.count('integrity checks')
    await check(chronos, readLedger(place.ledger), size, verdict)
  } finally {
    await fleet.abandon()
  }
}

const common = {
  about:
    'Workers of queues with a concurrency, a rate, an order and a limit of the whole queue are killed with kill -9 or ' +
    'frozen with SIGSTOP until their leases are lost. The integrity check runs meanwhile.',
  // A machine that runs other tests may keep every process waiting, so the slice judges no short times.
  slice: { kills: 5, freezes: 1, partitions: 60, idleMs: 120_000 },
  full: { kills: 500, freezes: 50, partitions: 1_000, idleMs: 2_000 },
  coverage: ({ kills = 0, freezes = 0, partitions = 0 }: Size) => ({
    'processes killed': kills,
    'workers frozen': freezes,
    'runs lost': Math.ceil(kills / 5),
    'queues and partitions at their limit': Math.ceil(partitions / 10),
    'integrity checks': 2,
    partitions,
    'jobs enqueued': 2 * partitions,
  }),
}

export const limitsOnSqlite: Scenario = {
  name: 'limits and order under kills on SQLite',
  ...common,
  run: (size, verdict) => onSqlite(place => limitsUnderKills(place, size, verdict)),
}

export const limitsOnPostgres: Scenario = {
  name: 'limits and order under kills on PostgreSQL',
  ...common,
  run: (size, verdict) => onPostgres(place => limitsUnderKills(place, size, verdict)),
}
