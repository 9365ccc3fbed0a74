import assert from 'node:assert/strict'
import type { PgClient, PgQuery } from '../../../src/store/postgres/connection/driver.js'
import {
  lostRace,
  lostStatement,
  needsAnotherConnection,
  wasRefused,
} from '../../../src/store/postgres/connection/failure.js'
import { SharedCommit } from '../../../src/store/postgres/connection/shared-commit.js'
import { sharesOf } from '../../../src/store/postgres/connection/shares.js'
import { conversation, flight, listenForWarnings } from '../../../src/store/postgres/connection/transaction.js'

// How the PostgreSQL store deals with its connection, whatever its tables are.

const OPTIONS = { site: { location: 'db', schema: 's' }, statementMs: 1_000 }
const refused = (code: string): Error => Object.assign(new Error(code), { code, severity: 'ERROR' })
const cut = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })

type Notice = { code: string; routine: string }

/** A connection on which one statement fails. */
function clientOf(failing?: { readonly on: RegExp; readonly error: Error }) {
  const sent: string[] = []
  let notify: (notice: Notice) => void = () => {}
  const client = {
    on: (_: string, listener: typeof notify) => {
      notify = listener
    },
    query: async ({ text }: PgQuery) => {
      sent.push(text.trim())
      if (failing?.on.test(text)) throw failing.error
      if (text === 'COMMIT') notify({ code: '01000', routine: 'SyncRepWaitForLSN' })
      return { rows: [] }
    },
  } as unknown as PgClient
  return { client, sent }
}

export async function aLostCommitIsUnknown(): Promise<void> {
  const { client } = clientOf({ on: /^COMMIT/, error: cut() })
  await assert.rejects(flight(client, OPTIONS, [{ text: 'INSERT' }]), { code: 'STORE_UNKNOWN' })
  const talk = conversation(
    client,
    OPTIONS,
    sql => sql,
    async () => 1,
  )
  await assert.rejects(talk, { code: 'STORE_UNKNOWN' })
}

export async function anUnreplicatedCommitIsUnknown(): Promise<void> {
  const { client } = clientOf()
  listenForWarnings(client)
  await assert.rejects(flight(client, OPTIONS, [{ text: 'INSERT' }]), { code: 'STORE_UNKNOWN' })
}

export async function aFailedConversationIsRolledBack(): Promise<void> {
  const { client, sent } = clientOf({ on: /^UPDATE/, error: refused('22003') })
  const talk = conversation(
    client,
    OPTIONS,
    sql => sql,
    ask => ask('UPDATE'),
  )
  await assert.rejects(talk)
  assert.ok(sent.includes('ROLLBACK'), 'the connection goes back to the pool within a transaction')
  assert.ok(!sent.includes('COMMIT'))
}

export async function aLostRaceIsRepeated(): Promise<void> {
  for (const code of ['40001', '40P01', '55P03']) assert.ok(lostRace(refused(code)), `${code} is not repeated`)
}

export async function aPoolerIsUnderstood(): Promise<void> {
  for (const code of ['26000', '42P05']) assert.ok(lostStatement(refused(code)), `${code} is not repeated`)
}

export async function aStandbyIsLeft(): Promise<void> {
  assert.ok(needsAnotherConnection(refused('25006')), 'a connection to a standby is kept')
}

export async function aRefusedClaimDoesNotFailAnEnqueue(): Promise<void> {
  const shared = new SharedCommit()
  const joined = shared.join([{ text: 'CLAIM' } as never])!.catch(() => 'refused')
  const sent: number[] = []
  await shared.send([{ text: 'ENQUEUE' } as never], async all => {
    const { length } = all()
    sent.push(length)
    if (length === 2) throw refused('22003')
    return [[]]
  })
  assert.deepEqual([sent, await joined], [[2, 1], 'refused'])
}

export async function anUnknownSharedCommitIsNotRepeated(): Promise<void> {
  assert.equal(wasRefused(cut()), false)
  const shared = new SharedCommit()
  void shared.join([{ text: 'CLAIM' } as never])!.catch(() => {})
  let writes = 0
  const sending = shared.send([{ text: 'ENQUEUE' } as never], async all => {
    all()
    writes++
    throw cut()
  })
  await assert.rejects(sending)
  assert.equal(writes, 1, 'an enqueue that may have been committed is sent again')
}

export async function oneConnectionIsRefused(): Promise<void> {
  const { control, work } = sharesOf(2)
  assert.deepEqual([control, work], [1, 1])
  assert.throws(() => sharesOf(1), { code: 'INVALID_OPTION' })
}
