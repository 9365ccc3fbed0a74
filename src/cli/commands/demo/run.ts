import type { AttemptView, JobView } from '../../../core/job/view.js'
import { Chronos } from '../../../engine/client/chronos.js'
import type { Log } from '../../../engine/client/log.js'
import type { LogView } from '../../../engine/jobs/log-view.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import type { WorkerStats } from '../../../engine/worker/stats.js'
import type { Worker } from '../../../engine/worker/worker.js'
import { sqliteStore } from '../../../store/sqlite/store.js'
import { DemoDice } from './dice.js'
import { MAIN_JOBS } from './jobs.js'
import { type DemoEvent, Recorder } from './recorder.js'
import { STORIES } from './stories.js'
import { Supervisor } from './supervisor.js'

export interface DemoJob extends JobView {
  /** Newest first. */
  readonly history: readonly AttemptView[]
  readonly logs: readonly LogView[]
}

export interface DemoRun {
  readonly seed: number
  readonly durationMs: number
  readonly jobs: readonly DemoJob[]
  /** Statistics of the worker in the main process; killed workers leave none. */
  readonly stats: WorkerStats
  readonly events: readonly DemoEvent[]
}

export interface RunOptions {
  readonly seed: number
  readonly path: string
  readonly log: Log
  readonly interrupted: AbortSignal
  readonly hear: (event: DemoEvent) => void
}

/** Far more than the demo needs. */
const TIMEOUT_MS = 300_000
/** Short, so that a lost worker is noticed soon. The default is 30 s. */
const LEASE = '1500ms'

/** Uses the real engine, clock and a real file. Only the jitter is seeded. */
export async function runDemo({ seed, path, log, interrupted, hear }: RunOptions): Promise<DemoRun> {
  const dice = new DemoDice(seed)
  const recorder = new Recorder(systemClock, hear)
  const open = async () => sqliteStore({ path, clock: systemClock, dice: systemDice })
  const chronos = new Chronos(open, systemClock, dice, { log: recorder.tap(log) })
  chronos.on('job.started', ({ job }) => dice.drawFor(job.name))
  recorder.listen(chronos)
  let supervisor: Supervisor | undefined
  try {
    await chronos.info()
    recorder.begin()
    const ended = allEnded(chronos)
    const ids = await Promise.all(STORIES.map(({ job, payload, options }) => chronos.enqueue(job, payload, options)))
    // A lease this short is only for noticing lost jobs: on a busy machine the running jobs would lose theirs.
    chronos.work([], { queues: ['none'], lease: LEASE, signals: false })
    const worker = chronos.work([...MAIN_JOBS], { grace: '1s', signals: false, maintenance: false })
    supervisor = new Supervisor(path, {
      started: (event, pid) => recorder.record({ event: 'job.started', ...event, pid }),
      died: (pid, how) => recorder.record({ event: 'worker.died', pid, how }),
    })
    await endOrTimeout(ended, interrupted)
    return await gather(
      chronos,
      worker,
      recorder,
      ids.map(({ id }) => id),
      seed,
    )
  } finally {
    await supervisor?.stop()
    await chronos.close()
    dice.end()
  }
}

function allEnded(chronos: Chronos): Promise<void> {
  const live = new Set(STORIES.map(story => story.name))
  return new Promise(resolve => {
    for (const name of ['job.succeeded', 'job.dead', 'job.cancelled'] as const) {
      chronos.on(name, ({ job }) => {
        live.delete(job.name)
        if (live.size === 0) resolve()
      })
    }
  })
}

async function endOrTimeout(ended: Promise<void>, interrupted: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = systemClock.timer(TIMEOUT_MS, resolve)
    const stop = (): void => {
      timer.cancel()
      reject(interrupted.reason)
    }
    void ended.then(() => {
      timer.cancel()
      resolve()
    })
    if (interrupted.aborted) stop()
    else interrupted.addEventListener('abort', stop, { once: true })
  })
}

async function gather(
  chronos: Chronos,
  worker: Worker,
  recorder: Recorder,
  ids: readonly string[],
  seed: number,
): Promise<DemoRun> {
  const durationMs = recorder.elapsedMs
  const jobs = await Promise.all(ids.map(id => gatherJob(chronos, id)))
  return { seed, durationMs, jobs, stats: worker.getStats(), events: recorder.events }
}

async function gatherJob({ jobs }: Chronos, id: string): Promise<DemoJob> {
  const [view, history, logs] = await Promise.all([jobs.get(id), jobs.history(id), jobs.logs(id)])
  return { ...view!, history: history.data, logs: logs.data }
}
