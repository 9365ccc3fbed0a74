// What the processes of a scenario and its checker both know.

/** How often a handler of each job may start beyond the first time. */
export const MAX_RETRIES = { plain: 2, slow: 2, flaky: 2, failing: 1, charge: 3, most: 0, guarded: 8, snoozing: 2 }

/** The file that says that the service of the guarded jobs is down. */
export const DOWN = 'service-is-down'

/** The retries of the jobs that harm their process, and of those beside them. */
export const POISON_RETRIES = 6

/** The queues with limits, each with another kind. */
export const LIMITED = /** @type {const} */ ({
  sync: { partitions: { concurrency: 2 } },
  whole: { limit: { concurrency: 5 }, partitions: { fair: true } },
  feed: { partitions: { order: 'fifo' } },
  paced: { partitions: { rate: '20/s', burst: 5 } },
})
