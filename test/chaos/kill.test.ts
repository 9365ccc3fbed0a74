import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AttemptView, Chronos, JobView } from '../../src/index.js'
import { createChronos } from '../../src/index.js'
import { exitOf, startProcess, temporaryFolder } from '../support/process.js'

const KILLS = Number(process.env['CHRONOS_KILLS'] ?? 20)
const JOBS = Number(process.env['CHRONOS_KILL_JOBS'] ?? 4000)
const WORKERS = 3
const BEHAVIOURS = ['ok', 'ok', 'ok', 'ok', 'slow', 'flaky', 'failing'] as const

interface Start {
  readonly run: number
  readonly attempt: number
}

function readLedger(path: string): Map<string, Start[]> {
  const starts = new Map<string, Start[]>()
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [what, id, run, attempt] = line.split(' ')
    if (what !== 'start') continue
    const of = starts.get(id!) ?? []
    of.push({ run: Number(run), attempt: Number(attempt) })
    starts.set(id!, of)
  }
  return starts
}

/** Clients enqueue while workers die; what was acknowledged goes to the ledger. */
async function enqueueAll(chronos: Chronos, ledger: string): Promise<string[]> {
  const acknowledged: string[] = []
  for (let i = 0; i < JOBS; i += 20) {
    const batch = Array.from({ length: 20 }, (_, j) => {
      const behaviour = BEHAVIOURS[(i + j) % BEHAVIOURS.length]
      return chronos.enqueue((i + j) % 10 === 9 ? 'most' : 'least', { behaviour }, { key: `job:${i + j}` })
    })
    for (const { id } of await Promise.all(batch)) {
      acknowledged.push(id)
      appendFileSync(ledger, `ack ${id}\n`)
    }
    await wait(1)
  }
  return acknowledged
}

/** Kills a random worker every 100–400 ms and starts another in its place. */
async function killWorkers(store: string, ledger: string): Promise<void> {
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, () => startProcess('chaos/worker.js', [store, ledger])),
  )
  for (let kills = 0; kills < KILLS; kills++) {
    await wait(100 + Math.random() * 300)
    const victim = Math.floor(Math.random() * WORKERS)
    workers[victim]!.kill('SIGKILL')
    await exitOf(workers[victim]!)
    workers[victim] = await startProcess('chaos/worker.js', [store, ledger])
  }
  const live = async (): Promise<number> => (await probe.jobs.count({ state: ['waiting', 'running'] })).value
  const probe = createChronos({ store, log: false })
  for (const until = performance.now() + 60_000; (await live()) > 0 && performance.now() < until; ) await wait(50)
  await probe.close()
  for (const worker of workers) worker.kill('SIGTERM')
  for (const worker of workers) expect(await exitOf(worker)).toEqual({ code: 0, signal: null })
}

function check(job: JobView, history: readonly AttemptView[], starts: readonly Start[]): void {
  const runs = history.map(attempt => attempt.run).reverse()
  expect(runs, `runs of ${job.id} are numbered without gaps`).toEqual(runs.map((_, i) => i + 1))
  const startedRuns = starts.map(start => start.run)
  expect(new Set(startedRuns).size, `no run of ${job.id} started twice`).toBe(startedRuns.length)
  expect(Math.max(0, ...startedRuns), `every run of ${job.id} that began has its row`).toBeLessThanOrEqual(runs.length)
  expect(Math.max(...starts.map(start => start.attempt)), `attempts of ${job.id}`).toBeLessThanOrEqual(3)
  const succeeded = history.filter(attempt => attempt.status === 'succeeded')
  expect(succeeded.length, `${job.id} succeeded once or not at all`).toBe(job.state === 'succeeded' ? 1 : 0)
  if (succeeded[0]) expect(succeeded[0].run, `${job.id} does not run after its success`).toBe(runs.length)
  if (job.name === 'most') expect(starts.length, `at-most-once ${job.id} starts once`).toBeLessThanOrEqual(1)
}

test(`${KILLS} workers killed under load on SQLite: nothing is lost, nothing is doubled`, {
  timeout: 300_000,
}, async () => {
  using folder = temporaryFolder()
  const store = `sqlite:${join(folder.path, 'jobs.db')}`
  const ledger = join(folder.path, 'ledger')
  const chronos = createChronos({ store, log: false })
  await chronos.info()
  const [acknowledged] = await Promise.all([enqueueAll(chronos, ledger), killWorkers(store, ledger)])
  expect(existsSync(ledger)).toBe(true)
  const starts = readLedger(ledger)
  const tally = { lost: 0, 'unknown-outcome': 0, duplicates: 0 }
  expect(new Set(acknowledged).size).toBe(JOBS)
  for (const id of acknowledged) {
    const job = await chronos.jobs.get(id)
    expect(job, `acknowledged job ${id} is there`).toBeDefined()
    expect(['succeeded', 'dead'], `${id} has ended`).toContain(job!.state)
    const history = (await chronos.jobs.history(id, { limit: 200 })).data
    check(job!, history, starts.get(id) ?? [])
    tally.lost += history.filter(attempt => attempt.status === 'lost').length
    if (job!.reason === 'unknown-outcome') tally['unknown-outcome']++
  }
  expect((await chronos.jobs.count({}, JOBS + 1)).value).toBe(JOBS)
  expect(tally.lost, 'the kills hit running jobs').toBeGreaterThan(0)
  await chronos.close()
})
