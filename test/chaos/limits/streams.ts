import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { startProcess } from '../../support/process.js'
import { pause } from '../pause.js'
import { onSqlite } from '../places.js'
import type { Scenario } from '../scenario.js'
import { boundsText, FloodedServer } from './flooded-server.js'

const PER_PROCESS = 2_500
const BOUNDS = { memoryMb: 700, answerMs: 5_000 }
const TOLD_MS = 30_000

interface Streams {
  readonly open: number
  readonly refused: number
  readonly told: number
}

async function streamsOf(child: ChildProcess): Promise<Streams> {
  child.send('count')
  for (;;) {
    const [text] = await once(child, 'message')
    const [, open, refused, told] = /^streams (\d+) (\d+) (\d+)$/.exec(String(text)) ?? []
    if (open !== undefined) return { open: Number(open), refused: Number(refused), told: Number(told) }
  }
}

async function total(children: readonly ChildProcess[]): Promise<Streams> {
  const all = await Promise.all(children.map(streamsOf))
  const sum = (of: keyof Streams): number => all.reduce((so, one) => so + one[of], 0)
  return { open: sum('open'), refused: sum('refused'), told: sum('told') }
}

export const manyStreams: Scenario = {
  name: 'event-stream clients',
  about: '10,000 clients hold an event stream open. Each receives the next change, and other requests are answered.',
  bounds: boundsText(BOUNDS),
  slice: { clients: 100 },
  full: { clients: 10_000 },
  coverage: ({ clients = 0 }) => ({ 'streams open': clients, 'streams that received a change': clients }),
  run: ({ clients = 0 }, verdict) =>
    onSqlite(async ({ store }) => {
      const server = await FloodedServer.start(store)
      const children: ChildProcess[] = []
      try {
        for (let left = clients; left > 0; left -= PER_PROCESS) {
          const args = [String(server.port), String(Math.min(left, PER_PROCESS))]
          children.push(await startProcess('chaos/processes/listeners.js', args))
        }
        server.enqueue()
        let streams = await total(children)
        for (const until = performance.now() + TOLD_MS; performance.now() < until; await pause(200)) {
          await server.get('/api/v1/jobs')
          streams = await total(children)
          if (streams.told >= clients) break
        }
        verdict.count('streams open', streams.open)
        verdict.count('streams that received a change', Math.min(streams.told, streams.open))
        verdict.count('streams refused', streams.refused)
        await server.judge(verdict, BOUNDS)
      } finally {
        for (const child of children) child.kill('SIGKILL')
        await server.stop()
      }
    }),
}
