import type { Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { Role } from '../../../server/access/caller.js'
import type { TokenView } from '../../../server/access/tokens.js'
import { act } from '../../act.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Field, list, NONE } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Cell } from '../../output/print.js'
import { oneLine } from '../../output/width.js'

interface CreateFlags extends BackendOptions {
  readonly role: Role
  readonly tenant?: string
  readonly expiresIn?: Duration
}

/** Works on a new store: a server that listens beyond this machine needs a token before it starts. */
export function createToken(name: string, flags: CreateFlags, io: Io): Promise<void> {
  const { role, tenant, expiresIn } = flags
  const input = present({ name, role, tenantId: tenant, expiresIn })
  return act(flags, io, ({ tokens }) => tokens.create(input), {
    text: ({ token }) => token,
    note: made => `created token ${made.id} (${made.role}); it is not shown again`,
    need: 'any',
  })
}

export function revokeToken(id: string, options: BackendOptions, io: Io): Promise<void> {
  const revoke = async ({ tokens }: Backend) => {
    await tokens.revoke(id)
    return { id, revoked: true }
  }
  return act(options, io, revoke, { text: () => `token ${oneLine(id)} is revoked` })
}

const FIELDS: readonly Field<TokenView>[] = [
  { title: 'Id', cell: ({ id }) => id },
  { title: 'Name', wraps: true, cell: ({ name }) => oneLine(name) },
  { title: 'Role', cell: ({ role }) => role },
  { title: 'Tenant', cell: ({ tenantId }) => (tenantId === undefined ? NONE : oneLine(tenantId)) },
  {
    title: 'Last used',
    align: 'right',
    cell: ({ usedAt }, now) =>
      usedAt === undefined ? { text: 'never', tone: 'dim' } : `${brief(now - timeOf(usedAt))} ago`,
  },
  {
    title: 'Expires',
    align: 'right',
    cell: ({ expiresAt }, now) => (expiresAt === undefined ? NONE : expiryCell(timeOf(expiresAt) - now)),
  },
]

function expiryCell(leftMs: number): Cell {
  return leftMs <= 0 ? { text: 'expired', tone: 'warn' } : `in ${brief(leftMs)}`
}

export function listTokens(options: BackendOptions, io: Io): Promise<void> {
  return list({ noun: 'token', read: ({ tokens }) => tokens.list(), text: FIELDS }, options, io)
}
