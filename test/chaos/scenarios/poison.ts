import type { ChildProcess } from 'node:child_process'
import { type Chronos, createChronos } from '../../../src/index.js'
import { exitOf, message, startProcess } from '../../support/process.js'
import { check } from '../checker.js'
import type { Place } from '../fleet.js'
import { pause } from '../pause.js'
import { onSqlite } from '../places.js'
import { openLedger } from '../processes/ledger.js'
import type { Scenario, Size } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const LOOK_MS = 500
/** Longer than the timeout of the jobs, after which a worker without an answer hangs for good. */
const SILENT_MS = 6_000
const BYSTANDERS_PER_CULPRIT = 5
const FLAGS = ['--max-old-space-size=96']

const CULPRITS = ['abort', 'memory', 'endless']
const KINDS = [...CULPRITS, 'blocking']

/** Restarts the worker when it has ended, and kills it when it does not answer, as an orchestrator would. */
async function supervise(place: Place, chronos: Chronos, verdict: Verdict): Promise<void> {
  const start = (): Promise<ChildProcess> =>
    startProcess('chaos/processes/poison.js', [place.store, place.ledger], { stderr: 'ignore', flags: FLAGS })
  let worker = await start()
  let answeredAt = performance.now()
  const live = async (): Promise<number> => (await chronos.jobs.count({ state: ['waiting', 'running'] })).value
  for (; (await live()) > 0; await pause(LOOK_MS)) {
    if (worker.connected) worker.send('alive?')
    const isAlive = await Promise.race([
      message(worker, 'alive').then(
        () => true,
        () => false,
      ),
      pause(LOOK_MS).then(() => undefined),
    ])
    if (isAlive === true) answeredAt = performance.now()
    if (isAlive === undefined && performance.now() - answeredAt > SILENT_MS) {
      verdict.count('hanging workers killed')
      worker.kill('SIGKILL')
    } else if (isAlive !== false) continue
    await exitOf(worker)
    verdict.count('workers that ended')
    worker = await start()
    answeredAt = performance.now()
  }
  worker.kill('SIGTERM')
  await exitOf(worker)
}

async function enqueueAll(place: Place, chronos: Chronos, size: Size): Promise<void> {
  const note = openLedger(place.ledger)
  const names = KINDS.flatMap(name => Array.from({ length: size[name] ?? 0 }, () => name)).flatMap(name => [
    name,
    ...Array.from({ length: BYSTANDERS_PER_CULPRIT }, () => 'bystander'),
  ])
  for (const [number, name] of names.entries()) {
    note('asked', { call: String(number), name })
    const { id, status } = await chronos.enqueue(name, null, { tags: [`call:${number}`] })
    note('acknowledged', { call: String(number), id, status })
  }
}

/** Culprits die of their own crashes; no other job does. */
async function checkVictims(chronos: Chronos, verdict: Verdict): Promise<void> {
  let cursor: string | undefined
  do {
    const { data, page } = await chronos.jobs.list({}, { limit: 200, ...(cursor !== undefined && { cursor }) })
    for (const { id, name, state, reason } of data) {
      const isCulprit = CULPRITS.includes(name)
      if (isCulprit && state === 'dead') verdict.count(`${name}: dead (${reason})`)
      if (!isCulprit && state === 'succeeded') verdict.count(`${name}: succeeded`)
      const fits = state === (isCulprit ? 'dead' : 'succeeded')
      verdict.expect(fits, 'a poison job harms no other job', () => `${name} ${id} is ${state} (${reason})`)
    }
    cursor = page.next
  } while (cursor !== undefined)
}

export const poison: Scenario = {
  name: 'poison jobs',
  about:
    'Jobs abort their process, use up its memory, never end, or block its event loop, beside jobs that do no harm.',
  slice: { abort: 0, memory: 1, endless: 0, blocking: 1 },
  full: { abort: 10, memory: 10, endless: 10, blocking: 10 },
  coverage: ({ abort = 0, memory = 0, endless = 0, blocking = 0 }) => ({
    'workers that ended': 3 * (abort + memory + endless),
    'hanging workers killed': endless,
    'blocking: succeeded': blocking,
    'bystander: succeeded': BYSTANDERS_PER_CULPRIT * (abort + memory + endless + blocking),
  }),
  run: (size, verdict) =>
    onSqlite(async place => {
      await using chronos = createChronos({ store: place.store, log: false })
      await enqueueAll(place, chronos, size)
      await supervise(place, chronos, verdict)
      await checkVictims(chronos, verdict)
      await check(chronos, place.ledger, verdict)
    }),
}
