import { type Command, InvalidArgumentError } from 'commander'
import { CAPACITY_MAX, JOBS_MAX, SEED_MAX } from '../../../core/simulation/simulate.js'
import { toMs } from '../../../core/values/duration.js'
import { checkInteger } from '../../../core/values/limits.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { withPolicyFlags } from './flags.js'
import type { PolicyFlags } from './input.js'
import type { SimulateOptions } from './simulate.js'

const LIST_EXAMPLES = `
Examples:
  $ chronos policy list
  $ chronos policy list --json | jq -r '.[] | "\\(.name) \\(.outageSurvivedMs)"'`

const GIVEN = `
A policy is the name of a preset, JSON, or a file; flags override its fields.
Fields that are left out come from the preset standard, as for a job.`

const PREVIEW_EXAMPLES = `
Examples:
  $ chronos policy preview                        the default policy, standard
  $ chronos policy preview patient --retries 12   a preset, changed
  $ chronos policy preview --base 1m --cap 1h --retries 3 --jitter 0.2
  $ chronos policy preview --delays 30s,2m,15m,1h
  $ chronos policy preview '{"maxRetries":5,"jitter":"full"}'
  $ chronos policy preview --file retry.json --json
${GIVEN}`

const SIMULATE_EXAMPLES = `
Examples:
  $ chronos policy simulate --jobs 1000 --outage 5m --capacity 100/s
  $ chronos policy simulate financial --jitter equal --outage 30s --seed 7
  $ chronos policy simulate --file retry.json --assert 'survives>=5m'
  $ chronos policy simulate --json | jq .withJitter.peakPerSecond

The dependency is down from 0 until the outage ends: every attempt fails. After
that it handles --capacity attempts per second; the others fail and use an
attempt. Attempts take no time. The workers' own code plans the retries.
${GIVEN}

Assertions judge the policy as given, with >=, <=, >, < or =:
  survives>=5m        the longest outage after which 99 % of the jobs still
                      have a run
  peak<=200           attempts per second after recovery; 2x is twice the
                      capacity
  dead<=0, dead<=1%   jobs that ran out of retries
  amplification<=3    attempts per job
  attempts<=4000      attempts in total
  done<=10m           time until the last job has ended

Exit codes: 0 if all assertions hold, 8 if one does not.`

export function addPolicy(program: Command, io: Io, exit: (code: number) => void): void {
  const policy = program
    .command('policy')
    .summary('preview retry policies and simulate an outage')
    .description('Preview retry policies and simulate an outage, before jobs depend on them. Needs no store.')

  policy
    .command('list')
    .description('List the presets with the outage that each survives.')
    .option('--json', 'print JSON')
    .addHelpText('after', LIST_EXAMPLES)
    .action(async (options: { json?: true }) => {
      const { listPolicies } = await import('./list.js')
      listPolicies(options, io)
    })

  const preview = policy
    .command('preview')
    .description('Show the delays of a policy, warnings about it, and the outage that it survives.')
  withPolicyFlags(preview)
    .option('--json', 'print JSON')
    .addHelpText('after', PREVIEW_EXAMPLES)
    .action(async (given: string | undefined, options: PolicyFlags & { json?: true }) => {
      const { previewPolicy } = await import('./preview.js')
      await previewPolicy(given, options, io)
    })

  const simulate = policy
    .command('simulate')
    .description('Simulate a thundering herd of failing jobs during an outage, with and without jitter.')
  withPolicyFlags(simulate)
    .option('--jobs <number>', 'number of failing jobs', whole('--jobs', 1, JOBS_MAX), 1_000)
    .option('--within <duration>', 'spread the first runs over this time', duration('--within'), '1s')
    .option('--outage <duration>', 'how long the dependency is down', duration('--outage'), '5m')
    .option('--capacity <rate>', 'attempts per second that it handles afterwards, 100/s (default: all)', capacity)
    .option('--seed <number>', 'seed of the random delays', whole('--seed', 0, SEED_MAX), 1)
    .option('--assert <check>', "exit with 8 unless it holds: 'survives>=5m'; may be repeated", collect)
    .option('--json', 'print JSON')
    .addHelpText('after', SIMULATE_EXAMPLES)
    .action(async (given: string | undefined, options: SimulateOptions) => {
      const { simulatePolicy } = await import('./simulate.js')
      exit((await simulatePolicy(given, options, io)) ? EXIT.ok : EXIT.checkFailed)
    })
}

const duration =
  (flag: string) =>
  (text: string): string => {
    toMs(text, flag)
    return text
  }

const whole =
  (flag: string, min: number, max: number) =>
  (text: string): number => {
    // Number() would read empty text as 0, and accept 1e3 and 0x10.
    const value = /^\d+$/.test(text) ? Number(text) : text
    checkInteger(value, flag, min, max)
    return value
  }

function capacity(text: string): number {
  const number = /^(\d+)(?:\/s)?$/.exec(text)?.[1]
  if (number === undefined) throw new InvalidArgumentError('Expected attempts per second, as in 100/s.')
  return whole('--capacity', 1, CAPACITY_MAX)(number)
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}
