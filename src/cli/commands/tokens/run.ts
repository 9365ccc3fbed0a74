import type { TokenView } from '../../../server/access/tokens.js'
import { type Field, type Listing, NONE } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Cell } from '../../output/print.js'
import { oneLine } from '../../output/width.js'

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

export const TOKENS: Listing<TokenView> = { noun: 'token', read: ({ tokens }) => tokens.list(), text: FIELDS }
