import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { AttemptView, JobView } from '../../src/index.js'
import { createChronos } from '../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl } from '../support/postgres.js'
import { exitOf, message, startProcess, temporaryFolder } from '../support/process.js'

afterAll(dropSchemas)

const KILLS = Number(process.env['CHRONOS_KILLS'] ?? 12)
const JOBS = Number(process.env['CHRONOS_KILL_JOBS'] ?? 2000)
const WORKERS = 3
const LOOKS_AT_ONCE = 50

/** What clients and handlers recorded outside the system. */
interface Ledger {
  readonly acknowledged: readonly string[]
  readonly starts: ReadonlyMap<string, readonly Start[]>
}

interface Start {
  readonly run: number
  readonly attempt: number
}

function readLedger(path: string): Ledger {
  const acknowledged: string[] = []
  const starts = new Map<string, Start[]>()
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [what, id = '', run, attempt] = line.split(' ')
    if (what === 'ack') acknowledged.push(id)
    if (what !== 'start') continue
    const of = starts.get(id) ?? []
    of.push({ run: Number(run), attempt: Number(attempt) })
    starts.set(id, of)
  }
  return { acknowledged, starts }
}

/** Before each kill a client in its own process enqueues more jobs, so that every kill has work to hit. */
async function killWorkers(store: string, ledger: string): Promise<void> {
  const started: ChildProcess[] = []
  // Kills the processes of a failed test.
  using _ = { [Symbol.dispose]: () => started.forEach(child => void child.kill('SIGKILL')) }
  const start = async (script: string, ...args: string[]) => {
    const child = await startProcess(`chaos/${script}`, [store, ledger, ...args])
    started.push(child)
    return child
  }
  const client = await start('client.js', String(JOBS), String(Math.ceil(JOBS / KILLS)))
  const places = Array.from({ length: WORKERS }, () => start('worker.js'))
  await Promise.all(places)
  const kill = async (place: number): Promise<void> => {
    const victim = await places[place]!
    victim.kill('SIGKILL')
    await exitOf(victim)
    places[place] = start('worker.js')
  }
  // The first job hangs in its first run, so that at least one kill hits a running job.
  client.send('more')
  await kill(await Promise.any(places.map(async (worker, place) => message(await worker, 'hangs').then(() => place))))
  for (let kills = 1; kills < KILLS; kills++) {
    if (client.connected) client.send('more')
    await wait(Math.random() * 250)
    await kill(Math.floor(Math.random() * WORKERS))
  }
  expect(await exitOf(client)).toEqual({ code: 0, signal: null })
  await using probe = createChronos({ store, log: false })
  const live = async (): Promise<number> => (await probe.jobs.count({ state: ['waiting', 'running'] })).value
  while ((await live()) > 0) await wait(50)
  for (const worker of await Promise.all(places)) {
    worker.kill('SIGTERM')
    expect(await exitOf(worker)).toEqual({ code: 0, signal: null })
  }
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

/** The store's location: a file in the test's folder, or a new schema on the server. */
const STORES: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  SQLite: async folder => `sqlite:${join(folder, 'jobs.db')}`,
  PostgreSQL: async () => `${await postgresUrl()}?schema=${freshSchema()}`,
}

test.each(Object.entries(STORES))(
  `${KILLS} workers killed under load on %s: no job is lost or duplicated`,
  {
    timeout: 300_000 + KILLS * 2_000,
  },
  async (_name, open) => {
    using folder = temporaryFolder()
    const store = await open(folder.path)
    const path = join(folder.path, 'ledger')
    await killWorkers(store, path)
    const { acknowledged, starts } = readLedger(path)
    await using chronos = createChronos({ store, log: false })
    expect(new Set(acknowledged).size).toBe(JOBS)
    let lost = 0
    for (let first = 0; first < JOBS; first += LOOKS_AT_ONCE) {
      const looks = acknowledged.slice(first, first + LOOKS_AT_ONCE).map(async id => {
        const job = await chronos.jobs.get(id)
        expect(job, `acknowledged job ${id} exists`).toBeDefined()
        expect(['succeeded', 'dead'], `${id} has ended`).toContain(job!.state)
        const history = (await chronos.jobs.history(id, { limit: 200 })).data
        check(job!, history, starts.get(id) ?? [])
        lost += history.filter(attempt => attempt.status === 'lost').length
      })
      await Promise.all(looks)
    }
    expect((await chronos.jobs.count({}, JOBS + 1)).value, 'each enqueue made one job').toBe(JOBS)
    expect(lost, 'the kills hit running jobs').toBeGreaterThan(0)
  },
)
