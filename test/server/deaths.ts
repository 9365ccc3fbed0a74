import type { TestServer } from './server.js'

interface Lease {
  readonly token: string
  readonly job: { readonly id: string }
}

/** Enqueues jobs that run once and die of the same error, reported by a pull worker. */
export async function deadJobs(
  { api }: TestServer,
  count: number,
  job: Readonly<Record<string, unknown>> = {},
  message = 'card declined',
): Promise<readonly string[]> {
  const ids: string[] = []
  for (let each = 0; each < count; each++) {
    const { body: made } = await api<{ id: string; queue: string }>('POST', '/jobs', { name: 'charge-card', ...job })
    const claim = { workerId: 'w', queues: [made.queue] }
    const { body } = await api<{ data: Lease[] }>('POST', '/leases:claim', claim)
    const error = { name: 'PaymentError', message, retryable: false }
    await api('POST', `/leases/${made.id}/fail`, { token: body.data[0]!.token, error })
    ids.push(made.id)
  }
  return ids
}

/** The headers of a new token. */
export async function tokenOf(
  { server }: TestServer,
  role: 'viewer' | 'operator' | 'admin',
  tenantId?: string,
): Promise<Readonly<Record<string, string>>> {
  const { token } = await server.tokens.create({
    name: `${role} of ${tenantId ?? 'all'}`,
    role,
    ...(tenantId !== undefined && { tenantId }),
  })
  return { Authorization: `Bearer ${token}` }
}
