import { type Command, Option } from 'commander'
import { type DeadQuery, type JobQuery, PHASE_HINTS, TIME_FIELDS, type TimeField } from '../../../core/job/filter.js'
import { JOB_STATES, PHASES } from '../../../core/job/job.js'
import type { Count } from '../../../core/values/count.js'
import type { ChronosError } from '../../../core/values/error.js'
import { checkWord } from '../../../core/values/limits.js'
import { present } from '../../../core/values/present.js'
import type { WordHints } from '../../../core/values/suggest.js'
import { pastTime } from '../../argument.js'
import { usage } from '../../exit.js'

export interface FilterOptions extends Pick<JobQuery, 'state' | 'phase' | 'retried'> {}
export interface DeadFilterOptions extends Pick<DeadQuery, 'acknowledged' | 'retried'> {}

/** Conditions that a dead job can't fulfil, or that a redrive does not take. */
const NOT_DEAD: readonly string[] = ['redriveId', 'workerId']

type Trait = Exclude<keyof JobQuery, 'ids' | 'state' | 'phase' | 'internal' | 'acknowledged' | 'retried'>

/** The flag and the help of each condition. The library checks the values. */
const TRAITS: Readonly<Record<Trait, readonly [flag: string, help: string]>> = {
  queue: ['--queue <name>', 'in this queue'],
  name: ['--name <name>', 'with this name'],
  tag: ['--tag <tag>', 'with this tag'],
  key: ['--key <key>', 'with this idempotency key'],
  tenantId: ['--tenant <id>', 'of this tenant'],
  reason: ['--reason <reason>', 'that died for this reason: exhausted, permanent, poison, …'],
  fingerprint: ['--fingerprint <id>', 'last error in this error group'],
  dependency: ['--dependency <name>', 'with this dependency'],
  scheduleId: ['--schedule <id>', 'enqueued by this schedule'],
  redriveId: ['--redrive <id>', 'started again by this redrive'],
  workerId: ['--worker <id>', 'that this worker runs now'],
  error: ['--error <text>', 'last error contains this in its name, code or message'],
  q: ['--search <text>', 'id, name, key, tags, payload or error contains this'],
  createdAfter: ['--created-after <time>', 'created after a time (2026-12-24T18:00Z) or less than an age ago (2h)'],
  createdBefore: ['--created-before <time>', 'created before a time, or more than an age ago'],
  startedAfter: ['--started-after <time>', 'last started after a time or less than an age ago'],
  startedBefore: ['--started-before <time>', 'last started before a time'],
  finishedAfter: ['--finished-after <time>', 'ended after a time or less than an age ago'],
  finishedBefore: ['--finished-before <time>', 'ended before a time'],
  failedAfter: ['--failed-after <time>', 'a run failed after a time or less than an age ago'],
  failedBefore: ['--failed-before <time>', 'a run failed before a time; with --failed-after, the same run'],
}

const OPTIONS = Object.entries(TRAITS).map(([field, [flag, help]]) => {
  const option = new Option(flag, help)
  return {
    field,
    option: TIME_FIELDS.includes(field as TimeField) ? option.argParser(pastTime(option.long!)) : option,
  }
})

const GROUP = 'Filters:'

export function addFilterOptions(command: Command): Command {
  command
    .optionsGroup(GROUP)
    .addOption(
      words('--state <state>', 'in this state, or in one of several: dead,cancelled', JOB_STATES, true, PHASE_HINTS),
    )
    .addOption(
      words(
        '--phase <phase>',
        'like --state, with scheduled, queued, retrying and blocked instead of waiting',
        PHASES,
        false,
      ),
    )
  for (const { option } of OPTIONS) command.addOption(option)
  return addRetried(command)
}

function addRetried(command: Command): Command {
  return command.option('--retried', 'with more than one attempt').option('--no-retried', 'with one attempt at most')
}

/** The filters of dead jobs, without a state. */
export function addDeadFilterOptions(command: Command): Command {
  command.optionsGroup(GROUP)
  for (const { option, field } of OPTIONS) {
    if (NOT_DEAD.includes(field)) continue
    command.addOption(field === 'fingerprint' ? new Option('--group <fingerprint>', option.description) : option)
  }
  return addRetried(command)
    .addOption(new Option('--fingerprint <id>', 'same as --group').hideHelp())
    .option('--acknowledged', 'acknowledged')
    .option('--no-acknowledged', 'not acknowledged')
}

/** Offers the words to shell completion, and suggests one for a misspelt one. */
function words(flag: string, help: string, known: readonly string[], isList: boolean, hints?: WordHints): Option {
  const option = new Option(flag, help).argParser(text => {
    const all = isList ? text.split(',') : [text]
    for (const word of all) checkWord(word, known, option.long!, hints)
    return isList ? all : text
  })
  option.argChoices = [...known]
  return option
}

export function queryOf(options: FilterOptions): JobQuery {
  const { state, phase, retried } = options
  return present({ state, phase, retried, ...traitsOf(options) })
}

export function deadQueryOf(options: DeadFilterOptions): DeadQuery {
  const { group, acknowledged, retried } = options as DeadFilterOptions & { readonly group?: string }
  return { ...traitsOf(options), ...present({ fingerprint: group, acknowledged, retried }) }
}

function traitsOf(options: object): DeadQuery {
  const given = options as Readonly<Record<string, unknown>>
  return present(Object.fromEntries(OPTIONS.map(({ field, option }) => [field, given[option.attributeName()]])))
}

/** Everything must be asked for with `--all`; `example` is a filter that suits the command. */
export function checkChoice(
  command: string,
  ids: readonly string[],
  query: object,
  all: true | undefined,
  example: string,
): void {
  const isFiltered = Object.keys(query).length > 0
  if (ids.length > 0 && (isFiltered || all)) throw usage(`${command}: give either ids or a filter`)
  if (ids.length > 0 || isFiltered || all) return
  throw usage(`${command}: give ids, a filter such as ${example}, or --all`)
}

/** The error of a command that only counted. `--at-most` confirms the number that was shown. */
export function unconfirmed(words: string, { value, relation }: Count): ChronosError {
  const limit = relation === 'exact' ? ` --at-most ${value}` : ''
  return usage(`${words}; add --yes${limit} to confirm, or --dry-run to see some of them`)
}
