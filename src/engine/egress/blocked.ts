/** Why a request was blocked; for logs and tests, and never shown to the user who sent it. */
export type BlockedBy = 'parse' | 'scheme' | 'userinfo' | 'name' | 'ip' | 'port' | 'dns' | 'peer'

/** One message for every reason: a user who names an address must not learn from the response what is behind it. */
export class EgressBlocked extends Error {
  override readonly name: string = 'EgressBlocked'
  readonly code = 'ESSRFBLOCKED'
  readonly by: BlockedBy
  readonly host: string
  override readonly stack = ''

  constructor(by: BlockedBy, host: string) {
    super(
      'the egress rules do not allow this address; the operator of Chronos can allow it with egress: { allow: […] }',
    )
    this.by = by
    this.host = host
  }
}
