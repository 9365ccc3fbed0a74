import { fromText, toText } from '../../columns.js'
import type { EffectStatus, Lease } from '../../store.js'
import { isId } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { hashOf } from '../rows.js'

/** The lock keeps other processes from ending the run before the effect is stored. */
const HELD_JOB = 'SELECT pk FROM @jobs WHERE id = $1 AND token = $2 FOR SHARE'

const BEGIN_EFFECT = `
  WITH held AS MATERIALIZED (${HELD_JOB}),
  made AS (
    INSERT INTO @effects (job, name_hash, name, token) SELECT pk, $3::bytea, $4::text, $2 FROM held
    ON CONFLICT (job, name_hash) DO NOTHING
  )
  SELECT pk FROM held`

const FIND_EFFECT = 'SELECT token, result FROM @effects WHERE job = $1 AND name_hash = $2'

export async function beginEffect(db: Database, { id, token }: Lease, name: string): Promise<EffectStatus> {
  if (!isId(id)) return { status: 'lost' }
  const hash = hashOf(name)
  return db.transaction('control', async (ask): Promise<EffectStatus> => {
    const [held] = await ask<[number]>(BEGIN_EFFECT, id, toText(token), hash, toText(name))
    if (!held) return { status: 'lost' }
    const [effect] = await ask<[token: string, result: string | null]>(FIND_EFFECT, held[0], hash)
    const [begunBy, result] = effect!
    if (result !== null) return { status: 'done', result: fromText(result) }
    return { status: begunBy === toText(token) ? 'new' : 'begun' }
  })
}

const END_EFFECT = `
  WITH held AS MATERIALIZED (${HELD_JOB})
  INSERT INTO @effects (job, name_hash, name, token, result) SELECT pk, $3::bytea, $4::text, $2, $5::text FROM held
  ON CONFLICT (job, name_hash) DO UPDATE SET result = coalesce(effects.result, excluded.result)
  RETURNING 1`

export async function endEffect(
  db: Database,
  { id, token }: Lease,
  name: string,
  result: string,
): Promise<'done' | 'lost'> {
  if (!isId(id)) return 'lost'
  const values = [id, toText(token), hashOf(name), toText(name), toText(result)]
  const [rows] = await db.write('control', [{ sql: END_EFFECT, values }])
  return rows!.length > 0 ? 'done' : 'lost'
}
