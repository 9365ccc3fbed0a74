import type { PruneRequest } from '../../store.js'
import { INDEXES, type Steps, WINDOW } from './search.js'

export type Ended = keyof PruneRequest['olderThanMs']

type Old = [pk: number, finishedAt: number]

/** Finds ended jobs past their retention, oldest first. The prune checks them again when it writes. */
export async function findOld(steps: Steps, request: PruneRequest, now: number): Promise<Record<Ended, number[]>> {
  const found: { state: Ended; pk: number; finishedAt: number }[] = []
  for (const state of ['succeeded', 'dead', 'cancelled'] as const) {
    const age = request.olderThanMs[state]
    if (age === undefined) continue
    const rows = await (state === 'succeeded' ? oldSucceeded : oldOthers)(steps, now - age, request.limit, state)
    found.push(...rows.map(([pk, finishedAt]) => ({ state, pk, finishedAt })))
  }
  found.sort((a, b) => a.finishedAt - b.finishedAt || a.pk - b.pk)
  const old: Record<Ended, number[]> = { succeeded: [], dead: [], cancelled: [] }
  for (const { state, pk } of found.slice(0, request.limit)) old[state].push(pk)
  return old
}

function oldOthers(steps: Steps, before: number, limit: number, state: Ended): Promise<Old[]> {
  const sql = `SELECT pk, finished_at FROM jobs ${INDEXES[state]} AND finished_at <= ? ORDER BY finished_at, pk LIMIT ?`
  return steps(db => db.all<Old>(sql, before, limit))
}

/** Scans from the oldest job, until jobs are too young to have ended long ago. */
async function oldSucceeded(steps: Steps, before: number, limit: number): Promise<Old[]> {
  const found: Old[] = []
  for (let low = 0; found.length < limit; ) {
    const first = await steps(db =>
      db.get<[pk: number, createdAt: number]>('SELECT pk, created_at FROM jobs WHERE pk > ? ORDER BY pk LIMIT 1', low),
    )
    if (!first || first[1] > before) break
    low = first[0] + WINDOW
    const rows = await steps(db =>
      db.all<Old>(
        `SELECT pk, finished_at FROM jobs NOT INDEXED
         WHERE pk >= ? AND pk <= ? AND +state = 'succeeded' AND finished_at <= ? ORDER BY pk LIMIT ?`,
        first[0],
        low,
        before,
        limit - found.length,
      ),
    )
    found.push(...rows)
  }
  return found
}
