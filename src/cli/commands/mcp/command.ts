import { addConfigOption } from '../../backend/store-address.js'
import type { CommandSpec } from '../../command.js'
import { addSettingFlags } from '../../config/settings.js'

export const mcp: CommandSpec = {
  name: 'mcp',
  summary: 'serve operations as MCP tools over stdio',
  details: 'An assistant that speaks the Model Context Protocol starts it and inspects jobs and failures with it.',
  options: command =>
    addConfigOption(addSettingFlags(command, 'store', 'url', 'token'))
      .option('--allow-writes', 'also offer tools that change something')
      .option('--log', "also print the engine's log lines to stderr"),
  common: 'none',
  examples: `
chronos mcp
chronos mcp --store postgres://…
CHRONOS_TOKEN=… chronos mcp --url https://jobs.example.com --allow-writes`,
  notes: `
It needs the package @modelcontextprotocol/sdk beside chronos-jobs. A redrive
must be counted with a dry run first. With --url the role of the token applies,
too. It ends when the client closes stdin.`,
  run: async () => (await import('./run.js')).serveMcp,
}
