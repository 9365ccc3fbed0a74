import type { CommandSpec } from '../../command.js'

const EXAMPLES = `
chronos config show
chronos config show --config ./production.json
chronos config show --json | jq '.data[] | select(.source != "default")'`

const NOTES = `
Precedence: a flag, then an environment variable, then the configuration file,
then the default. The file is chronos.config.json or chronos.config.mjs in the
current folder, or the one that --config names.`

export const config: CommandSpec = {
  name: 'config',
  summary: 'show every setting and its source',
  examples: EXAMPLES,
  notes: NOTES,
  commands: [
    {
      name: 'show',
      summary: 'list settings with their values and sources',
      details: 'Secrets are hidden.',
      examples: EXAMPLES,
      notes: NOTES,
      run: async () => (await import('./show.js')).showConfig,
    },
  ],
}
