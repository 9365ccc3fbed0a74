import type { Mutant } from '../mutant.js'

const FAILURE = 'src/store/postgres/connection/failure.ts'
const SHARED = 'src/store/postgres/connection/shared-commit.ts'
const TRANSACTION = 'src/store/postgres/connection/transaction.ts'

/** Bugs of the PostgreSQL store that do not depend on its tables, and of the file of the SQLite store. */
export const POSTGRES_BUGS: readonly Mutant[] = [
  {
    name: 'a lost COMMIT reported as not done',
    file: TRANSACTION,
    find: 'lostConnection(error) || error instanceof UnreplicatedError',
    replace: 'error instanceof UnreplicatedError',
    killer: 'postgres#aLostCommitIsUnknown',
  },
  {
    name: 'a commit that its standby does not have',
    file: TRANSACTION,
    find: "if (code === '01000' && routine === 'SyncRepWaitForLSN')",
    replace: "if (code === '01000' && routine === 'none')",
    killer: 'postgres#anUnreplicatedCommitIsUnknown',
  },
  {
    name: 'a connection returned within a transaction',
    file: TRANSACTION,
    find: "    await client.query({ text: 'ROLLBACK' })\n    throw error\n  }\n  await commit",
    replace: '    throw error\n  }\n  await commit',
    killer: 'postgres#aFailedConversationIsRolledBack',
  },
  {
    name: 'a deadlock that is not repeated',
    file: FAILURE,
    find: "['40001', '40P01', '55P03'].includes(state)",
    replace: "['40001', '55P03'].includes(state)",
    killer: 'postgres#aLostRaceIsRepeated',
  },
  {
    name: 'a statement that another client of the pooler has prepared',
    file: FAILURE,
    find: "['26000', '42P05'].includes(",
    replace: "['26000'].includes(",
    killer: 'postgres#aPoolerIsUnderstood',
  },
  {
    name: 'a connection to a standby is kept after a failover',
    file: FAILURE,
    find: "return sqlState(error) === '25006'",
    replace: "return sqlState(error) === ''",
    killer: 'postgres#aStandbyIsLeft',
  },
  {
    name: 'an enqueue fails because of a claim',
    file: SHARED,
    find: '      this.#fail(error)\n      await write(() => own)\n',
    replace: '      this.#fail(error)\n      throw error\n',
    killer: 'postgres#aRefusedClaimDoesNotFailAnEnqueue',
  },
  {
    name: 'an enqueue with an unknown outcome is sent again',
    file: SHARED,
    find: 'if (this.#guest.length === 0 || !wasRefused(error)) throw error',
    replace: 'if (this.#guest.length === 0) throw error',
    killer: 'postgres#anUnknownSharedCommitIsNotRepeated',
  },
  {
    name: 'a single connection that runs nothing',
    file: 'src/store/postgres/connection/shares.ts',
    find: 'max < CONNECTIONS_MIN',
    replace: 'max < 1',
    killer: 'postgres#oneConnectionIsRefused',
  },
  {
    name: 'errors of SQLite without a number are not recognised',
    file: 'src/store/sqlite/file/failure.ts',
    find: 'return MESSAGES.find(([message]) => message.test(thrown.message))?.[1] ?? 0',
    replace: 'return 0',
    killer: 'sqlite#errorsAreKnownByTheirWords',
  },
  {
    name: 'processes on one file with clocks of their own',
    file: 'src/store/sqlite/file/file-clock.ts',
    find: 'if (behindMs > 0 && behindMs <= AHEAD_MAX_MS) this.#aheadMs += behindMs',
    replace: 'if (behindMs > AHEAD_MAX_MS) this.#aheadMs += behindMs',
    killer: 'sqlite#oneClockPerFile',
  },
]
