import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'

/** How far the updates of a job were received. */
export interface FollowPosition {
  /** The last ended run. */
  readonly run: number
  /** The page of log lines, a cursor of the store, and how many lines of it were received. */
  readonly page: string
  readonly seen: number
  /** The last progress, as JSON text. A long one is left out of the cursor, and may be received again. */
  readonly progress: string
  /** The generation whose end was received. */
  readonly endedGeneration?: number
}

export const START: FollowPosition = { run: 0, page: '', seen: 0, progress: '' }

const PROGRESS_MAX = 300

/** The job has ended, and the end was received; it has not been started again since. */
export function hasSeenEnd(
  { endedGeneration }: FollowPosition,
  { generation }: { readonly generation: number },
): boolean {
  return endedGeneration === generation
}

export function writePosition({ run, page, seen, progress, endedGeneration }: FollowPosition): string {
  const kept = progress.length > PROGRESS_MAX ? '' : progress
  return Buffer.from(JSON.stringify([run, page, seen, kept, endedGeneration])).toString('base64url')
}

export function readPosition(cursor: string): FollowPosition {
  try {
    const [run, page, seen, progress, endedGeneration] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const isValid =
      [run, seen].every(number => Number.isSafeInteger(number) && number >= 0) &&
      [page, progress].every(word => typeof word === 'string') &&
      (endedGeneration == null || Number.isSafeInteger(endedGeneration))
    if (isValid) return { run, page, seen, progress, ...present({ endedGeneration: endedGeneration ?? undefined }) }
  } catch {
    // Said below.
  }
  throw new ChronosError('INVALID_OPTION', `jobs.follow: cursor: ${shown(cursor)} is not the cursor of an update`)
}
