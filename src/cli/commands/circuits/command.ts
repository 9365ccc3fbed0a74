import type { Command } from 'commander'
import { present } from '../../../core/values/present.js'
import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { addPageOptions } from '../../argument.js'
import type { Backend } from '../../backend/backend.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import type { Style } from '../../output/print.js'

interface CircuitFlags {
  readonly tenant?: string
  readonly hold?: boolean
}

const DEPENDENCY = ['<dependency>', 'what `dependsOn` names'] as const
const ofTenant = (command: Command): Command => command.option('--tenant <id>', 'circuit of the jobs of this tenant')

async function line(circuit: CircuitView, style: Style, backend: Backend): Promise<string> {
  const { circuitLine } = await import('./run.js')
  return circuitLine(circuit, (await backend.info()).now, style)
}

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
      options: command =>
        addPageOptions(command)
          .option('--find <text>', 'only dependencies with this text in their name')
          .option('--restricted', 'only circuits that are not closed, or that an operator holds'),
      examples: `
chronos circuits list
chronos circuits list --restricted
chronos circuits list --find pay.example --json | jq '.data[].state'`,
      run: listing(async () => (await import('./run.js')).CIRCUITS),
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
      run: acting(
        ({ circuits }, key: string, { tenant }: CircuitFlags) => circuits.open(key, present({ tenantId: tenant })),
        { text: line },
      ),
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
      run: acting(
        ({ circuits }, key: string, { tenant, hold = false }: CircuitFlags) =>
          circuits.close(key, present({ tenantId: tenant, hold })),
        { text: line },
      ),
    },
  ],
}
