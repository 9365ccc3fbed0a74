import type { Duration } from '../../../core/values/duration.js'
import type { Role } from '../../../server/access/caller.js'
import type { TokenView } from '../../../server/access/tokens.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { brief, timeOf } from '../../output/moment.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'

interface TokenFlags extends BackendOptions {
  readonly json?: true
}

interface CreateFlags extends TokenFlags {
  readonly role: Role
  readonly tenant?: string
  readonly expiresIn?: Duration
}

/** A token may be the first thing in a store: a server that others can reach does not start without one. */
export async function createToken(name: string, flags: CreateFlags, io: Io): Promise<void> {
  const { role, tenant, expiresIn } = flags
  const input = {
    name,
    role,
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(expiresIn !== undefined && { expiresIn }),
  }
  await withBackend(
    flags,
    io,
    async ({ tokens }) => {
      const made = await tokens.create(input)
      show(io, flags, made, () => `${made.token}\n`)
      if (!flags.json) io.stderr.write(`token ${made.id} (${made.role}) is good; it is shown this once\n`)
    },
    'any',
  )
}

export async function listTokens(options: TokenFlags, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const [data, { now }] = await Promise.all([backend.tokens.list(), backend.info()])
    show(io, options, { data, page: {} }, style => (data.length === 0 ? '' : tokenTable(data, now, style)))
    if (!options.json) io.stderr.write(`${many(data.length, 'token')}\n`)
  })
}

export async function revokeToken(id: string, options: TokenFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ tokens }) => {
    await tokens.revoke(id)
    show(io, options, { id, revoked: true }, () => `token ${oneLine(id)} is revoked\n`)
  })
}

function tokenTable(tokens: readonly TokenView[], now: number, style: Style): string {
  const columns = [
    { title: 'Id' },
    { title: 'Name', wraps: true },
    { title: 'Role' },
    { title: 'Tenant' },
    { title: 'Used', align: 'right' },
    { title: 'Expires', align: 'right' },
  ] as const
  const none: Cell = { text: '-', tone: 'dim' }
  const rows = tokens.map(({ id, name, role, tenantId, usedAt, expiresAt }): Cell[] => [
    id,
    oneLine(name),
    role,
    tenantId === undefined ? none : oneLine(tenantId),
    usedAt === undefined ? { text: 'never', tone: 'dim' } : `${brief(now - timeOf(usedAt))} ago`,
    expiresAt === undefined ? none : expiryCell(timeOf(expiresAt) - now),
  ])
  return table(columns, rows, { ...style, boxes: false })
}

function expiryCell(leftMs: number): Cell {
  return leftMs <= 0 ? { text: 'over', tone: 'warn' } : `in ${brief(leftMs)}`
}
