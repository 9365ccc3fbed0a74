import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Chronos' own server in a process of its own, over a file or over a store that does nothing; with a dashboard, also jobs
 * that come and end, so many a second.
 *
 * @param {{ file?: string, eventsPerSecond?: number }} options
 */
export async function openServer({ file, eventsPerSecond }) {
  const words = ['serve', file ?? 'nothing', String(eventsPerSecond ?? '')]
  const child = fork(fileURLToPath(import.meta.url), words, { stdio: 'inherit' })
  const [url] = await once(child, 'message')
  const close = async () => {
    const exit = once(child, 'exit')
    child.kill()
    await exit
  }
  return { url: String(url), close }
}

/**
 * A store that accepts everything at once, so that only the cost of the server itself remains.
 *
 * @returns {import('../src/store/store.js').Store}
 */
function storeOfNothing() {
  const now = Date.now()
  /** @param {string} id */
  const job = id => ({
    id,
    name: 'noop',
    queue: 'default',
    state: 'waiting',
    priority: 5,
    generation: 1,
    run: 0,
    attempt: 0,
    runAt: now,
    createdAt: now,
    tags: [],
    delivery: 'at-least-once',
    payload: '{"order":17}',
    cancelRequested: false,
  })
  const verbs = {
    kind: 'memory',
    migrate: async () => ({ from: 0, to: 0 }),
    info: async () => ({ kind: 'memory', now, schemaVersion: 0, engine: 'nothing', durability: 'none', location: '' }),
    close: async () => {},
    enqueue: async (/** @type {{ id: string }[]} */ jobs) => jobs.map(({ id }) => ({ status: 'created', id })),
    get: async (/** @type {string} */ id) => job(id),
    policies: async () => [],
    putPolicies: async () => {},
    queues: async () => [],
    records: async () => [],
    putRecords: async (/** @type {unknown[]} */ writes) => writes.map(() => ({ status: 'written', version: 1 })),
    watch: () => () => {},
  }
  return /** @type {import('../src/store/store.js').Store} */ (/** @type {unknown} */ (verbs))
}

if (process.argv[2] === 'serve') {
  const doors = ['index', 'server'].map(door => import(new URL(`../dist/${door}.js`, import.meta.url).href))
  const [{ createChronos, defineJob }, { createServer }] =
    /** @type {[typeof import('../src/index.js'), typeof import('../src/server.js')]} */ (await Promise.all(doors))
  const file = process.argv[3]
  const chronos = createChronos({ store: file === 'nothing' ? storeOfNothing() : `sqlite:${file}`, log: false })
  const eventsPerSecond = Number(process.argv[4])
  const isShown = eventsPerSecond > 0
  const server = createServer(chronos, { log: false, maintenance: false, ...(!isShown && { dashboard: false }) })
  const { url } = await server.listen({ port: 0 })
  process.on('SIGTERM', async () => {
    await server.close()
    await chronos.close()
    process.exit(0)
  })
  if (isShown) {
    // A job makes three events: it is enqueued, starts and ends.
    chronos.work([defineJob({ name: 'live', queue: 'live', run: () => {} })], { signals: false })
    setInterval(() => void chronos.enqueue('live', {}, { queue: 'live' }), 3_000 / eventsPerSecond)
  }
  process.send?.(url)
}
