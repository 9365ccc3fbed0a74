import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Fleet, FleetOptions } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import { type Scenario, type Size, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const LOAD: FleetOptions = { workers: 3, pullers: 1, perSecond: 40, flags: () => ['--expose-gc'] }
/** What a healthy process may grow by after its warm-up. */
const GROWTH_MAX = 1.1
const DESCRIPTORS_MORE_MAX = 4

interface Sample {
  readonly heapMb: number
  readonly descriptors: number
}

/** The heap after a collection, and the open files of a worker that lives through the whole scenario. */
async function sample(worker: ChildProcess): Promise<Sample> {
  worker.send('sample')
  const heap = await heapOf(worker)
  return { heapMb: heap / 1024 ** 2, descriptors: readdirSync(`/proc/${worker.pid}/fd`).length }
}

async function heapOf(worker: ChildProcess): Promise<number> {
  for (;;) {
    const [text] = await once(worker, 'message')
    const [, bytes] = /^heap (\d+)$/.exec(String(text)) ?? []
    if (bytes !== undefined) return Number(bytes)
  }
}

async function soak(fleet: Fleet, { seconds = 0, crashEverySeconds = 60 }: Size, verdict: Verdict): Promise<void> {
  const witness = await fleet.spare()
  const samples: Sample[] = []
  const startedAt = performance.now()
  const between = Math.min(crashEverySeconds, seconds / 6) * 1000
  while (performance.now() - startedAt < seconds * 1000) {
    await pause(between)
    samples.push(await sample(witness))
    if (await fleet.kill()) verdict.count('processes killed')
  }
  verdict.count('seconds', Math.round((performance.now() - startedAt) / 1000))
  judge(samples, verdict)
}

/** Compares the last third with the second: the first one is the warm-up. */
function judge(samples: readonly Sample[], verdict: Verdict): void {
  const third = Math.floor(samples.length / 3)
  const [middle, last] = [samples.slice(third, 2 * third), samples.slice(2 * third)]
  const heap = (of: readonly Sample[]): number => median(of.map(({ heapMb }) => heapMb))
  const files = (of: readonly Sample[]): number => Math.max(...of.map(({ descriptors }) => descriptors))
  verdict.count('samples', samples.length)
  verdict.count('heap in the second third, MB', Math.round(heap(middle)))
  verdict.count('heap in the last third, MB', Math.round(heap(last)))
  verdict.count('open files in the second third', files(middle))
  verdict.count('open files in the last third', files(last))
  const heaps = samples.map(({ heapMb }) => heapMb.toFixed(1)).join(', ')
  const isFlat = heap(last) <= heap(middle) * GROWTH_MAX
  verdict.expect(isFlat, 'memory and descriptors stay within their bounds', () => `heap in MB: ${heaps}`)
  const isConstant = files(last) <= files(middle) + DESCRIPTORS_MORE_MAX
  const text = (): string => `open files: ${samples.map(({ descriptors }) => descriptors).join(', ')}`
  verdict.expect(isConstant, 'memory and descriptors stay within their bounds', text)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

const common = {
  slice: { seconds: 4, crashEverySeconds: 1 },
  full: { seconds: 1_800, crashEverySeconds: 60 },
  coverage: ({ seconds = 0, crashEverySeconds = 60 }: Size) => ({
    seconds,
    'processes killed': Math.floor((0.8 * seconds) / crashEverySeconds),
    samples: 3,
    'jobs acknowledged': seconds,
  }),
  unavailable: () => (process.platform === 'linux' ? undefined : 'open files are counted in /proc, which Linux has'),
}

export const soakOnSqlite: Scenario = {
  name: 'soak on SQLite',
  about:
    'Every feature is in use for half an hour with a crash a minute, while one worker is watched: heap flat, descriptors constant.',
  ...common,
  run: (size, verdict) => onSqlite(place => underLoad(place, LOAD, verdict, fleet => soak(fleet, size, verdict))),
}

export const soakOnPostgres: Scenario = {
  name: 'soak on PostgreSQL',
  about: soakOnSqlite.about,
  ...common,
  run: (size, verdict) => onPostgres(place => underLoad(place, LOAD, verdict, fleet => soak(fleet, size, verdict))),
}
