import { type Command, InvalidArgumentError } from 'commander'
import { CAPACITY_MAX, JOBS_MAX, SEED_MAX } from '../../../core/simulation/simulate.js'
import { duration, integer } from '../../../core/values/schema.js'
import { collect } from '../../argument.js'
import type { CommandSpec } from '../../command.js'
import { addPolicyFlags, reader } from './flags.js'

const POLICY = ['[policy]', 'name of a preset, or JSON (default: standard)'] as const

const json = (command: Command): Command => command.option('--json', 'print JSON')

const GIVEN = `
A policy is the name of a preset, JSON, or a file; flags override its fields.
Fields that are left out come from the preset standard, as for a job.`

const preview: CommandSpec = {
  name: 'preview',
  summary: 'show the delays of a policy, warnings about it, and the outage that it survives',
  arguments: [POLICY],
  options: command => json(addPolicyFlags(command)),
  common: 'none',
  examples: `
chronos policy preview                        the default policy, standard
chronos policy preview patient --retries 12   a preset, changed
chronos policy preview --base 1m --cap 1h --retries 3 --jitter 0.2
chronos policy preview --delays 30s,2m,15m,1h
chronos policy preview '{"maxRetries":5,"jitter":"full"}'
chronos policy preview --file retry.json --json`,
  notes: GIVEN,
  run: async () => (await import('./preview.js')).previewPolicy,
}

const simulate: CommandSpec = {
  name: 'simulate',
  summary: 'simulate a thundering herd of failing jobs during an outage, with and without jitter',
  arguments: [POLICY],
  options: command =>
    json(
      addPolicyFlags(command)
        .option('--jobs <number>', 'number of failing jobs', reader('--jobs', integer(1, JOBS_MAX)), 1_000)
        .option('--within <duration>', 'spread the first runs over this time', reader('--within', duration()), '1s')
        .option('--outage <duration>', 'how long the dependency is down', reader('--outage', duration()), '5m')
        .option('--capacity <rate>', 'attempts per second that it handles afterwards, 100/s (default: all)', capacity)
        .option('--takes <duration>', 'how long each attempt takes', reader('--takes', duration()), '0s')
        .option('--limit <settings>', 'limits of the queue: rate=20/s,burst=5,concurrency=10')
        .option('--partitions <settings>', 'spread the jobs over partitions with limits: count=100,rate=1/s')
        .option('--seed <number>', 'seed of the random delays', reader('--seed', integer(0, SEED_MAX)), 1)
        .option('--assert <check>', "exit with 8 unless it holds: 'survives>=5m'; may be repeated", collect),
    ),
  common: 'none',
  examples: `
chronos policy simulate --jobs 1000 --outage 5m --capacity 100/s
chronos policy simulate financial --jitter equal --outage 30s --seed 7
chronos policy simulate --outage 0s --capacity 9/s --limit rate=9/s,burst=1
chronos policy simulate --takes 2s --partitions count=50,concurrency=2
chronos policy simulate --file retry.json --assert 'survives>=5m'
chronos policy simulate --json | jq .withJitter.peakPerSecond`,
  notes: `
The dependency is down from 0 until the outage ends: every attempt fails. After
that it handles --capacity attempts per second; the others fail and use an
attempt. The workers' own code plans the retries. With limits, a due attempt
starts when they allow it, and partitions take turns.
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
  wait<=30s           the longest that an attempt waits for a limit

Exit codes: 0 if all assertions hold, 8 if one does not.`,
  run: async () => (await import('./simulate.js')).simulatePolicy,
}

export const policy: CommandSpec = {
  name: 'policy',
  summary: 'preview retry policies and simulate an outage',
  details: 'Try a policy before jobs depend on it. Needs no store.',
  examples: `
chronos policy list
chronos policy preview patient --retries 12
chronos policy simulate --jobs 1000 --outage 5m --capacity 100/s`,
  commands: [
    {
      name: 'list',
      summary: 'list the presets with the outage that each survives',
      options: json,
      common: 'none',
      examples: `
chronos policy list
chronos policy list --json | jq -r '.[] | "\\(.name) \\(.outageSurvivedMs)"'`,
      run: async () => (await import('./list.js')).listPolicies,
    },
    preview,
    simulate,
  ],
}

const readCapacity = reader('--capacity', integer(1, CAPACITY_MAX))

function capacity(text: string): unknown {
  const number = /^(\d+)(?:\/s)?$/.exec(text)?.[1]
  if (number === undefined) throw new InvalidArgumentError('Expected attempts per second, as in 100/s.')
  return readCapacity(number)
}
