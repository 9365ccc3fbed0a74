import { createChronos, defineJob, fixed } from '../../../src/index.js'
import { patiently, pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import type { Scenario, Size } from '../scenario.js'
import type { Verdict } from '../verdict.js'
import { boundsText, FloodedServer } from './flooded-server.js'

const BATCH = 5_000
const LOOK_MS = 200
const REQUESTS = 3
const BOUNDS = { memoryMb: 500, answerMs: 3_000 }
const ANSWER_BYTES_MAX = 1024 ** 2

/** Every list and figure that grows with the number of names. */
const PATHS = [
  '/api/v1/queues',
  '/api/v1/queues?limit=200',
  '/api/v1/queues/queue-7',
  '/api/v1/queues/queue-7/retry-wave',
  '/api/v1/stats',
  '/api/v1/stats/series',
  '/api/v1/forecast',
  '/api/v1/incident',
  '/api/v1/alerts',
  '/api/v1/names',
  '/api/v1/names/failing',
  '/api/v1/system',
  '/api/v1/circuits',
  '/api/v1/circuits?limit=200',
  '/api/v1/dead',
  '/api/v1/dead/groups',
  '/api/v1/dead/groups?limit=200',
  '/api/v1/jobs',
  '/api/v1/jobs?tag=tag-7',
  '/api/v1/jobs?tenantId=tenant-7',
  '/api/v1/jobs?queue=queue-7',
  '/metrics',
]

/** Each job has a queue, a tenant, a tag, a dependency and an error group of its own. */
async function fill(store: string, names: number): Promise<void> {
  await using chronos = createChronos({ store, log: false })
  const failing = defineJob({
    name: 'failing',
    retry: fixed({ delay: '1s', maxRetries: 0, jitter: 'none' }),
    run: async () => {
      throw new Error('no')
    },
  })
  const numbers = Array.from({ length: names }, (_, number) => number)
  for (let first = 0; first < names; first += BATCH) {
    const part = numbers.slice(first, first + BATCH)
    await chronos.enqueueMany('elsewhere', part, number => ({ queue: `queue-${number}`, tags: [`tag-${number}`] }))
    await chronos.enqueueMany(failing as never, part, number => ({
      tenantId: `tenant-${number}`,
      dependsOn: `dependency-${number}`,
      fingerprint: `fingerprint-${number}`,
      retry: { maxRetries: 0, circuit: true },
    }))
  }
  const worker = chronos.work([failing as never], { concurrency: 200, signals: false })
  const live = () => chronos.jobs.count({ name: 'failing', state: ['waiting', 'running'] })
  while ((await patiently(live)).value > 0) await pause(LOOK_MS)
  await worker.stop()
}

async function askForAll(
  store: string,
  { names = 0 }: Size,
  verdict: Verdict,
  storeProcesses: () => readonly number[] = () => [],
): Promise<void> {
  await fill(store, names)
  verdict.count('names', names)
  const server = await FloodedServer.start(store, { storeProcesses })
  try {
    for (const path of PATHS) {
      const { status, bytes, ms } = await server.get(path, REQUESTS)
      verdict.count('requests', REQUESTS)
      verdict.count(`${path}, ms`, Math.round(ms))
      const fits = status === 200 && bytes <= ANSWER_BYTES_MAX
      verdict.expect(fits, 'requests are answered within their bounds', () => `${path}: ${status}, ${bytes} bytes`)
    }
    await server.judge(verdict, BOUNDS)
  } finally {
    await server.stop()
  }
}

const common = {
  about: 'A store has 100,000 of each. Every list and figure of a server with a heap of 512 MB is asked for.',
  bounds: boundsText(BOUNDS, 'each answer at most 1 MiB'),
  slice: { names: 500 },
  full: { names: 100_000 },
  coverage: ({ names = 0 }: Size) => ({ names, requests: PATHS.length * REQUESTS }),
}

export const manyNamesOnSqlite: Scenario = {
  name: 'many queues, dependencies, tenants, error groups and tags on SQLite',
  ...common,
  run: (size, verdict) => onSqlite(({ store }) => askForAll(store, size, verdict)),
}

export const manyNamesOnPostgres: Scenario = {
  name: 'many queues, dependencies, tenants, error groups and tags on PostgreSQL',
  ...common,
  run: (size, verdict) => onPostgres(({ store }, server) => askForAll(store, size, verdict, () => server.processes)),
}
