import type { Mutant } from '../mutant.js'

const SETTLE = 'src/store/postgres/writes/settle.ts'
const CLAIM = 'src/store/postgres/writes/claim.ts'
const LEASE = 'src/store/postgres/writes/lease.ts'
const EFFECTS = 'src/store/postgres/writes/effects.ts'

const FENCE = 'WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id AND j.token = given.token'
const NO_FENCE = 'WHERE j.id = ANY ($1::uuid[]) AND j.id = given.id'
const STILL_EXPIRED = `
      AND \${STILL_EXPIRED}
    RETURNING j.id, j.pk, j.state, j.run_at, j.run, `
const JOINED = 'FROM @jobs j JOIN given ON j.id = given.id AND j.token = given.token\n    WHERE j.id = ANY ($1::uuid[])'
const JOINED_BY_ID = 'FROM @jobs j JOIN given ON j.id = given.id\n    WHERE j.id = ANY ($1::uuid[])'

/** Bugs in the statements of the PostgreSQL store. */
export const TABLE_BUGS: readonly Mutant[] = [
  {
    name: 'a success on PostgreSQL without a fence',
    file: 'src/store/postgres/writes/succeed.ts',
    find: 'AND j.id = given.id AND j.token = coalesce(given.token, ($2::text[])[1])',
    replace: 'AND j.id = given.id AND (coalesce(given.token, ($2::text[])[1]) IS NOT NULL)',
    killer: 'tables#aLateSuccessIsRefused',
  },
  {
    name: 'a failure on PostgreSQL without a fence',
    file: SETTLE,
    find: `${FENCE}${STILL_EXPIRED}j.generation`,
    replace: `${NO_FENCE}${STILL_EXPIRED}j.generation`,
    killer: 'tables#aLateFailureIsRefused',
  },
  {
    name: 'a hand-back on PostgreSQL without a fence',
    file: SETTLE,
    find: `${FENCE}${STILL_EXPIRED}j.queue`,
    replace: `${NO_FENCE}${STILL_EXPIRED}j.queue`,
    killer: 'tables#aLateHandBackIsRefused',
  },
  {
    name: 'a sweep on PostgreSQL that ignores a renewed lease',
    file: SETTLE,
    find: 'OR j.lease_until < clock.now AND j.run = given.expired_run)',
    replace: 'OR j.run = given.expired_run)',
    killer: 'tables#aRenewedLeaseIsNotSwept',
  },
  {
    name: 'a sweep on PostgreSQL that ignores a begin',
    file: SETTLE,
    find: 'AND j.begun = coalesce(given.begun, j.begun)',
    replace: '',
    killer: 'tables#aRunThatHasBegunMeanwhileIsNotSwept',
  },
  {
    name: 'a claim on PostgreSQL that takes later jobs',
    file: CLAIM,
    find: 'AND run_at <= clock.now ${CONDITIONS[kind]}',
    replace: '${CONDITIONS[kind]}',
    killer: 'tables#laterJobsAreNotClaimed',
  },
  {
    name: 'a claim on PostgreSQL that counts no attempt',
    file: CLAIM,
    find: 'run = run + 1, attempt = attempt + 1, begun',
    replace: 'run = run + 1, begun',
    killer: 'tables#aClaimCountsAnAttempt',
  },
  {
    name: 'a claim on PostgreSQL that ignores a pause',
    file: CLAIM,
    find: 'q.name = asked.name AND (q.paused OR q.limits IS NOT NULL)',
    replace: 'q.name = asked.name AND q.limits IS NOT NULL',
    killer: 'tables#aPausedQueueIsNotClaimed',
  },
  {
    name: 'a repeated claim on PostgreSQL that takes more jobs',
    file: CLAIM,
    find: 'WHERE NOT EXISTS (SELECT 1 FROM held)',
    replace: '',
    killer: 'tables#aRepeatedClaimTakesNoMore',
  },
  {
    name: 'a begin on PostgreSQL that is not stored',
    file: LEASE,
    find: 'SET begun = j.begun OR NOT j.cancel_requested,',
    replace: 'SET begun = j.begun,',
    killer: 'tables#theBeginOfARunIsStored',
  },
  {
    name: 'a renewal on PostgreSQL without a fence',
    file: LEASE,
    find: `${JOINED}\n    FOR NO KEY UPDATE OF j SKIP LOCKED`,
    replace: `${JOINED_BY_ID}\n    FOR NO KEY UPDATE OF j SKIP LOCKED`,
    killer: 'tables#aLostLeaseRenewsNothing',
  },
  {
    name: 'a report on PostgreSQL without a fence',
    file: LEASE,
    find: `${JOINED}\n    FOR NO KEY UPDATE OF j\n`,
    replace: `${JOINED_BY_ID}\n    FOR NO KEY UPDATE OF j\n`,
    killer: 'tables#aLateReportIsRefused',
  },
  {
    name: 'an effect on PostgreSQL without a fence',
    file: EFFECTS,
    find: 'WHERE id = $1 AND token = $2 FOR SHARE',
    replace: 'WHERE id = $1 AND $2::text IS NOT NULL FOR SHARE',
    killer: 'tables#anEffectNeedsTheLease',
  },
  {
    name: 'an effect on PostgreSQL whose result is replaced',
    file: EFFECTS,
    find: 'SET result = coalesce(effects.result, excluded.result)',
    replace: 'SET result = excluded.result',
    killer: 'tables#theFirstResultOfAnEffectStays',
  },
  {
    name: 'a sweeper on PostgreSQL that finds jobs with a valid lease',
    file: LEASE,
    find: "WHERE jobs.state = 'running' AND jobs.lease_until < (SELECT now FROM clock)",
    replace: "WHERE jobs.state = 'running'",
    killer: 'tables#onlyExpiredJobsAreSwept',
  },
  {
    name: 'a crash on PostgreSQL blamed on every worker of its process',
    file: LEASE,
    find: "`split_part(${job}.worker_id, '${SIBLING_SIGN}', 1)`",
    replace: '`${job}.worker_id`',
    killer: 'tables#aProcessEndsAsOne',
  },
  {
    name: 'two schedulers on PostgreSQL that enqueue one occurrence',
    file: 'src/store/postgres/writes/fire.ts',
    find: "puts[index]!.status === 'written' ? firing.jobs : []",
    replace: 'firing.jobs',
    killer: 'tables#anOccurrenceIsEnqueuedOnce',
  },
]
