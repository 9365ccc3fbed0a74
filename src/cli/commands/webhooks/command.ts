import { type Command, Option } from 'commander'
import { limitWords } from '../../../core/partition/words.js'
import { present } from '../../../core/values/present.js'
import type { Rate } from '../../../core/values/rate.js'
import { ENDPOINT_CONCURRENCY, type EndpointView } from '../../../core/webhook/webhook.js'
import type { RecoverOptions } from '../../../engine/webhooks/webhooks.js'
import { addPageOptions, collect, rate, time, wholeNumber } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import { many } from '../../output/show.js'
import { oneLine } from '../../output/width.js'

const state = new Option('--state <state>', 'only endpoints in this state')
state.argChoices = ['enabled', 'disabled']

const stateLine = ({ id, state }: EndpointView): string => `webhook endpoint ${oneLine(id)} is ${state}`

const limitLine = ({ id, concurrency = ENDPOINT_CONCURRENCY, rate }: EndpointView): string =>
  `webhook endpoint ${oneLine(id)}: ${limitWords(present({ concurrency, rate }))}`

const DEFAULT = 'default'

const orDefault =
  <T>(parse: (text: string) => T) =>
  (text: string): T | typeof DEFAULT =>
    text === DEFAULT ? text : parse(text)

/** null stands for the default. */
const given = <T>(value: T | typeof DEFAULT | undefined): T | null | undefined => (value === DEFAULT ? null : value)

interface LimitFlags {
  readonly concurrency?: number | typeof DEFAULT
  readonly rate?: Rate | typeof DEFAULT
}

const ID = ['<id>', 'id of the webhook endpoint'] as const

const create: CommandSpec = {
  name: 'create',
  summary: 'create a webhook endpoint and print its secret',
  details: 'The endpoint gets a signed POST for each event. The secret is printed once.',
  arguments: [['<url>', 'URL that gets the requests']],
  options: command =>
    command
      .requiredOption('--event <event>', 'job.succeeded, job.dead, job.cancelled, job.retrying, …; repeatable', collect)
      .option('--queue <name>', 'only jobs in this queue; repeatable', collect)
      .option('--name <name>', 'only jobs with this name; repeatable', collect)
      .option('--tenant <id>', 'only events of this tenant')
      .option('--retry <policy>', 'name of a preset, or a policy as JSON (default: retry after 30s, 60s and 120s)')
      .option('--concurrency <number>', 'deliveries at the same time, over all processes (default: 10)', wholeNumber)
      .option('--rate <rate>', 'maximum rate of deliveries: 20/s, 600/m (default: no limit)', rate)
      .option('--secret-file <path>', 'sign with the secret in this file, whsec_… (default: a new one)'),
  examples: `
chronos webhooks create https://example.com/hook --event job.dead
chronos webhooks create https://example.com/hook --event job.dead \\
  --event job.succeeded --queue payments --tenant acme`,
  notes: 'Messages are signed (Standard Webhooks); `verifyWebhook` checks them.',
  run: async () => (await import('./run.js')).createWebhook,
}

const reading: readonly CommandSpec[] = [
  {
    name: 'list',
    summary: 'list webhook endpoints, oldest first',
    options: command => addPageOptions(command).addOption(state),
    examples: `
chronos webhooks list
chronos webhooks list --state disabled`,
    run: listing(async () => (await import('./run.js')).WEBHOOKS),
  },
  {
    name: 'deliveries',
    summary: 'list the deliveries of an endpoint, newest first',
    details: 'A delivery is a job.',
    arguments: [ID],
    options: (command: Command) =>
      addPageOptions(command.option('--state <state>', 'waiting, running, succeeded, dead or cancelled')),
    examples: `
chronos webhooks deliveries ID
chronos webhooks deliveries ID --state dead
chronos jobs history DELIVERY`,
    run: listing(async () => (await import('./run.js')).DELIVERIES),
  },
]

