import type { Command } from 'commander'
import type { CommandSpec } from '../../command.js'

const DEPENDENCY = ['<dependency>', 'what `dependsOn` names'] as const
const ofTenant = (command: Command): Command => command.option('--tenant <id>', 'circuit of the jobs of this tenant')

export const circuits: CommandSpec = {
  name: 'circuits',
  summary: 'list circuit breakers, and open or close them',
  details:
    'A circuit delays the jobs of a dependency while that dependency is down. The jobs of a tenant have a circuit of their own.',
  examples: `
chronos circuits list
chronos circuits open https://pay.example     jobs wait, lose no attempt
chronos circuits close https://pay.example    jobs start again`,
  commands: [
    {
      name: 'list',
      summary: 'list circuits with their recent calls, by dependency',
      examples: `
chronos circuits list
chronos circuits list --json | jq '.data[] | select(.state != "closed")'`,
      run: async () => (await import('./run.js')).listCircuits,
    },
    {
      name: 'open',
      summary: 'hold a circuit open',
      details: 'Its jobs wait and lose no attempt, and no probe is sent, until the circuit is closed.',
      arguments: [DEPENDENCY],
      options: ofTenant,
      examples: `
chronos circuits open https://pay.example
chronos circuits open https://pay.example --tenant acme
chronos circuits close https://pay.example`,
      run: async () => (await import('./run.js')).openCircuit,
    },
    {
      name: 'close',
      summary: 'close a circuit',
      details: 'Waiting jobs start again step by step. From then on the circuit opens and closes automatically.',
      arguments: [DEPENDENCY],
      options: command =>
        ofTenant(command).option('--hold', 'keep it closed even if calls fail, until closed without --hold'),
      examples: `
chronos circuits close https://pay.example
chronos circuits close https://pay.example --hold`,
      run: async () => (await import('./run.js')).closeCircuit,
    },
  ],
}
