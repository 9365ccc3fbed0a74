/** Queues, jobs and tags that Chronos creates itself begin with this. */
export const RESERVED = 'chronos:'

/** Jobs of these queues raise no events, and do not count as retries of the user's jobs. */
export const isInternal = (queue: string): boolean => queue.startsWith(RESERVED)
