import { type Command, Option } from 'commander'
import { parseDuration } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { checkWord } from '../../../core/values/limits.js'
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
const PHASES = ['scheduled', 'queued', 'retrying', 'running', 'succeeded', 'dead', 'cancelled'] as const

const GROUP = 'Which jobs:'

export function addFilterOptions(command: Command): Command {
  command
    .optionsGroup(GROUP)
    .addOption(
      withWords(new Option('--state <state>', 'in this state, or in several: dead,cancelled'), STATES).argParser(words),
    )
    .addOption(withWords(new Option('--phase <phase>', 'a state, where waiting is told apart'), PHASES))
  return addTraits(command, new Option('--fingerprint <id>', 'whose last error is of this group'))
}

/** For commands that are about dead jobs alone: no state is left to choose. */
export function addDeadFilterOptions(command: Command): Command {
  return addTraits(command.optionsGroup(GROUP), new Option('--group <fingerprint>', 'of this error group'))
    .addOption(new Option('--fingerprint <id>', 'as it is called elsewhere').hideHelp())
    .option('--acknowledged', 'that somebody has acknowledged')
    .option('--no-acknowledged', 'that nobody has')
}

function addTraits(command: Command, group: Option): Command {
  return command
    .option('--queue <name>', 'of this queue')
    .option('--name <name>', 'of this name')
    .option('--tag <tag>', 'with this tag')
    .option('--key <key>', 'with this idempotency key')
    .option('--tenant <id>', 'of this tenant')
    .option('--reason <reason>', 'that died of this: exhausted, permanent, poison, …')
    .addOption(group)
    .option('--dependency <name>', 'that depend on this')
    .option('--schedule <id>', 'that this schedule made')
    .option('--error <text>', 'whose last error has this in its name, code or message')
    .option('--search <text>', 'that have this anywhere: id, name, key, tags, payload, error')
    .option('--created-after <time>', 'a time (2026-12-24T18:00Z) or an age (2h)')
    .option('--created-before <time>', 'the same')
}

/** Known to the shell's completion; what is given is checked where it is used, with a suggestion. */
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
  return {
    ...(state && { state: state as (typeof STATES)[number][] }),
    ...(phase !== undefined && { phase: phase as (typeof PHASES)[number] }),
    ...traitsOf(options),
  }
}

export function deadQueryOf(options: DeadFilterOptions): DeadQuery {
  const { group, acknowledged } = options
  return {
    ...traitsOf(options),
    ...(group !== undefined && { fingerprint: group }),
    ...(acknowledged !== undefined && { acknowledged }),
  }
}

function traitsOf(options: FilterOptions): DeadQuery {
  const {
    queue,
    name,
    tag,
    key,
    tenant,
    reason,
    fingerprint,
    dependency,
    schedule,
    createdAfter,
    createdBefore,
    error,
    search,
  } = options
  return {
    ...(queue !== undefined && { queue }),
    ...(name !== undefined && { name }),
    ...(tag !== undefined && { tag }),
    ...(key !== undefined && { key }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(reason !== undefined && { reason }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(dependency !== undefined && { dependency }),
    ...(schedule !== undefined && { scheduleId: schedule }),
    ...(error !== undefined && { error }),
    ...(search !== undefined && { q: search }),
    ...(createdAfter !== undefined && { createdAfter: timeIn(createdAfter, '--created-after') }),
    ...(createdBefore !== undefined && { createdBefore: timeIn(createdBefore, '--created-before') }),
  }
}

/** A time, or how long ago it was. */
function timeIn(text: string, what: string): number {
  const agoMs = parseDuration(text)
  const at = agoMs === undefined ? Date.parse(text) : Math.round(systemClock.now() - agoMs)
  if (Number.isFinite(at)) return at
  throw new ChronosError(
    'INVALID_OPTION',
    `${what}: expected a time such as 2026-12-24T18:00Z or an age such as 2h, got ${shown(text)}`,
  )
}
