import { partitionBounds, type QueueLimits } from '../../../core/partition/limits.js'
import { present } from '../../../core/values/present.js'
import { byBytes, fromText, toText } from '../../columns.js'
import type { PartitionQuery, PartitionRecord } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { readTurn } from '../file/settings.js'
import { fromHex, LANE } from '../rows.js'

const LIMITS = 'SELECT limits FROM queues WHERE name = ?'
/** The name of a partition can be empty, so the first page begins with it. */
export type Beyond = '>' | '>='
export const known = (beyond: Beyond): string =>
  `SELECT name FROM partitions WHERE queue = ? AND name ${beyond} ? ORDER BY name LIMIT ?`
/** The lanes with jobs in a state, by name; each is found by one index seek. */
export const lanesWith = (beyond: Beyond): string => `
  WITH RECURSIVE found (lane, place) AS (
    SELECT (SELECT min(lane) FROM jobs ${LANE} AND queue = ?1 AND state = ?2 AND lane ${beyond} ?3), 1
    UNION ALL
    SELECT (SELECT min(lane) FROM jobs ${LANE} AND queue = ?1 AND state = ?2 AND lane > found.lane), place + 1
    FROM found WHERE lane IS NOT NULL AND place < ?4
  ) SELECT lane FROM found WHERE lane IS NOT NULL`
const STATE = 'SELECT open_at, pace FROM partitions WHERE queue = ? AND name = ?'
const COUNT = `SELECT count(*) FROM (SELECT 1 FROM jobs ${LANE} AND queue = ? AND state = ? AND lane = ? LIMIT ?)`
const STOPPED_BY = `SELECT hex(id) FROM jobs ${LANE} AND queue = ? AND state = 'dead' AND lane = ? ORDER BY pk LIMIT 1`

export function partitions(db: Connection, name: string, query: PartitionQuery): readonly PartitionRecord[] {
  const queue = toText(name)
  const limits = db.get<[string | null]>(LIMITS, queue)?.[0] ?? null
  if (limits === null) return []
  const reader = new PartitionReader(db, queue, JSON.parse(limits) as QueueLimits, query.cap)
  if ('names' in query) return [...new Set(query.names)].sort(byBytes).flatMap(one => reader.read(toText(one)) ?? [])
  const isMeant = ({ stoppedBy }: PartitionRecord): boolean => query.which !== 'stopped' || stoppedBy !== undefined
  const found: PartitionRecord[] = []
  for (let after = query.after === undefined ? undefined : toText(query.after); ; ) {
    const names = reader.namesAfter(after, query.limit, query.which ?? 'all')
    found.push(...names.flatMap(one => reader.read(one) ?? []).filter(isMeant))
    if (names.length < query.limit || found.length >= query.limit) return found.slice(0, query.limit)
    after = names.at(-1)!
  }
}

class PartitionReader {
  readonly #db: Connection
  readonly #queue: string
  readonly #limits: QueueLimits
  readonly #cap: number

  constructor(db: Connection, queue: string, limits: QueueLimits, cap: number) {
    this.#db = db
    this.#queue = queue
    this.#limits = limits
    this.#cap = cap
  }

  /** A partition with waiting jobs has a row; one with running jobs, or with a dead letter that stops it, need not have one. */
  namesAfter(after: string | undefined, limit: number, which: 'all' | 'stopped'): string[] {
    const beyond = after === undefined ? '>=' : '>'
    const last = after ?? ''
    const lanes = (state: string) => this.#db.all<[string]>(lanesWith(beyond), this.#queue, state, last, limit)
    const rows = which === 'stopped' ? lanes('dead') : this.#db.all<[string]>(known(beyond), this.#queue, last, limit)
    if (which === 'all')
      rows.push(...lanes('running'), ...(this.#limits.partitions?.onDead === 'stop' ? lanes('dead') : []))
    const names = [...new Set(rows.map(([name]) => name))]
    return names.sort((a, b) => byBytes(fromText(a), fromText(b))).slice(0, limit)
  }

  /** Undefined if the partition has nothing to remember. */
  read(lane: string): PartitionRecord | undefined {
    const name = fromText(lane)
    const row = this.#db.get<[openAt: number | null, pace: string | null]>(STATE, this.#queue, lane)
    const running = this.#count('running', lane, -1)
    const waiting = this.#count('waiting', lane, this.#cap + 1)
    const stoppedBy = this.#stoppedBy(name, lane)
    if (!row && running + waiting === 0 && stoppedBy === undefined) return undefined
    const isMore = waiting > this.#cap
    return {
      name,
      running,
      waiting: { value: isMore ? this.#cap : waiting, relation: isMore ? 'at-least' : 'exact' },
      state: row ? readTurn(...row) : {},
      ...present({ stoppedBy }),
    }
  }

  #count(state: 'running' | 'waiting', lane: string, limit: number): number {
    return this.#db.get<[number]>(COUNT, this.#queue, state, lane, limit)![0]
  }

  #stoppedBy(name: string, lane: string): string | undefined {
    if (!partitionBounds(this.#limits, name).stopsOnDead) return undefined
    const row = this.#db.get<[id: string]>(STOPPED_BY, this.#queue, lane)
    return row && fromHex(row[0])
  }
}
