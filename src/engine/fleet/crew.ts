import type { Clock, Dice } from '../../core/values/clock.js'
import { siblingOf } from '../../store/run.js'
import type { Claimed } from '../../store/store.js'
import type { Held } from '../worker/fetcher.js'

const NONE: readonly Member[] = []
const PAUSE_MS = 5_000
const PAUSE_MAX_MS = 300_000

/** What the other workers of its process need of a worker. */
export interface Member {
  /** Nothing runs, is held or is being claimed, except for suspects that wait for their turn. */
  isIdle(): boolean
  /** One of its suspects runs alone, or is about to. */
  isClosed(): boolean
  /** Suspects that run. */
  suspects(): Iterable<Claimed>
  /** Suspects that wait for their turn. */
  waiting(): readonly Held[]
  /** Releases the jobs that have not started, with or without the suspects. */
  giveBack(which: 'all' | 'plain'): void
  /** Starts the jobs that may start. */
  pump(): void
}

/**
 * The workers of one process. A crash ends all of them, so suspects run in groups, or alone, among all of them
 * (`quarantine.ts`), and their ids tell a store that they are one process.
 */
export class Crew {
  readonly #members = new Set<Member>()
  /** How often in a row the process did not become empty for a suspect. */
  #vain = 0
  /** When it tries again. */
  #busyUntil = 0
  #firstId: string | undefined
  #named = 0

  /** The id of the next worker. */
  nextId(clock: Clock, dice: Dice): string {
    this.#firstId ??= dice.id(clock.now())
    this.#named++
    return this.#named === 1 ? this.#firstId : siblingOf(this.#firstId, this.#named)
  }

  join(member: Member): void {
    this.#members.add(member)
  }

  leave(member: Member): void {
    this.#members.delete(member)
    this.pumpOthers(member)
  }

  *suspects(): Iterable<Claimed> {
    for (const member of this.#members) yield* member.suspects()
  }

  /** Except for the suspects of this worker, the process is empty. */
  isAlone(member: Member): boolean {
    return member.isIdle() && this.#others(member).every(one => one.isIdle() && one.waiting().length === 0)
  }

  isClosedBeside(member: Member): boolean {
    return this.#others(member).some(one => one.isClosed())
  }

  /** The process does not try to become empty now, because it did not for the last suspects. */
  isPausing(now: number): boolean {
    return now < this.#busyUntil
  }

  /** The process did not become empty in time. Its workers stay open until it tries again: twice as long as the last time. */
  gaveUp(now: number): void {
    this.#busyUntil = now + Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** this.#vain)
    this.#vain++
  }

  becameEmpty(): void {
    this.#vain = 0
    this.#busyUntil = 0
  }

  /** Makes room for a suspect of this worker. */
  clear(member: Member): void {
    member.giveBack('plain')
    for (const one of this.#others(member)) one.giveBack('all')
  }

  pumpOthers(member: Member): void {
    for (const one of this.#others(member)) one.pump()
  }

  /** Suspects of other workers may have waited for the end of jobs of this one. */
  pumpSuspects(member: Member): void {
    for (const one of this.#others(member)) if (one.waiting().length > 0) one.pump()
  }

  #others(member: Member): readonly Member[] {
    // Nearly always, and it is asked for every job.
    if (this.#members.size === 1 && this.#members.has(member)) return NONE
    return [...this.#members].filter(one => one !== member)
  }
}
