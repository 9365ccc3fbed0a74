import { type Command, Option } from 'commander'
import { addPageOptions, rate, share, wholeNumber } from '../../argument.js'
import { acting, type CommandSpec } from '../../command.js'
import { many } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { addConfirmation } from '../jobs/command.js'
import { addDeadFilterOptions } from '../jobs/filter.js'

const FINGERPRINT = ['<fingerprint>', 'fingerprint of the error group'] as const
const IDS = ['[ids...]', 'ids of dead jobs'] as const

const ofTenant = (command: Command): Command => command.option('--tenant <id>', 'only the part of this tenant')
const chosen = (command: Command): Command => addConfirmation(addDeadFilterOptions(command), 'all dead jobs')

const state = new Option('--state <state>', 'only groups in this state')
state.argChoices = ['open', 'resolved', 'regressed', 'ignored']

const reading: readonly CommandSpec[] = [
  {
    name: 'list',
    summary: 'list dead jobs with their last error, newest first',
    options: command => addDeadFilterOptions(addPageOptions(command)),
    examples: `
chronos dead list --queue payments
chronos dead list --group FINGERPRINT --limit 10
chronos dead list --no-acknowledged --json | jq -r '.data[].id'`,
    run: async () => (await import('./list.js')).listDead,
  },
  {
    name: 'groups',
    summary: 'list error groups: equal errors are one group',
    details:
      'For each group the list shows its dead jobs, its failed runs in the last 24 hours, when it was first and last ' +
      'seen, the names of the jobs, and its dead jobs by tenant.',
    options: command =>
      addPageOptions(command)
        .option('--all', 'include groups without dead jobs, and resolved and ignored groups')
        .addOption(state)
        .option('--unresolved', 'only open and regressed groups with dead jobs')
        .option('--tenant <id>', 'only the part of this tenant'),
    examples: `
chronos dead groups
chronos dead groups --all
chronos dead groups --unresolved
chronos dead groups --state regressed    resolved, then seen again
chronos dead groups --json | jq -r '.data[0].fingerprint'`,
    run: async () => (await import('./groups.js')).listGroups,
  },
  {
    name: 'group',
    summary: 'show one error group with its newest jobs',
    arguments: [FINGERPRINT],
    options: ofTenant,
    examples: `
chronos dead group FINGERPRINT
chronos dead group FINGERPRINT --json | jq .samples`,
    run: async () => (await import('./group.js')).showGroup,
  },
]

const redrive: CommandSpec = {
  name: 'redrive',
  summary: 'redrive dead jobs: a canary first, then at a limited rate',
  details:
    'Each job starts again with all its attempts and the same id, key and history. The redrive stops if too many jobs ' +
    'fail again. Workers carry it out; this command starts it and shows its progress.',
  arguments: [IDS],
  options: command =>
    chosen(
      command
        .option('--rate <rate>', 'maximum rate: 20/s, 600/m (default: 10/s)', rate)
        .option(
          '--canary <number>',
          'size of the canary; 0 for none (default: a tenth of the jobs, at most 10)',
          wholeNumber,
        )
        .option('--stop-when-failing <share>', 'stop if more than this share fails again (default: 0.2)', share)
        .option('--force', 'include jobs with unknown outcome')
        .option('--detach', 'print the id and exit instead of showing the progress'),
    ),
  examples: `
chronos dead redrive --group FINGERPRINT --dry-run
chronos dead redrive --group FINGERPRINT --rate 20/s --canary 10 --yes
chronos dead redrive --queue mail --reason exhausted --rate 600/m --yes
chronos dead redrive ID ID
id=$(chronos dead redrive --all --detach --yes)`,
  notes: `
Ctrl-C ends this command, not the redrive: see \`chronos redrives\`.
Exit codes: 0 done, 8 the redrive was stopped or aborted, 2 --yes is missing.`,
  run: async () => (await import('./redrive.js')).redriveDead,
}

