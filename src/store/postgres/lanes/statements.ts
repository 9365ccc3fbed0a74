import { DELIVERIES } from '../../../core/webhook/delivery.js'
import { FACT_COLUMNS } from '../rows.js'
import { start } from '../writes/claim.js'
import { noteLanes } from './notes.js'

// The statements of a claim of queues with limits, in the order in which they run in its transaction. Each one has a new
// snapshot: what is read after the lock of a partition includes every run that started before.

const CLOCK = 'clock AS MATERIALIZED (SELECT @now_ms() AS now)'

/** Queues with a limit of their own are locked first and in the order of their names, so that claims can't deadlock. */
export const LOCK_QUEUES = `
  SELECT count(*) FROM (
    SELECT 1 FROM @queues WHERE name = ANY ($1::text[]) AND bound AND NOT paused ORDER BY name FOR UPDATE
  ) AS locked`

/** Longer names are shortened with a hash, which `sortRest` does. A name has at most as many characters as bytes. */
const NAME_BYTES_MAX = 200
const OWN_LANE = `coalesce(partition, tenant_id, '')`

const unsorted = (columns: string, more: string): string => `
  SELECT ${columns} FROM @jobs
  WHERE state = 'waiting' AND lane IS NULL AND queue = q.name ${more}`

/**
 * Jobs that were enqueued without a lane, or before the queue had limits, get their lane; `$2` is the most per queue.
 * Deliveries are left to `sortRest`, because their partition is not a column.
 */
export const SORT = `
  WITH found AS MATERIALIZED (
    SELECT line.spot FROM @queues q, LATERAL (
      ${unsorted('ctid AS spot', `AND octet_length(${OWN_LANE}) <= ${NAME_BYTES_MAX}`)} LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS line
    WHERE q.name = ANY ($1::text[]) AND q.name <> '${DELIVERIES}' AND q.limits IS NOT NULL AND NOT q.paused
  ),
  sorted AS (
    UPDATE @jobs SET lane = ${OWN_LANE} WHERE ctid = ANY (ARRAY(SELECT spot FROM found)) RETURNING queue, lane
  )
  ${noteLanes('sorted')}`

export const FIND_UNSORTED = `
  SELECT line.* FROM @queues q, LATERAL (
    ${unsorted('id, queue, partition, dependency, tenant_id', '')} LIMIT $2 FOR UPDATE SKIP LOCKED
  ) AS line
  WHERE q.name = ANY ($1::text[]) AND q.limits IS NOT NULL`

export const SET_LANES = `
  WITH sorted AS (
    UPDATE @jobs j SET lane = given.lane FROM unnest($1::uuid[], $2::text[]) AS given (id, lane)
    WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id
    RETURNING j.queue, j.lane
  )
  ${noteLanes('sorted')}`

/** The locked partitions, for the next statements of the transaction. */
const LOCKED_SETTING = 'chronos.locked'
const LOCKED = `locked AS MATERIALIZED (
    SELECT place::integer, entry ->> 0 AS queue, entry ->> 1 AS name, (entry ->> 2)::bigint AS since
    FROM json_array_elements(current_setting('${LOCKED_SETTING}')::json) WITH ORDINALITY AS given (entry, place)
  )`

/** Oldest notes first; those of one partition are deleted together, so the same ones are not read again and again. */
const NOTED = `
  SELECT name, min(pk) AS first, min(at) AS since FROM (
    SELECT name, pk, at FROM @partition_notes n WHERE n.queue = asked.name ORDER BY pk LIMIT 100 + 4 * asked.places
  ) AS note
  GROUP BY name ORDER BY min(pk) LIMIT 2 * asked.places`

const opened = (limit: string, lock: string): string => `
  SELECT name, open_at AS since FROM @partitions p
  WHERE p.queue = asked.name AND p.open_at IS NOT NULL AND p.open_at <= clock.now
  ORDER BY open_at, name LIMIT ${limit} ${lock}`

/**
 * Locks up to `$2` partitions of each queue: one half are those that are open the longest, the other half those with the
 * oldest notes, so that neither keep the others waiting. What one half leaves, the other may use; a single place is for
 * the older of both. A partition with a note and without a row gets one, because only a row can be locked. Partitions
 * that another claim has locked are left to it. `$3` and `$4`: nothing is locked if the token holds jobs.
 *
 * The next statements use no bitmap scans: these read the rows of all index entries, and those of taken notes and started
 * jobs again and again until a vacuum, while an index scan marks the entries that it need not read again.
 */