const changing: readonly CommandSpec[] = [
  {
    name: 'test',
    summary: 'send a webhook.test message and print the delivery id',
    arguments: [ID],
    examples: 'chronos webhooks test ID',
    run: acting(({ webhooks }, id: string) => webhooks.test(id), {
      text: delivery => delivery.id,
      note: () => 'a running worker sends it',
    }),
  },
  {
    name: 'limit',
    summary: 'set how many deliveries an endpoint gets',
    details: 'The limits hold over all processes, at once. What is not given stays as it is.',
    arguments: [ID],
    options: command =>
      command
        .option('--concurrency <number>', 'deliveries at the same time, or `default` (10)', orDefault(wholeNumber))
        .option('--rate <rate>', 'maximum rate: 20/s, 600/m, or `default` (no limit)', orDefault(rate)),
    examples: `
chronos webhooks limit ID --concurrency 2
chronos webhooks limit ID --rate 600/m
chronos webhooks limit ID --concurrency default --rate default`,
    run: acting(
      ({ webhooks }, id: string, { concurrency, rate }: LimitFlags) =>
        webhooks.limit(id, present({ concurrency: given(concurrency), rate: given(rate) })),
      { text: limitLine },
    ),
  },
  {
    name: 'enable',
    summary: 'enable a disabled endpoint',
    arguments: [ID],
    examples: 'chronos webhooks enable ID',
    run: acting(({ webhooks }, id: string) => webhooks.enable(id), { text: stateLine }),
  },
  {
    name: 'disable',
    summary: 'disable an endpoint',
    details: 'Deliveries in progress finish. Events that happen while it is disabled are not delivered later.',
    arguments: [ID],
    examples: 'chronos webhooks disable ID',
    run: acting(({ webhooks }, id: string) => webhooks.disable(id), { text: stateLine }),
  },
  {
    name: 'delete',
    summary: 'delete an endpoint',
    details: 'Deliveries in progress finish.',
    arguments: [ID],
    examples: 'chronos webhooks delete ID',
    run: acting(({ webhooks }, id: string) => webhooks.delete(id).then(() => ({ id, deleted: true })), {
      text: ({ id }) => `webhook endpoint ${oneLine(id)} is deleted`,
    }),
  },
  {
    name: 'rotate-secret',
    summary: 'replace the secret of an endpoint and print the new one',
    details: 'The new secret is printed once. Messages are signed with both secrets for one day.',
    arguments: [ID],
    examples: `
chronos webhooks rotate-secret ID
chronos webhooks rotate-secret per-job     for URLs given with --webhook`,
    run: acting(({ webhooks }, id: string) => webhooks.rotateSecret(id), {
      text: ({ secret }) => secret,
      note: () => 'messages are signed with the old and the new secret for one day',
    }),
  },
  {
    name: 'recover',
    summary: 'redrive the dead deliveries of an endpoint',
    details: 'Running workers carry out the redrive; its id is printed.',
    arguments: [ID],
    options: command =>
      command
        .requiredOption('--since <time>', 'messages created from this time on', time)
        .option('--rate <rate>', 'maximum rate: 20/s, 600/m (default: 10/s)', rate),
    examples: `
chronos webhooks recover ID --since 2026-11-16T00:00Z
chronos webhooks recover ID --since 2026-11-16T00:00Z --rate 5/s
chronos redrives get REDRIVE --follow`,
    run: acting(
      ({ webhooks }, id: string, { since, rate }: RecoverOptions) => webhooks.recover(id, present({ since, rate })),
      {
        text: ({ id }) => id,
        note: ({ id, total }) =>
          `redriving ${many(total.value, 'delivery', 'deliveries')}; follow it with \`chronos redrives get ${id} --follow\``,
      },
    ),
  },
]

export const webhooks: CommandSpec = {
  name: 'webhooks',
  summary: 'manage webhook endpoints and their deliveries',
  examples: `
chronos webhooks create https://example.com/hook --event job.dead
chronos webhooks list
chronos webhooks test ID
chronos webhooks deliveries ID --state dead
chronos webhooks recover ID --since 2026-11-16T00:00Z`,
  commands: [...reading, create, ...changing],
}
