import { Option } from 'commander'
import type { Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { Role } from '../../../server/access/caller.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import { oneLine } from '../../output/width.js'

interface CreateFlags {
  readonly role: Role
  readonly tenant?: string
  readonly expiresIn?: Duration
}

const ROLES = ['viewer', 'operator', 'admin']

export const tokens: CommandSpec = {
  name: 'tokens',
  summary: 'create, list and revoke API tokens',
  examples: `
chronos tokens create deploy --role operator
chronos tokens create acme-dashboard --role viewer --tenant acme
chronos tokens list
chronos tokens revoke ID`,
  commands: [
    {
      name: 'create',
      summary: 'create an API token and print it',
      details: 'The token is printed once: only its hash is stored.',
      arguments: [['<name>', 'who or what uses the token']],
      options: command =>
        command
          .addOption(new Option('--role <role>', 'what the token allows').choices(ROLES).makeOptionMandatory())
          .option('--tenant <id>', 'limit the token to this tenant')
          .option('--expires-in <duration>', 'valid for this long: 12h, 90d (default: no expiry)'),
      examples: `
chronos tokens create deploy --role operator --expires-in 90d
chronos tokens create acme --role viewer --tenant acme
CHRONOS_TOKEN="$(chronos tokens create me --role admin)"`,
      notes: `
A viewer can read, an operator can also act on jobs and pause queues, an admin
can do everything. A token of a tenant can access that tenant only.`,
      // Works on a new store: a server that listens beyond this machine needs a token before it starts.
      run: acting(
        ({ tokens }, name: string, { role, tenant, expiresIn }: CreateFlags) =>
          tokens.create(present({ name, role, tenantId: tenant, expiresIn })),
        {
          text: ({ token }) => token,
          note: ({ id, role }) => `created token ${id} (${role}); it is not shown again`,
          need: 'any',
        },
      ),
    },
    {
      name: 'list',
      summary: 'list API tokens, newest first',
      examples: `
chronos tokens list
chronos tokens list --json`,
      run: listing(async () => (await import('./run.js')).TOKENS),
    },
    {
      name: 'revoke',
      summary: 'revoke an API token',
      details: 'Servers may accept the token for up to five more seconds.',
      arguments: [['<id>', 'id of the token']],
      examples: 'chronos tokens revoke ID',
      run: acting(({ tokens }, id: string) => tokens.revoke(id).then(() => ({ id, revoked: true })), {
        text: ({ id }) => `token ${oneLine(id)} is revoked`,
      }),
    },
  ],
}
