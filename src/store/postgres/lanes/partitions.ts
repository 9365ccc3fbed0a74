import { partitionBounds, type QueueLimits } from '../../../core/partition/limits.js'
import { byBytes, fromText, toText } from '../../columns.js'
import type { PartitionQuery, PartitionRecord } from '../../store.js'
import { texts } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { stateOf } from './state.js'

const LIMITS = 'SELECT limits FROM @queues WHERE name = $1 AND limits IS NOT NULL'

/** Every partition with waiting or running jobs has a row or a note. `$2` is the name before the page. */
const ALL_NAMES = `
  SELECT name FROM (
    (SELECT name FROM @partitions WHERE queue = $1 AND ($2::text IS NULL OR name > $2) ORDER BY name LIMIT $3)
    UNION
    (SELECT DISTINCT name FROM @partition_notes WHERE queue = $1 AND ($2::text IS NULL OR name > $2)
      ORDER BY name LIMIT $3)
  ) AS known ORDER BY name LIMIT $3`

const deadLane = (after: string): string => `(
  SELECT lane FROM @jobs
  WHERE state = 'dead' AND lane IS NOT NULL AND reason IS DISTINCT FROM 'discarded' AND queue = $1 AND ${after}
  ORDER BY lane LIMIT 1)`

/** Walks the index from one partition with dead letters to the next. */
const STOPPED_NAMES = `
  WITH RECURSIVE stopped AS (
    SELECT ${deadLane('($2::text IS NULL OR lane > $2)')} AS name
    UNION ALL
    SELECT ${deadLane('lane > stopped.name')} FROM stopped WHERE name IS NOT NULL
  )
  SELECT name FROM stopped WHERE name IS NOT NULL LIMIT $3`

const READ = `
  SELECT asked.name, p.open_at, p.body, (
      SELECT count(*) FROM @jobs j
      WHERE j.state = 'running' AND j.lane IS NOT NULL AND j.queue = $1 AND j.lane = asked.name
    ), (
      SELECT count(*) FROM (
        SELECT 1 FROM @jobs j
        WHERE j.state = 'waiting' AND j.lane IS NOT NULL AND j.queue = $1 AND j.lane = asked.name LIMIT $3
      ) AS waiting
    ), (
      SELECT j.id FROM @jobs j
      WHERE j.state = 'dead' AND j.lane IS NOT NULL AND j.reason IS DISTINCT FROM 'discarded' AND j.queue = $1
        AND j.lane = asked.name ORDER BY j.pk LIMIT 1
    )
  FROM unnest($2::text[]) WITH ORDINALITY AS asked (name, place)
    LEFT JOIN @partitions p ON p.queue = $1 AND p.name = asked.name
  ORDER BY place`

type PartitionRow = [
  name: string,
  openAt: number | null,
  body: string | null,
  running: number,
  waiting: number,
  deadId: string | null,
]

export async function partitions(
  db: Database,
  queue: string,
  query: PartitionQuery,
): Promise<readonly PartitionRecord[]> {
  const [row] = await db.read<[limits: string]>(LIMITS, toText(queue))
  if (!row) return []
  const limits = JSON.parse(row[0]) as QueueLimits
  if ('names' in query) return read(db, queue, limits, [...new Set(query.names)].map(toText), query.cap)
  const namesAfter = async (after: string | null): Promise<string[]> => {
    const ask = (sql: string) => db.read<[name: string]>(sql, toText(queue), after, query.limit)
    const stopped = query.which === 'stopped' || limits.partitions?.onDead === 'stop' ? await ask(STOPPED_NAMES) : []
    const rows = query.which === 'stopped' ? stopped : [...stopped, ...(await ask(ALL_NAMES))]
    const names = new Set(rows.map(([name]) => name))
    return [...names].sort(byBytes).slice(0, query.limit)
  }
  const found: PartitionRecord[] = []
  for (let after = query.after === undefined ? null : toText(query.after); ; ) {
    const names = await namesAfter(after)
    const records = await read(db, queue, limits, names, query.cap)
    found.push(...records.filter(({ stoppedBy }) => query.which !== 'stopped' || stoppedBy !== undefined))
    // Some of the names may have nothing to remember.
    if (found.length >= query.limit || names.length < query.limit) return found.slice(0, query.limit)
    after = names.at(-1)!
  }
}

async function read(
  db: Database,
  queue: string,
  limits: QueueLimits,
  names: readonly string[],
  cap: number,
): Promise<PartitionRecord[]> {
  if (names.length === 0) return []
  const rows = await db.read<PartitionRow>(READ, toText(queue), texts(names.map(fromText)), cap + 1)
  return rows.flatMap(row => recordOf(row, limits, cap))
}

function recordOf([text, openAt, body, running, waiting, deadId]: PartitionRow, limits: QueueLimits, cap: number) {
  const name = fromText(text)
  const state = stateOf(openAt, body)
  const isStopped = deadId !== null && partitionBounds(limits, name).stopsOnDead
  if (running + waiting === 0 && !isStopped && Object.keys(state).length === 0) return []
  const record: PartitionRecord = {
    name,
    running,
    waiting: waiting > cap ? { value: cap, relation: 'at-least' } : { value: waiting, relation: 'exact' },
    state,
    ...(isStopped && { stoppedBy: deadId }),
  }
  return [record]
}
