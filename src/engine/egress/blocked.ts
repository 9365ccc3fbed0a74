/** Why a request may not go where it was sent; for logs and tests, never for whoever sent it. */
export type BlockedBy = 'parse' | 'scheme' | 'userinfo' | 'name' | 'ip' | 'port' | 'dns' | 'peer'

/**
 * One sentence for every reason: who may name an address must not learn from the answer what is behind it.
 */
export class EgressBlocked extends Error {
  override readonly name: string = 'EgressBlocked'
  readonly code = 'ESSRFBLOCKED'
  readonly by: BlockedBy
  readonly host: string
  override readonly stack = ''

  constructor(by: BlockedBy, host: string) {
    super('the egress rules do not allow this address; whoever runs Chronos can open it with egress: { allow: […] }')
    this.by = by
    this.host = host
  }
}