export const LOCK_PARTITIONS = `
  WITH ${CLOCK},
  asked AS MATERIALIZED (
    SELECT given.name, given.places, coalesce(q.open_at <= (SELECT now FROM clock), true) AS is_open
    FROM unnest($1::text[], $2::integer[]) AS given (name, places) LEFT JOIN @queues q ON q.name = given.name
    WHERE NOT coalesce(q.paused, false)
      AND NOT EXISTS (SELECT 1 FROM @jobs WHERE $3::boolean AND state = 'running' AND token = $4)
  ),
  noted AS MATERIALIZED (
    SELECT asked.name AS queue, note.* FROM asked, LATERAL (${NOTED}) AS note
  ),
  shares AS MATERIALIZED (
    SELECT asked.name, asked.places, asked.places - least(notes.count, asked.places - half.size) AS for_open,
      asked.places - least(open.count, half.size) AS for_noted
    FROM clock, asked, LATERAL (
      SELECT count(*), min(since) AS since FROM noted WHERE noted.queue = asked.name
    ) AS notes, LATERAL (
      SELECT count(*), min(since) AS since FROM (${opened('1 + asked.places / 2', '')}) AS p
    ) AS open, LATERAL (
      SELECT asked.places / 2 + CASE WHEN asked.places % 2 = 1 AND open.since < notes.since THEN 1 ELSE 0 END AS size
    ) AS half
    WHERE asked.is_open OR notes.count > 0
  ),
  made AS (
    INSERT INTO @partitions (queue, name)
    SELECT line.queue, line.name FROM shares AS asked, LATERAL (
      SELECT * FROM noted WHERE noted.queue = asked.name ORDER BY first LIMIT asked.for_noted
    ) AS line
    WHERE NOT EXISTS (SELECT 1 FROM @partitions p WHERE p.queue = line.queue AND p.name = line.name)
    ORDER BY line.queue, line.name ON CONFLICT DO NOTHING
    RETURNING queue, name
  ),
  kept AS MATERIALIZED (
    SELECT asked.name AS queue, line.name, line.since FROM shares AS asked, LATERAL (
      SELECT p.name, noted.since FROM noted, LATERAL (
        SELECT name FROM @partitions p WHERE p.queue = noted.queue AND p.name = noted.name FOR UPDATE SKIP LOCKED
      ) AS p
      WHERE noted.queue = asked.name LIMIT asked.for_noted
    ) AS line
    UNION ALL
    SELECT asked.name, line.name, line.since FROM clock, shares AS asked, LATERAL (
      ${opened('asked.for_open', 'FOR UPDATE SKIP LOCKED')}
    ) AS line
  ),
  mine AS (
    SELECT queue, name, since FROM made JOIN noted USING (queue, name) UNION ALL SELECT queue, name, since FROM kept
  )
  SELECT set_config('enable_bitmapscan', 'off', true),
    set_config('${LOCKED_SETTING}', coalesce(json_agg(json_build_array(queue, name, since) ORDER BY since), '[]')::text, true)
  FROM (SELECT queue, name, min(since) AS since FROM mine GROUP BY queue, name) AS locked`

/** Deletes the notes of the locked partitions, and returns those about rates. */
export const TAKE_NOTES = `
  WITH ${LOCKED},
  gone AS (
    DELETE FROM @partition_notes WHERE ctid = ANY (ARRAY(
      SELECT note.spot FROM locked, LATERAL (
        SELECT ctid AS spot FROM @partition_notes n WHERE n.queue = locked.queue AND n.name = locked.name OFFSET 0
      ) AS note
    ))
    RETURNING queue, name, at, body, pk
  )
  SELECT queue, name, at, body FROM gone WHERE body IS NOT NULL ORDER BY pk`

export type NoteRow = [queue: string, name: string, at: number, body: string]

/** The queues. Running jobs are counted if the queue has a limit of its own. */
export const READ_QUEUES = `
  WITH ${CLOCK}
  SELECT clock.now, EXISTS (SELECT 1 FROM @jobs WHERE $2::boolean AND state = 'running' AND token = $3), asked.name,
    coalesce(q.paused, false), coalesce(q.laned, false), q.limits, q.open_at, q.turn,
    CASE WHEN q.bound THEN (
      SELECT count(*) FROM @jobs j WHERE j.state = 'running' AND j.lane IS NOT NULL AND j.queue = q.name
    ) ELSE 0 END,
    q.limits IS NOT NULL AND EXISTS (${unsorted('1', '')})
  FROM clock, unnest($1::text[]) AS asked (name) LEFT JOIN @queues q ON q.name = asked.name`