/** Sets the state of an error group. */
const setting = (to: 'resolved' | 'ignored' | 'open', hint: string, spec: CommandSpec): CommandSpec => ({
  ...spec,
  arguments: [FINGERPRINT],
  options: ofTenant,
  run: acting(
    ({ dead }, fingerprint: string, { tenant }: { readonly tenant?: string }) => dead.setGroup(fingerprint, to, tenant),
    {
      text: ({ fingerprint, state, title }) => `group ${fingerprint} is ${state}: ${oneLine(title)}`,
      note: () => hint,
    },
  ),
})

const deciding: readonly CommandSpec[] = [
  {
    name: 'acknowledge',
    summary: 'mark dead jobs as seen',
    details: 'They stay dead, and no longer raise alerts.',
    arguments: [IDS],
    options: chosen,
    examples: `
chronos dead acknowledge ID
chronos dead acknowledge --queue billing --dry-run
chronos dead acknowledge --queue billing --yes`,
    run: async () => (await import('./settle.js')).acknowledgeDead,
  },
  {
    name: 'discard',
    summary: 'discard dead jobs',
    details:
      'Their reason becomes discarded, and redrives skip them. Use `chronos jobs delete` to delete their records.',
    arguments: [IDS],
    options: chosen,
    examples: `
chronos dead discard ID
chronos dead discard --group FINGERPRINT --dry-run
chronos dead discard --group FINGERPRINT --yes`,
    run: async () => (await import('./settle.js')).discardDead,
  },
  {
    name: 'assign',
    summary: 'name who looks after an error group',
    arguments: [FINGERPRINT],
    options: command => ofTenant(command.option('--to <name>', 'a name; leave it out to remove the assignee')),
    examples: `
chronos dead assign FINGERPRINT --to ann
chronos dead assign FINGERPRINT          remove the assignee`,
    run: acting(
      ({ dead }, fingerprint: string, { to, tenant }: { readonly to?: string; readonly tenant?: string }) =>
        dead.assign(fingerprint, to ?? null, tenant),
      {
        text: ({ fingerprint, assignee, title }) =>
          `group ${fingerprint} ${assignee === undefined ? 'has no assignee' : `is assigned to ${oneLine(assignee)}`}: ${oneLine(title)}`,
      },
    ),
  },
  {
    name: 'note',
    summary: 'add a note to an error group',
    arguments: [FINGERPRINT],
    options: command => ofTenant(command.requiredOption('--text <text>', 'the note')),
    examples: `
chronos dead note FINGERPRINT --text 'the provider is down: TICKET-7'
chronos dead group FINGERPRINT           shows the notes`,
    run: acting(
      ({ dead }, fingerprint: string, { text, tenant }: { readonly text: string; readonly tenant?: string }) =>
        dead.addNote(fingerprint, text, tenant),
      { text: ({ fingerprint, notes = [] }) => `group ${fingerprint} has ${many(notes.length, 'note')}` },
    ),
  },
  setting('resolved', 'if it is seen again, it becomes regressed', {
    name: 'resolve',
    summary: 'mark an error group as fixed',
    details: 'If the error is seen again, the group becomes regressed.',
    examples: `
chronos dead resolve FINGERPRINT
chronos dead groups --state regressed`,
  }),
  setting('ignored', '`chronos dead groups --all` still shows it', {
    name: 'ignore',
    summary: 'hide an error group from the list',
    details: '`dead groups --all` still shows it.',
    examples: `
chronos dead ignore FINGERPRINT
chronos dead groups --state ignored`,
  }),
  setting('open', '`chronos dead groups` shows it again', {
    name: 'reopen',
    summary: 'reopen a resolved or ignored error group',
    examples: 'chronos dead reopen FINGERPRINT',
  }),
]

export const dead: CommandSpec = {
  name: 'dead',
  summary: 'list dead jobs by error, redrive or discard them',
  examples: `
chronos dead groups                      why jobs died
chronos dead group FINGERPRINT           one error with some of its jobs
chronos dead redrive --group FINGERPRINT --dry-run
chronos dead redrive --group FINGERPRINT --rate 20/s --canary 10 --yes
chronos dead resolve FINGERPRINT         mark it as fixed`,
  commands: [...reading, redrive, ...deciding],
}
