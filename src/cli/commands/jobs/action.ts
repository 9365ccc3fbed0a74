import type { JobState } from '../../../core/job/job.js'
import type { Duration } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import type { JobOrSchedule } from '../../../engine/jobs/by-id.js'
import type { JobQuery } from '../../../engine/jobs/jobs.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT, EXIT_OF, usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { actOnAll, tryEach } from './bulk.js'
import { checkChoice, type FilterOptions, queryOf } from './filter.js'
import { nameOf, standing } from './job.js'

export interface ActionOptions extends BackendOptions, FilterOptions {
  readonly all?: true
  readonly yes?: true
  readonly dryRun?: true
  readonly atMost?: number
  readonly delay?: Duration
  readonly runAt?: Date | string
}

/** Something that can be done to a job. */
export interface Action {
  /** Past participle: `3 jobs retried`. */
  readonly done: string
  /** The states that a filter without `--state` selects. */
  readonly states: readonly JobState[]
  /** The states that it accepts by id, if there are more. */
  readonly accepts?: readonly JobState[]
  /** Resolves to undefined if the job is gone. */
  act(backend: Backend, id: string, options: ActionOptions): Promise<JobOrSchedule | undefined>
}

export const ACTIONS = {
  retry: {
    done: 'retried',
    states: ['dead'],
    accepts: ['dead', 'cancelled'],
    act: ({ byId }, id) => byId.retry(id),
  },
  'run-now': { done: 'set to run now', states: ['waiting'], act: ({ byId }, id) => byId.runNow(id) },
  reschedule: {
    done: 'rescheduled',
    states: ['waiting'],
    act: ({ byId }, id, options) => byId.reschedule(id, newTime(options)),
  },
  cancel: { done: 'cancelled', states: ['waiting', 'running'], act: ({ byId }, id) => byId.cancel(id) },
  delete: {
    done: 'deleted',
    states: ['succeeded', 'dead', 'cancelled'],
    act: async ({ byId }, id) => {
      await byId.delete(id)
      return undefined
    },
  },
} as const satisfies Record<string, Action>

export type ActionName = keyof typeof ACTIONS

/** The exit code is that of the first failure. */
export async function perform(
  name: ActionName,
  ids: readonly string[],
  options: ActionOptions,
  io: Io,
): Promise<number> {
  const query = queryOf(options)
  if (name === 'reschedule') newTime(options)
  checkChoice(`jobs ${name}`, ids, query, options.all, '--queue')
  const action: Action = ACTIONS[name]
  return withBackend(options, io, async backend => {
    if (ids.length === 0) return actOnAll({ name, action, backend, query: inStates(action, query), options, io })
    if (options.dryRun) return tryEach({ name, action, backend, options, io }, ids)
    return actOnEach(action, backend, ids, options, io)
  })
}

/** A phase implies a state. */
function inStates({ states }: Action, query: JobQuery): JobQuery {
  return query.phase === undefined ? { state: states, ...query } : query
}

async function actOnEach(
  action: Action,
  backend: Backend,
  ids: readonly string[],
  options: ActionOptions,
  io: Io,
): Promise<number> {
  const { now } = await backend.info()
  const changed: unknown[] = []
  let exitCode: number = EXIT.ok
  for (const id of ids) {
    try {
      const job = await action.act(backend, id, options)
      changed.push(job ?? { id })
      if (!options.json)
        show(io, options, job, style => `${lineOf(action, id, job)}${job ? standing(job, now, style) : '\n'}`)
    } catch (error) {
      // A failure of one job does not stop the others.
      if (ids.length === 1 || !(error instanceof ChronosError)) throw error
      io.stderr.write(`error: ${error.message} (${error.code})\n`)
      if (exitCode === EXIT.ok) exitCode = EXIT_OF[error.code]
    }
  }
  if (options.json) show(io, options, ids.length === 1 ? changed[0] : { data: changed }, () => '')
  return exitCode
}

function lineOf({ done }: Action, id: string, job: JobOrSchedule | undefined): string {
  return job ? `${done} ${job.id} ${nameOf(job)}: ` : `${done} ${oneLine(id)}`
}

function newTime({ delay, runAt }: ActionOptions): { delay: Duration } | { runAt: Date | string } {
  if (delay !== undefined && runAt === undefined) return { delay }
  if (runAt !== undefined && delay === undefined) return { runAt }
  throw usage('jobs reschedule: give either --delay or --run-at')
}
