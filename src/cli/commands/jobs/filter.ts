import { type Command, Option } from 'commander'
import { PHASES } from '../../../core/job/job.js'
import { parseDuration } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { checkWord } from '../../../core/values/limits.js'
import { present } from '../../../core/values/present.js'
import type { DeadQuery } from '../../../engine/dead/redrives.js'
import type { JobQuery } from '../../../engine/jobs/jobs.js'
import { systemClock } from '../../../engine/time/system.js'

export interface FilterOptions {
  readonly state?: readonly string[]
  readonly phase?: string
  readonly queue?: string
  readonly name?: string
  readonly tag?: string
  readonly key?: string
  readonly tenant?: string
  readonly reason?: string
  readonly fingerprint?: string
  readonly dependency?: string
  readonly schedule?: string
  readonly createdAfter?: string
  readonly createdBefore?: string
  readonly error?: string
  readonly search?: string
}

export interface DeadFilterOptions extends Omit<FilterOptions, 'state' | 'phase'> {
  readonly group?: string
  readonly acknowledged?: boolean
}

export const STATES = ['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const

const GROUP = 'Filters:'

export function addFilterOptions(command: Command): Command {
  command
    .optionsGroup(GROUP)
    .addOption(
      withWords(new Option('--state <state>', 'in this state, or in one of several: dead,cancelled'), STATES).argParser(
        words,
      ),
    )
    .addOption(
      withWords(
        new Option('--phase <phase>', 'like --state, with scheduled, queued and retrying instead of waiting'),
        PHASES,
      ),
    )
  return addTraits(command, new Option('--fingerprint <id>', 'last error in this error group'))
}

/** The filters of dead jobs, without a state. */
export function addDeadFilterOptions(command: Command): Command {
  return addTraits(command.optionsGroup(GROUP), new Option('--group <fingerprint>', 'last error in this error group'))
    .addOption(new Option('--fingerprint <id>', 'same as --group').hideHelp())
    .option('--acknowledged', 'acknowledged')
    .option('--no-acknowledged', 'not acknowledged')
}

function addTraits(command: Command, group: Option): Command {
  return command
    .option('--queue <name>', 'in this queue')
    .option('--name <name>', 'with this name')
    .option('--tag <tag>', 'with this tag')
    .option('--key <key>', 'with this idempotency key')
    .option('--tenant <id>', 'of this tenant')
    .option('--reason <reason>', 'that died for this reason: exhausted, permanent, poison, …')
    .addOption(group)
    .option('--dependency <name>', 'with this dependency')
    .option('--schedule <id>', 'enqueued by this schedule')
    .option('--error <text>', 'last error contains this in its name, code or message')
    .option('--search <text>', 'id, name, key, tags, payload or error contains this')
    .option('--created-after <time>', 'created after a time (2026-12-24T18:00Z) or less than an age ago (2h)')
    .option('--created-before <time>', 'created before a time, or more than an age ago')
}

/** Offers the words to shell completion. They are checked later, with a suggestion for a misspelt one. */
function withWords(option: Option, known: readonly string[]): Option {
  option.argChoices = [...known]
  return option
}

function words(text: string): readonly string[] {
  return text.split(',')
}

export function queryOf(options: FilterOptions): JobQuery {
  const { state, phase } = options
  for (const word of state ?? []) checkWord(word, STATES, '--state')
  if (phase !== undefined) checkWord(phase, PHASES, '--phase')
  return present({
    state: state as (typeof STATES)[number][] | undefined,
    phase: phase as (typeof PHASES)[number] | undefined,
    ...traitsOf(options),
  })
}

export function deadQueryOf(options: DeadFilterOptions): DeadQuery {
  const { group, acknowledged } = options
  return { ...traitsOf(options), ...present({ fingerprint: group, acknowledged }) }
}

function traitsOf(options: FilterOptions): DeadQuery {
  const { queue, name, tag, key, tenant, reason, fingerprint, dependency, schedule, error, search } = options
  const { createdAfter, createdBefore } = options
  return present({
    queue,
    name,
    tag,
    key,
    tenantId: tenant,
    reason,
    fingerprint,
    dependency,
    scheduleId: schedule,
    error,
    q: search,
    createdAfter: createdAfter === undefined ? undefined : timeIn(createdAfter, '--created-after'),
    createdBefore: createdBefore === undefined ? undefined : timeIn(createdBefore, '--created-before'),
  })
}

/** A time, or an age. */
function timeIn(text: string, what: string): Date {
  const agoMs = parseDuration(text)
  const at = agoMs === undefined ? Date.parse(text) : Math.round(systemClock.now() - agoMs)
  if (Number.isFinite(at)) return new Date(at)
  throw new ChronosError(
    'INVALID_OPTION',
    `${what}: expected a time such as 2026-12-24T18:00Z or an age such as 2h, got ${shown(text)}`,
  )
}
