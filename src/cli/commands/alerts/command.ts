import { collect, time, wholeNumber } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import { oneLine } from '../../output/width.js'

const rules: readonly CommandSpec[] = [
  {
    name: 'rules',
    summary: 'list alert rules',
    details:
      'The list shows the defaults and the changes made with `alerts set`. Rules that are set in the code of a worker ' +
      'are not known to this command.',
    examples: `
chronos alerts rules
chronos alerts rules --json`,
    run: async () => (await import('./rules.js')).listRules,
  },
  {
    name: 'set',
    summary: 'change an alert rule for every process',
    details: 'The change takes precedence over the code, from the next evaluation on. Other settings stay as they are.',
    arguments: [['<rule>', 'name of the rule, as `alerts rules` shows it']],
    options: command =>
      command
        .option('--fire <value>', 'fire above this value: 5, 0.1, 10m')
        .option('--clear <value>', 'resolve at or below this value')
        .option('--critical <value>', 'critical above this value')
        .option('--for <duration>', 'fire only if the condition holds this long')
        .option('--keep <duration>', 'resolve only if the condition is over this long')
        .option('--repeat <duration>', 'notify again this often, or "doubled"')
        .option('--window <duration>', 'count this far back')
        .option('--min-retries <count>', 'no value with fewer retries in the window', wholeNumber)
        .option('--on', 'turn the rule on')
        .option('--off', 'turn the rule off')
        .option('--reset', 'remove all changes to the rule'),
    examples: `
chronos alerts set dead-letters --for 15m
chronos alerts set retry-rate --fire 0.2 --clear 0.15
chronos alerts set queue-latency --fire 10m --clear 5m
chronos alerts set retry-rate --window 15m --min-retries 20
chronos alerts set no-workers --off
chronos alerts set retry-rate --reset`,
    run: async () => (await import('./rules.js')).setRule,
  },
]

const silences: readonly CommandSpec[] = [
  {
    name: 'silences',
    summary: 'list silences, including those that ended in the last day',
    examples: 'chronos alerts silences',
    run: listing(async () => (await import('./silences.js')).SILENCES),
  },
  {
    name: 'silence',
    summary: 'silence alerts',
    details: 'Matching alerts still fire and resolve, but send no notifications.',
    options: command =>
      command
        .option('--rule <rule>', 'only alerts of this rule')
        .option('--label <name=value>', 'only alerts with this label; repeatable', collect)
        .option('--for <duration>', 'length of the silence: 30m, 2h, 1d')
        .option('--until <time>', 'end of the silence: 2026-12-24T18:00:00Z', time)
        .option('--comment <text>', 'reason'),
    examples: `
chronos alerts silence --for 30m                       all alerts
chronos alerts silence --rule circuit-open --for 2h
chronos alerts silence --label queue=mail --for 1d --comment "moving hosts"`,
    run: async () => (await import('./silences.js')).addSilence,
  },
  {
    name: 'unsilence',
    summary: 'end a silence',
    details: 'Alerts that fire send notifications again from the next evaluation on.',
    arguments: [['<id>', 'id of the silence, as `alerts silences` shows it']],
    examples: 'chronos alerts unsilence 0192f0c1-7b1e-7c3a-9d4e-5f6a7b8c9d0e',
    run: acting(({ alerts }, id: string) => alerts.unsilence(id).then(() => ({ id })), {
      text: ({ id }) => `silence ${oneLine(id)} ended`,
    }),
  },
]

export const alerts: CommandSpec = {
  name: 'alerts',
  summary: 'list and silence alerts, and change their rules',
  examples: `
chronos alerts list
chronos alerts set dead-letters --for 15m
chronos alerts silence --rule no-workers --label queue=mail --for 2h`,
  commands: [
    {
      name: 'list',
      summary: 'list firing, pending and recently resolved alerts',
      details: 'Resolved alerts are listed for one day.',
      options: command => command.option('--state <state>', 'only alerts in this state: pending, firing, resolved'),
      examples: `
chronos alerts list
chronos alerts list --state firing
chronos alerts list --json | jq '.data[] | select(.severity == "critical")'`,
      run: listing(async () => (await import('./list.js')).ALERTS),
    },
    ...rules,
    ...silences,
  ],
}
