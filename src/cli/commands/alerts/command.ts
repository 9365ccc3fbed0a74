import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos alerts list
  $ chronos alerts set dead-letters --for 15m
  $ chronos alerts silence --rule no-workers --label queue=mail --for 2h`

const LIST_EXAMPLES = `
Examples:
  $ chronos alerts list
  $ chronos alerts list --state firing
  $ chronos alerts list --json | jq '.data[] | select(.severity == "critical")'`

const RULES_EXAMPLES = `
Examples:
  $ chronos alerts rules
  $ chronos alerts rules --json`

const SET_EXAMPLES = `
Examples:
  $ chronos alerts set dead-letters --for 15m
  $ chronos alerts set retry-rate --fire 0.2 --clear 0.15
  $ chronos alerts set queue-latency --fire 10m --clear 5m
  $ chronos alerts set no-workers --off
  $ chronos alerts set retry-rate --reset`

const SILENCES_EXAMPLES = `
Examples:
  $ chronos alerts silences`

const SILENCE_EXAMPLES = `
Examples:
  $ chronos alerts silence --for 30m                       everything
  $ chronos alerts silence --rule circuit-open --for 2h
  $ chronos alerts silence --label queue=mail --for 1d --comment "moving house"`

const UNSILENCE_EXAMPLES = `
Examples:
  $ chronos alerts unsilence 0192f0c1-7b1e-7c3a-9d4e-5f6a7b8c9d0e`

/** What needs a person, and when people hear of it. */
export function addAlerts(program: Command, io: Io): void {
  const alerts = program
    .command('alerts')
    .summary('look at alerts, change their rules, silence them')
    .description('Looks at alerts, changes the rules that raise them, and keeps them quiet for a while.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = alerts
    .command('list')
    .summary('list the alerts')
    .description('Lists what fires, what may fire soon, and what is over since yesterday.')
    .option('--state <state>', 'only these: pending, firing, resolved')
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./list.js')).listAlerts(options, io))

  addRules(alerts, io)
  addSilences(alerts, io)
}

function addRules(alerts: Command, io: Io): void {
  const rules = alerts
    .command('rules')
    .summary('list the rules')
    .description(
      'Lists the rules: the defaults, with what was set here over them. What the code of a worker says lies between ' +
        'the two, and is not known to this command.',
    )
    .addHelpText('after', RULES_EXAMPLES)
  addBackendOptions(rules).action(async options => (await import('./rules.js')).listRules(options, io))

  const set = alerts
    .command('set')
    .summary('change a rule, for every process')
    .description('Changes a rule, over what the code says. Whoever looks next knows it; what is not given stays.')
    .argument('<rule>', 'its name, as `alerts rules` shows it')
    .option('--fire <value>', 'above this it begins: 5, 0.1, 10m')
    .option('--clear <value>', 'at or below this it may end')
    .option('--critical <value>', 'above this it is critical')
    .option('--for <duration>', 'how long it must be true')
    .option('--keep <duration>', 'how long it must not be true any more')
    .option('--repeat <duration>', 'how often people are told again, or "doubled"')
    .option('--on', 'turn it on')
    .option('--off', 'turn it off')
    .option('--reset', 'take away what was set')
    .addHelpText('after', SET_EXAMPLES)
  addBackendOptions(set).action(async (rule, options) => (await import('./rules.js')).setRule(rule, options, io))
}

function addSilences(alerts: Command, io: Io): void {
  const silences = alerts
    .command('silences')
    .summary('list the silences')
    .description('Lists the silences, the one that ends last first, and those that are over since yesterday.')
    .addHelpText('after', SILENCES_EXAMPLES)
  addBackendOptions(silences).action(async options => (await import('./silences.js')).listSilences(options, io))

  const silence = alerts
    .command('silence')
    .summary('tell nobody of some alerts for a while')
    .description('Tells nobody of the alerts that match, for a while. They fire and end as they would.')
    .option('--rule <rule>', 'of this rule (default: of all)')
    .option(
      '--label <name=value>',
      'with this label; may be given again',
      (value, all: string[]) => [...all, value],
      [],
    )
    .option('--for <duration>', 'how long: 30m, 2h, 1d')
    .option('--until <time>', 'or until when: 2026-12-24T18:00:00Z')
    .option('--comment <words>', 'why')
    .addHelpText('after', SILENCE_EXAMPLES)
  addBackendOptions(silence).action(async options => (await import('./silences.js')).addSilence(options, io))

  const unsilence = alerts
    .command('unsilence')
    .summary('end a silence')
    .description('Ends a silence: what fires is told of at the next look.')
    .argument('<id>', 'as `alerts silences` shows it')
    .addHelpText('after', UNSILENCE_EXAMPLES)
  addBackendOptions(unsilence).action(async (id, options) =>
    (await import('./silences.js')).endSilence(id, options, io),
  )
}
