/** What the size of a batch depends on. */
interface BatchedJob {
  readonly attempt: number
  readonly isLastAttempt: boolean
  /** It may have crashed a process. */
  readonly suspect: boolean
}

/**
 * How many jobs may share a call with this one. A batch that failed is tried again in halves, and the last attempt of a
 * job is its own: so a job that makes its batches fail is found, and the others never die with it.
 */
export function batchSize({ attempt, suspect, isLastAttempt }: BatchedJob, size: number): number {
  if (suspect || (attempt > 1 && isLastAttempt)) return 1
  return Math.max(1, Math.ceil(size / 2 ** (attempt - 1)))
}