export type QueueRow = [
  now: number,
  held: boolean,
  name: string,
  paused: boolean,
  laned: boolean,
  limits: string | null,
  openAt: number | null,
  turn: string | null,
  running: number,
  unsorted: boolean,
]

/** The locked partitions, in the order in which they take their turns. */
export const READ_PARTITIONS = `
  WITH ${LOCKED}
  SELECT locked.place, locked.queue, locked.name, locked.since, p.open_at, p.body, (
      SELECT count(*) FROM @jobs j
      WHERE j.state = 'running' AND j.lane IS NOT NULL AND j.queue = locked.queue AND j.lane = locked.name
    ),
    coalesce(q.stops, false) AND EXISTS (
      SELECT 1 FROM @jobs j
      WHERE j.state = 'dead' AND j.lane IS NOT NULL AND j.reason IS DISTINCT FROM 'discarded'
        AND j.queue = locked.queue AND j.lane = locked.name
    )
  FROM locked LEFT JOIN @queues q ON q.name = locked.queue, LATERAL (
    SELECT open_at, body FROM @partitions p WHERE p.queue = locked.queue AND p.name = locked.name OFFSET 0
  ) AS p
  ORDER BY locked.place`

export type PartitionRow = [
  place: number,
  queue: string,
  name: string,
  since: number,
  openAt: number | null,
  body: string | null,
  running: number,
  isStopped: boolean,
]

const WAITS = `state = 'waiting' AND lane IS NOT NULL AND queue = lane_of.queue AND lane = lane_of.name
      AND (deadline IS NULL OR deadline > clock.now)`
const CANDIDATE = 'ctid AS spot, pk, run_at, units, name, NULL::bigint AS next_at'

/**
 * The first jobs of each locked partition, one more than may start. Nearly always, all of the first ones by priority are
 * due. Only if one of them is due later, every priority is looked at, and the next due time is read. An ordered
 * partition has one first job, whatever its time. `$1` is the room of the claim, `$2` the most jobs to read of all
 * partitions, if the claim asks for certain names. The jobs of a partition are one row, because a row costs this process
 * as much as a job does.
 */
export const FIND_CANDIDATES = `
  WITH ${CLOCK}, ${LOCKED},
  lane_of AS MATERIALIZED (
    SELECT locked.place, locked.queue, locked.name, coalesce(q.ordered, false) AS ordered, greatest(
      1 + ceil($1::float8 / count(*) OVER (PARTITION BY locked.queue)), $2::integer / count(*) OVER ())::integer AS most
    FROM locked LEFT JOIN @queues q ON q.name = locked.queue
  )
  SELECT lane_of.place, line.*
  FROM clock, lane_of, LATERAL (
    SELECT string_agg(job.spot::text, ' '), string_agg(job.pk::text, ' '), string_agg(job.run_at::text, ' '),
      CASE WHEN count(job.units) > 0 THEN json_agg(job.units) FILTER (WHERE job.spot IS NOT NULL) END::text,
      CASE WHEN $2::integer > 0 THEN json_agg(job.name) FILTER (WHERE job.spot IS NOT NULL) END::text, min(job.next_at)
    FROM (
      WITH first AS MATERIALIZED (
        SELECT ${CANDIDATE} FROM @jobs WHERE ${WAITS} AND NOT lane_of.ordered
        ORDER BY priority DESC, run_at, pk LIMIT lane_of.most
      ),
      later AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM first WHERE run_at > clock.now) AS is_there)
      SELECT * FROM first WHERE NOT (SELECT is_there FROM later)
      UNION ALL
      (
        SELECT line.* FROM generate_series(9, 0, -1) AS level (priority), LATERAL (
          SELECT ${CANDIDATE} FROM @jobs WHERE ${WAITS} AND priority = level.priority AND run_at <= clock.now
          ORDER BY run_at, pk LIMIT lane_of.most
        ) AS line
        WHERE (SELECT is_there FROM later) LIMIT lane_of.most
      )
      UNION ALL
      SELECT NULL, NULL, NULL, NULL, NULL, min(line.run_at) FROM generate_series(9, 0, -1) AS level (priority), LATERAL (
        SELECT run_at FROM @jobs WHERE ${WAITS} AND priority = level.priority AND run_at > clock.now
        ORDER BY run_at, pk LIMIT 1
      ) AS line
      WHERE (SELECT is_there FROM later) HAVING count(*) > 0
      UNION ALL
      (SELECT ${CANDIDATE} FROM @jobs WHERE ${WAITS} AND lane_of.ordered ORDER BY pk LIMIT 2)
    ) AS job
  ) AS line`

