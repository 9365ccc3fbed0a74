import type { Mutant } from '../mutant.js'

const SETTLE = 'src/store/sqlite/writes/settle.ts'
const CLAIM = 'src/store/sqlite/writes/claim.ts'
const LEASE = 'src/store/sqlite/writes/lease.ts'
const FAILURE = 'src/store/sqlite/file/failure.ts'

/** Bugs of the SQLite store: fences, counts, rows. */
export const STORE_BUGS: readonly Mutant[] = [
  {
    name: 'settle by id alone',
    from: 325,
    file: SETTLE,
    find: "const FENCE = 'pk = ? AND token = ? AND lease_until < ?",
    replace: "const FENCE = 'pk = ? AND ? IS NOT NULL AND ifnull(lease_until, 0) < ?",
  },
  {
    name: 'settle by state, without the token',
    from: 305,
    file: SETTLE,
    find: "const FENCE = 'pk = ? AND token = ? AND lease_until < ?",
    replace: "const FENCE = 'pk = ? AND ? IS NOT NULL AND lease_until < ?",
  },
  {
    name: 'settle a batch without the token',
    file: SETTLE,
    find: 'json_each(?)) AND +token = ?',
    replace: 'json_each(?)) AND ? IS NOT NULL',
    killer: 'sqlite#batchesAreFenced',
  },
  {
    name: 'a text of an error counted once for a batch',
    file: 'src/store/sqlite/writes/errors.ts',
    find: 'known.uncounted += 1',
    replace: 'known.uncounted += 0',
    killer: 'sqlite#errorsLastAsLongAsTheirAttempts',
  },
  {
    name: 'renew a lease without the token',
    from: 87,
    file: LEASE,
    find: 'UPDATE jobs SET lease_until = ?, lease_ms = ? WHERE ${FENCE} RETURNING',
    replace:
      "UPDATE jobs SET lease_until = ?, lease_ms = ? WHERE id = ${ID} AND state = 'running' AND ? <> '' RETURNING",
  },
  {
    name: 'a sweep based on a stale read',
    from: 2027,
    file: SETTLE,
    find: '[pk, toText(lease.token), now, run, begun]',
    replace: '[pk, toText(lease.token), ANY_TIME, run, begun]',
    mood: 'zombies',
  },
  {
    name: 'attempts counted at the failure instead of the claim',
    from: 325,
    file: CLAIM,
    find: 'run = run + 1, attempt = attempt + 1, begun = ?',
    replace: 'run = run + 1, begun = ?',
  },
  {
    name: 'enqueue without checking the key',
    from: 325,
    file: 'src/store/sqlite/writes/enqueue.ts',
    find: 'return key === undefined && unique === undefined && throttle === undefined',
    replace: 'return unique === undefined && throttle === undefined',
  },
  {
    name: 'a repeated enqueue replaces the payload again',
    file: 'src/store/sqlite/writes/unique.ts',
    find: 'remember(db, REPLACED_SCOPE, job.id.toLowerCase(), next.id, now + REPLACED_ID_MS)',
    replace: 'remember(db, REPLACED_SCOPE, job.id.toLowerCase(), next.id, now)',
    killer: 'sqlite#aPayloadIsTakenOnce',
  },
  {
    name: 'a running job takes the payload of a newer enqueue',
    file: 'src/core/job/unique.ts',
    find: "if (job.state !== 'waiting' || job.delivery",
    replace: 'if (job.delivery',
    killer: 'sqlite#aRunKeepsItsPayload',
  },
  {
    name: 'no row for a run that is retried',
    from: 325,
    file: SETTLE,
    find: 'if (!isPlain) insertAttempt(db, errors, ending, become)',
    replace: "if (!isPlain && become.state !== 'waiting') insertAttempt(db, errors, ending, become)",
  },
  {
    name: 'a repeated claim takes more',
    from: 3,
    file: CLAIM,
    find: 'if (again.length > 0) return { now, jobs: again }',
    replace: 'if (again.length > 10_000) return { now, jobs: again }',
  },
  {
    name: 'a claim before its time',
    from: 325,
    file: CLAIM,
    find: 'priority = ? AND run_at <= ? AND (deadline',
    replace: 'priority = ? AND run_at <= ? + 250 AND (deadline',
  },
  {
    name: 'a claim past the deadline',
    from: 3,
    file: CLAIM,
    find: '(deadline IS NULL OR deadline > ?)',
    replace: '(deadline IS NULL OR deadline > ? OR deadline > 0)',
  },
  {
    name: 'a claim from a paused queue',
    from: 87,
    file: CLAIM,
    find: 'FROM queues WHERE paused = 1 OR laned = 1',
    replace: 'FROM queues WHERE paused = 2 OR laned = 1',
  },
  {
    name: 'a release that gives the attempt back twice',
    from: 325,
    file: SETTLE,
    find: 'run = run - 1, attempt = attempt - 1, begun = 0',
    replace: 'run = run - 1, attempt = max(0, attempt - 2), begun = 0',
  },
  {
    name: 'a cancel forgotten on retry',
    from: 21,
    file: SETTLE,
    find: "' AND cancel_requested = 0',",
    replace: "'',",
  },
  {
    name: 'a redrive in the same generation',
    from: 52,
    file: 'src/core/job/changes.ts',
    find: 'generation: job.generation + 1, runAt',
    replace: 'generation: job.generation, runAt',
  },
  {
    name: 'an effect recorded twice',
    from: 289,
    file: LEASE,
    find: 'SET result = ifnull(result, excluded.result)',
    replace: 'SET result = NULL',
  },
  {
    name: 'a deleted file that acknowledges writes',
    file: 'src/store/sqlite/file/file.ts',
    find: 'if (this.#place !== undefined && placeOf(this.path) !== this.#place) throw moved()',
    replace: "if (this.#place === '' && placeOf(this.path) !== this.#place) throw moved()",
    killer: 'sqlite#aDeletedFileAcknowledgesNothing',
  },
  {
    name: 'a read-only file reported as an unknown error',
    file: FAILURE,
    find: '    case READONLY:\n      return readOnly()',
    replace: '    case READONLY:\n      return error',
    killer: 'sqlite#aReadOnlyFileIsNamed',
  },
  {
    name: 'a failed flush of a commit reported as not done',
    file: FAILURE,
    find: 'if ((codeOf(error) & 0xff) !== IOERR || codeOf(error) === IOERR_SHMSIZE) return error',
    replace: 'if (codeOf(error) > 0) return error',
    killer: 'sqlite#aFailedFlushIsUnknown',
  },
]
