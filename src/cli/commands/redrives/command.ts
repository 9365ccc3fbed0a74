import { Option } from 'commander'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { addPageOptions, rate } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import type { Style } from '../../output/print.js'

const ID = ['<id>', 'id of the redrive'] as const

const state = new Option('--state <state>', 'only redrives in this state')
state.argChoices = ['canary', 'running', 'paused', 'stopped', 'done', 'aborted']

const line = async (redrive: RedriveView, style: Style): Promise<string> =>
  (await import('./run.js')).redriveLine(redrive, style)

export const redrives: CommandSpec = {
  name: 'redrives',
  summary: 'watch, pause, resume and abort redrives',
  examples: `
chronos redrives list
chronos redrives get ID --follow
chronos redrives pause ID
chronos redrives rate ID 5/s`,
  notes: '`chronos dead redrive` starts a redrive.',
  commands: [
    {
      name: 'list',
      summary: 'list redrives with their progress, newest first',
      options: command => addPageOptions(command).addOption(state),
      examples: `
chronos redrives list
chronos redrives list --state stopped`,
      run: listing(async () => (await import('./run.js')).REDRIVES),
    },
    {
      name: 'get',
      summary: 'show one redrive and the outcomes of its jobs',
      arguments: [ID],
      options: command => command.option('--follow', 'watch it until it ends'),
      examples: `
chronos redrives get ID
chronos redrives get ID --follow
chronos redrives get ID --json | jq '.conflicts'`,
      notes: 'With --follow, exit code 8 means that it was stopped or aborted.',
      run: async () => (await import('./run.js')).getRedrive,
    },
    {
      name: 'pause',
      summary: 'pause a redrive',
      details: 'Jobs that it has started continue.',
      arguments: [ID],
      examples: 'chronos redrives pause ID',
      run: acting(({ redrives }, id: string) => redrives.pause(id), { text: line }),
    },
    {
      name: 'resume',
      summary: 'resume a paused or stopped redrive',
      details: 'If it stopped because jobs failed again, fix the cause first. Jobs are not started twice.',
      arguments: [ID],
      examples: 'chronos redrives resume ID',
      run: acting(({ redrives }, id: string) => redrives.resume(id), { text: line }),
    },
    {
      name: 'abort',
      summary: 'abort a redrive',
      details: 'It cannot be resumed. Jobs that it has started continue; the others stay dead.',
      arguments: [ID],
      examples: 'chronos redrives abort ID',
      run: acting(({ redrives }, id: string) => redrives.abort(id), { text: line }),
    },
    {
      name: 'rate',
      summary: 'change the rate of a redrive',
      arguments: [ID, ['<rate>', '20/s, 600/m, or a number per second']],
      examples: `
chronos redrives rate ID 5/s
chronos redrives rate ID 600/m`,
      run: acting(({ redrives }, id: string, given: string) => redrives.setRate(id, rate(given)), { text: line }),
    },
  ],
}
