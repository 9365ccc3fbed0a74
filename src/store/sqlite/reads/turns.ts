import type { PartitionTurns, QueueTurns, StartedJob, WaitingJob } from '../../../core/partition/integrity.js'
import { partitionBounds, type QueueLimits } from '../../../core/partition/limits.js'
import { present } from '../../../core/values/present.js'
import { byBytes, fromText } from '../../columns.js'
import type { AuditDraft } from '../../integrity.js'
import type { Connection } from '../file/connection.js'
import { readTurn } from '../file/settings.js'
import { fromHex, LANE, LANES } from '../rows.js'
import { known, lanesWith } from './partitions.js'

// The part of an integrity check that is about limits. It runs in steps, as the other parts do.

/** The number of partitions read in one step. */
const PAGE = 200

type QueueRow = [name: string, limits: string, openAt: number | null, pace: string | null]
const QUEUES = 'SELECT name, limits, open_at, pace FROM queues WHERE limits IS NOT NULL'
/** Claims look into the lanes of a queue only as long as it is marked. */
const OUTSIDE = `
  SELECT hex(job.id), job.queue FROM queues CROSS JOIN jobs AS job ON job.pk = (
    SELECT pk FROM jobs ${LANES} AND queue = queues.name LIMIT 1
  ) WHERE queues.laned = 0`

export function* auditPartitions(db: Connection, draft: AuditDraft, now: number): Generator<void> {
  for (const [hex, queue] of db.all<[string, string]>(OUTSIDE)) draft.outside(fromHex(hex), fromText(queue))
  for (const [name, limits, openAt, pace] of db.all<QueueRow>(QUEUES)) {
    const reader = new TurnsReader(db, name, JSON.parse(limits) as QueueLimits, now)
    const queue = reader.queue(openAt, pace)
    draft.limited(queue)
    for (let after: string | undefined; ; ) {
      const names = reader.namesAfter(after)
      for (const one of names) draft.partition(queue, reader.partition(one))
      if (names.length < PAGE) break
      after = names.at(-1)!
      yield
    }
  }
}

const RUNNING = `FROM jobs ${LANE} AND queue = ?1 AND state = 'running'`
const IN_LANE = 'AND lane = ?2'
const count = (from: string): string => `SELECT count(*) ${from}`
const newest = (from: string): string => `SELECT hex(id), started_at ${from} ORDER BY started_at DESC LIMIT 1`
const STATE = 'SELECT open_at, pace FROM partitions WHERE queue = ?1 AND name = ?2'
const STOPPED = `SELECT 1 FROM jobs ${LANE} AND queue = ?1 AND state = 'dead' AND lane = ?2 LIMIT 1`
const IS_LIVE = '(deadline IS NULL OR deadline > ?3)'
const OLDEST = `
  SELECT hex(id), run_at FROM jobs ${LANE} AND queue = ?1 AND state = 'waiting' AND lane = ?2 AND ${IS_LIVE}
  ORDER BY pk LIMIT 1`
/** One seek for each priority. */
const FIRST_DUE = `
  SELECT hex(id), run_at FROM jobs WHERE pk IN (
    SELECT (
      SELECT pk FROM jobs INDEXED BY jobs_lane_due
      WHERE state = 'waiting' AND lane IS NOT NULL AND queue = ?1 AND lane = ?2 AND priority = level.value AND ${IS_LIVE}
      ORDER BY run_at LIMIT 1
    ) FROM json_each('[0,1,2,3,4,5,6,7,8,9]') AS level
  ) ORDER BY run_at LIMIT 1`

class TurnsReader {
  readonly #db: Connection
  readonly #queue: string
  readonly #limits: QueueLimits
  readonly #now: number

  /** The name of the queue is that of the database. */
  constructor(db: Connection, queue: string, limits: QueueLimits, now: number) {
    this.#db = db
    this.#queue = queue
    this.#limits = limits
    this.#now = now
  }

  /** A write opens a partition at once, so there are no notes that a claim has yet to find. */
  queue(openAt: number | null, pace: string | null): QueueTurns {
    const [running] = this.#db.get<[number]>(count(RUNNING), this.#queue)!
    const last = this.#db.get<[string, number]>(newest(RUNNING), this.#queue)
    return {
      queue: fromText(this.#queue),
      limits: this.#limits,
      state: readTurn(openAt, pace),
      isNoted: false,
      running,
      ...present({ newest: last && started(last) }),
    }
  }

  /** The partitions with a row, and those with jobs that have none. */
  namesAfter(after: string | undefined): string[] {
    const beyond = after === undefined ? '>=' : '>'
    const last = after ?? ''
    const lanes = (state: string) => this.#db.all<[string]>(lanesWith(beyond), this.#queue, state, last, PAGE)
    const rows = [
      ...this.#db.all<[string]>(known(beyond), this.#queue, last, PAGE),
      ...lanes('waiting'),
      ...lanes('running'),
    ]
    const names = [...new Set(rows.map(([name]) => name))]
    return names.sort((a, b) => byBytes(fromText(a), fromText(b))).slice(0, PAGE)
  }

  partition(lane: string): PartitionTurns {
    const name = fromText(lane)
    const { isOrdered, stopsOnDead } = partitionBounds(this.#limits, name)
    const values = [this.#queue, lane] as const
    const row = this.#db.get<[number | null, string | null]>(STATE, ...values)
    const last = this.#db.get<[string, number]>(newest(`${RUNNING} ${IN_LANE}`), ...values)
    const first = this.#db.get<[string, number]>(isOrdered ? OLDEST : FIRST_DUE, ...values, this.#now)
    return {
      name,
      state: row ? readTurn(...row) : {},
      isNoted: false,
      isStopped: stopsOnDead && this.#db.get(STOPPED, ...values) !== undefined,
      running: this.#db.get<[number]>(count(`${RUNNING} ${IN_LANE}`), ...values)![0],
      ...present({ newest: last && started(last), first: first && waiting(first) }),
    }
  }
}

const started = ([hex, startedAt]: [string, number]): StartedJob => ({ id: fromHex(hex), startedAt })
const waiting = ([hex, runAt]: [string, number]): WaitingJob => ({ id: fromHex(hex), runAt })
