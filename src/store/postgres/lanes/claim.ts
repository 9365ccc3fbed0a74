import type { Claim, ClaimRequest } from '../../store.js'
import type { Database } from '../connection/pool.js'
import type { SharedCommit } from '../connection/shared-commit.js'
import { answer, type ClaimMemory, heldBy, type Room, type Taken, takeAlong, takePlain } from '../writes/claim.js'
import { takeLanes } from './turns.js'

/** Claims jobs in lanes and other jobs. They share the claim, so that neither keep the others waiting. */
export async function claim(db: Database, memory: ClaimMemory, request: ClaimRequest): Promise<Claim> {
  const { lanes } = memory
  const draft = new ClaimDraft(db, memory, request)
  const laned = request.limit > 0 ? lanes.among(request.queues) : []
  if (laned.length === 0) {
    // The answer tells whether there are lanes.
    await draft.plain()
    await draft.lanes(lanes.among(request.queues))
    return draft.claim()
  }
  const isAlone = request.queues.every(queue => lanes.isLimited(queue))
  const half = isAlone ? request.limit : Math.ceil(request.limit / 2)
  await draft.lanes(laned, half)
  // The limits of a queue may have been removed meanwhile.
  if (isAlone && request.queues.every(queue => lanes.isLimited(queue))) return draft.claim()
  await draft.plain()
  if (draft.laneJobs === half) await draft.lanes(laned)
  return draft.claim()
}

/** Claims in the transaction of an enqueue of this process; undefined if there is none, or it failed. */
export async function claimAlong(
  db: Database,
  memory: ClaimMemory,
  request: ClaimRequest,
  sharedCommit: SharedCommit | undefined,
): Promise<Claim | undefined> {
  if (memory.lanes.among(request.queues).length > 0) return undefined
  const taken = await takeAlong(db, memory, request, sharedCommit)
  if (!taken) return undefined
  const draft = new ClaimDraft(db, memory, request)
  draft.add(taken)
  await draft.lanes(memory.lanes.among(request.queues))
  return { ...(await draft.claim()), isAlong: true }
}

/** A claim of several transactions. The jobs of all of them have the same token. */
class ClaimDraft {
  readonly #db: Database
  readonly #memory: ClaimMemory
  readonly #request: ClaimRequest
  readonly #parts: Taken[] = []
  laneJobs = 0
  #nextTurnAt: number | null = null

  constructor(db: Database, memory: ClaimMemory, request: ClaimRequest) {
    this.#db = db
    this.#memory = memory
    this.#request = request
  }

  add(taken: Taken): void {
    this.#parts.push(taken)
  }

  async plain(): Promise<void> {
    const room = this.#room()
    if (room) this.add(await takePlain(this.#db, this.#memory, this.#request, room))
  }

  async lanes(queues: readonly string[], limit = this.#request.limit): Promise<void> {
    const room = this.#room(limit)
    if (!room || queues.length === 0) return
    const taken = await takeLanes(this.#db, this.#memory.lanes, this.#request, queues, room)
    this.laneJobs += taken.rows.length
    this.#nextTurnAt = taken.nextDueAt
    this.add({ ...taken, nextDueAt: null })
  }

  get #rows() {
    return this.#parts.flatMap(({ rows }) => rows)
  }

  /** Undefined if nothing more can be taken. */
  #room(limit = this.#request.limit): Room | undefined {
    const [first] = this.#parts
    if (first?.held) return undefined
    const taken = this.#rows.length
    const left = Math.min(limit, this.#request.limit - taken)
    return left > 0 || !first ? { limit: left, mayBeHeld: taken === 0 } : undefined
  }

  async claim(): Promise<Claim> {
    const parts = this.#parts
    const now = parts.at(-1)!.now
    if (parts.some(({ held }) => held)) return { now, jobs: await heldBy(this.#db, this.#request.token) }
    const rows = this.#rows
    const claim = answer(now, rows, this.#request)
    const times = [...parts.map(({ nextDueAt }) => nextDueAt), this.#nextTurnAt].filter(at => at !== null)
    if (rows.length >= this.#request.limit || times.length === 0) return claim
    return { ...claim, nextDueAt: Math.min(...times) }
  }
}