/** The jobs in the order in which they start: lists with spaces between, or JSON. All are null if there is no job. */
export type CandidateRow = [
  place: number,
  spots: string | null,
  pks: string | null,
  runAts: string | null,
  units: string | null,
  names: string | null,
  nextDueAt: number | null,
]

/**
 * Starts the jobs that have a turn, except those that another transaction has changed meanwhile: a changed job is in
 * another spot, and its spot may have been given to another one. `$6` has the lanes of the jobs by `pk`. Rates count the
 * starts from the time of the decision, which is `$9`.
 */
export const START_JOBS = `
  WITH ${CLOCK}
  UPDATE @jobs AS jobs SET ${start('$9::bigint')}
  WHERE jobs.ctid = ANY ($1::tid[]) AND ((SELECT $6::jsonb) ->> jobs.pk::text) = jobs.lane
    AND jobs.queue = ANY ($7::text[]) AND jobs.token IS NULL AND jobs.finished_at IS NULL AND jobs.run_at <= (SELECT now FROM clock)
  RETURNING ${FACT_COLUMNS}, pk`

/**
 * Where the row of each given partition is: one index seek for each. A condition on the names would compare each row with
 * every name. The claim has locked the rows, so they stay where they are.
 */
const FOUND = `LATERAL (
    SELECT ctid AS spot FROM @partitions one WHERE one.queue = given.queue AND one.name = given.name OFFSET 0
  ) AS found`

export const WRITE_PARTITIONS = `
  UPDATE @partitions p SET open_at = given.open_at, idle_at = given.idle_at, body = given.body
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
    AS given (queue, name, open_at, idle_at, body), ${FOUND}
  WHERE p.ctid = found.spot`

export const DELETE_PARTITIONS = `
  DELETE FROM @partitions p USING unnest($1::text[], $2::text[]) AS given (queue, name), ${FOUND} WHERE p.ctid = found.spot`

/** A partition in which nothing waits is remembered for its rates, until they allow a burst again. */
export const FORGET_PARTITIONS = `
  DELETE FROM @partitions WHERE (queue, name) IN (
    SELECT queue, name FROM @partitions WHERE open_at IS NULL AND idle_at <= (SELECT @now_ms())
    ORDER BY idle_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`

export const WRITE_QUEUES = `
  UPDATE @queues q SET open_at = given.open_at, turn = given.turn
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS given (name, open_at, turn) WHERE q.name = given.name`

/** A job got its lane while the limits of its queue were removed. */
export const KEEP_LANED = `
  INSERT INTO @queues (name, laned) SELECT name, true FROM unnest($1::text[]) AS given (name) ORDER BY name
  ON CONFLICT (name) DO UPDATE SET laned = true`

/** The last job of a lane has left a queue whose limits were removed. */
export const FORGET_LANED = `
  UPDATE @queues q SET laned = false WHERE name = ANY ($1::text[]) AND laned AND limits IS NULL
    AND NOT EXISTS (SELECT 1 FROM @partitions p WHERE p.queue = q.name)
    AND NOT EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = q.name)
    AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.state = 'waiting' AND j.lane IS NOT NULL AND j.queue = q.name)
    AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.state = 'running' AND j.lane IS NOT NULL AND j.queue = q.name)`

/** When the next partition opens, and whether there are notes that this claim has not taken. */
export const NEXT_TURN = `
  SELECT q.open_at, (
      SELECT p.open_at FROM @partitions p WHERE p.queue = q.name AND p.open_at IS NOT NULL ORDER BY p.open_at LIMIT 1
    ),
    EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = q.name)
  FROM @queues q WHERE q.name = ANY ($1::text[]) AND NOT q.paused`

export type NextRow = [queueOpenAt: number | null, openAt: number | null, isNoted: boolean]
