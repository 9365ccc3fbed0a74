import type { Command } from 'commander'
import { collect, rate, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos webhooks create https://example.com/hook --event job.dead
  $ chronos webhooks list
  $ chronos webhooks test ID
  $ chronos webhooks deliveries ID --state dead
  $ chronos webhooks recover ID --since 2026-11-16T00:00Z`

const CREATE_EXAMPLES = `
Examples:
  $ chronos webhooks create https://example.com/hook --event job.dead
  $ chronos webhooks create https://example.com/hook --event job.dead \\
      --event job.succeeded --queue payments --tenant acme

The secret that proves who sends goes to stdout, this once. Messages are signed
as Standard Webhooks says; \`verifyWebhook\` checks them.`

const LIST_EXAMPLES = `
Examples:
  $ chronos webhooks list
  $ chronos webhooks list --json | jq '.data[] | select(.state == "disabled")'`

const DELIVERIES_EXAMPLES = `
Examples:
  $ chronos webhooks deliveries ID
  $ chronos webhooks deliveries ID --state dead
  $ chronos jobs history DELIVERY`

const RECOVER_EXAMPLES = `
Examples:
  $ chronos webhooks recover ID --since 2026-11-16T00:00Z
  $ chronos webhooks recover ID --since 2026-11-16T00:00Z --rate 5/s
  $ chronos redrives get REDRIVE --follow`

const ROTATE_EXAMPLES = `
Examples:
  $ chronos webhooks rotate-secret ID
  $ chronos webhooks rotate-secret per-job   for addresses that jobs name

For a day messages are signed with both.`

/** Who is told when jobs end. */
export function addWebhooks(program: Command, io: Io): void {
  const webhooks = program
    .command('webhooks')
    .summary('tell others when jobs end')
    .description('Looks at webhooks, makes, tests and deletes them, and sends again what did not get through.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = webhooks
    .command('list')
    .summary('list the webhooks')
    .description('Lists the webhooks, the oldest first.')
    .option('--limit <number>', 'at most so many (default: 50)', wholeNumber)
    .option('--cursor <cursor>', 'go on where a list ended')
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./run.js')).listWebhooks(options, io))

  addCreate(webhooks, io)
  for (const [verb, summary, description] of VERBS) {
    const command = webhooks
      .command(verb)
      .summary(summary)
      .description(description)
      .argument('<id>', 'of the webhook')
      .addHelpText('after', `\nExamples:\n  $ chronos webhooks ${verb} ID`)
    addBackendOptions(command).action(async (id, options) => (await import('./run.js')).actOn(verb, id, options, io))
  }

  const rotate = webhooks
    .command('rotate-secret')
    .summary('replace the secret of a webhook')
    .description('Replaces the secret of a webhook. The new one goes to stdout, this once.')
    .argument('<id>', 'of the webhook')
    .addHelpText('after', ROTATE_EXAMPLES)
  addBackendOptions(rotate).action(async (id, options) => (await import('./run.js')).rotateSecret(id, options, io))

  const deliveries = webhooks
    .command('deliveries')
    .summary('list what was sent to a webhook')
    .description('Lists what was or will be sent to a webhook, the newest first. Deliveries are jobs like any other.')
    .argument('<id>', 'of the webhook')
    .option('--state <state>', 'waiting, running, succeeded, dead or cancelled')
    .option('--limit <number>', 'at most so many (default: 50)', wholeNumber)
    .option('--cursor <cursor>', 'go on where a list ended')
    .addHelpText('after', DELIVERIES_EXAMPLES)
  addBackendOptions(deliveries).action(async (id, options) =>
    (await import('./run.js')).listDeliveries(id, options, io),
  )

  const recover = webhooks
    .command('recover')
    .summary('send again what failed for good')
    .description('Sends again what failed for good since a time: a redrive, carried out while a worker runs somewhere.')
    .argument('<id>', 'of the webhook')
    .requiredOption('--since <time>', 'of messages from this time on')
    .option('--rate <rate>', 'how fast: 20/s, 600/m (default: 10/s)', rate)
    .addHelpText('after', RECOVER_EXAMPLES)
  addBackendOptions(recover).action(async (id, options) => (await import('./run.js')).recover(id, options, io))
}

const VERBS = [
  [
    'test',
    'send a message to try it out',
    'Sends a message of the type webhook.test. The id of its delivery goes to stdout.',
  ],
  ['enable', 'send to it again', 'Enables a webhook that was disabled, by hand or because nothing got through.'],
  [
    'disable',
    'send nothing to it',
    'Disables a webhook. What is on its way to it ends; what happens meanwhile is not kept.',
  ],
  ['delete', 'remove a webhook', 'Removes a webhook. What is on its way to it ends.'],
] as const

export type WebhookVerb = (typeof VERBS)[number][0]

function addCreate(webhooks: Command, io: Io): void {
  const create = webhooks
    .command('create')
    .summary('make a webhook')
    .description('Makes a webhook: an address that gets a signed POST when something happens.')
    .argument('<url>', 'where to')
    .requiredOption(
      '--event <event>',
      'job.succeeded, job.dead, job.cancelled, job.retrying, …; several times',
      collect,
    )
    .option('--queue <name>', 'only of jobs in this queue; several times', collect)
    .option('--name <name>', 'only of jobs with this name; several times', collect)
    .option('--tenant <id>', 'only what belongs to this tenant')
    .option('--retry <policy>', "a preset's name, or a policy as JSON (default: after 30s, 60s and 120s)")
    .addHelpText('after', CREATE_EXAMPLES)
  addBackendOptions(create).action(async (url, options) => (await import('./run.js')).createWebhook(url, options, io))
}
