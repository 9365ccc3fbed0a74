import type { Clock, Dice, Timer } from '../../core/values/clock.js'
import type { Claimed } from '../../store/store.js'
import type { Crew, Member } from '../fleet/crew.js'
import type { Held } from './fetcher.js'

interface QuarantineOptions {
  readonly clock: Clock
  readonly dice: Dice
  readonly crew: Crew
  readonly member: Member
  /** This attempt is the last one that the job's policy permits. */
  readonly isLast: (claimed: Claimed) => boolean
  readonly handBack: (held: Held, delayMs: number) => void
}

/**
 * How many suspects a process runs at a time, by the number of times they were lost together with others. The groups
 * halve.
 */
const GROUPS = [8, 8, 4, 2, 1] as const
const HELD_MAX = 8
/**
 * How long a process waits to become empty for a job that must run alone, before it releases that job to another one.
 */
const PATIENCE_MS = 30_000
const LATER_MS = 1_000

/**
 * Isolates suspects. When a process dies with many jobs, the one that killed it is unknown. They run again in groups
 * that halve with every further loss, and finally alone, so that the culprit is found. The last permitted attempt always
 * runs alone, so that no suspect dies of another job's crash. A crash ends all workers of a process, so they share groups,
 * and a job is alone only among all of them.
 */
export class Quarantine {
  readonly #options: QuarantineOptions
  #held: Held[] = []
  /** Set while a suspect waits for this process to become empty. */
  #patience: Timer | undefined
  #loner: Held | undefined

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  held(): readonly Held[] {
    return this.#held
  }

  /** A suspect runs alone, or is about to: no other job may start or be claimed. */
  get isClosed(): boolean {
    return this.#patience !== undefined || this.#lonerRuns()
  }

  /** Adds a claimed suspect, which starts when its group has room. */
  add(held: Held): void {
    if (this.#held.length < HELD_MAX) this.#held.push(held)
    else this.#options.handBack(held, this.#later())
  }

  /** The next suspect that may start now. */
  take(): Held | undefined {
    if (this.#held.length === 0 || this.#lonerRuns() || this.#isClosedBeside) return undefined
    this.#held.sort((a, b) => this.#groupOf(b.claimed) - this.#groupOf(a.claimed))
    const next = this.#held[0]!
    const group = this.#groupOf(next.claimed)
    if (group === 1) return this.#takeAlone(next)
    const running = [...this.#options.crew.suspects()]
    if (running.length >= Math.min(group, ...running.map(one => this.#groupOf(one)))) return undefined
    this.#held.shift()
    return next
  }

  /** Releases all suspects, because the worker stops, or one of another worker must run alone. */
  giveBack(): void {
    const wasWaiting = this.#patience !== undefined
    this.#forget()
    for (const held of this.#held.splice(0)) this.#options.handBack(held, 0)
    if (wasWaiting) this.#open()
  }

  #groupOf(claimed: Claimed): number {
    const { strikes, losses } = claimed
    return strikes > 0 || this.#options.isLast(claimed) ? 1 : (GROUPS[losses] ?? 1)
  }

  #takeAlone(next: Held): Held | undefined {
    const { clock, crew, member } = this.#options
    if (this.#patience === undefined) {
      if (crew.isPausing(clock.now()) && !crew.isAlone(member)) {
        this.#held.shift()
        this.#leave(next)
        return undefined
      }
      for (const held of this.#held.splice(1)) this.#options.handBack(held, this.#later())
      this.#patience = clock.timer(PATIENCE_MS, () => this.#giveUp())
      crew.clear(member)
    }
    if (!crew.isAlone(member)) return undefined
    this.#forget()
    crew.becameEmpty()
    this.#held.shift()
    this.#loner = next
    return next
  }

  /** A less busy process may take the suspect. */
  #leave(held: Held): void {
    this.#options.handBack(held, 5 * this.#later())
  }

  /** Other jobs need this process too. */
  #giveUp(): void {
    const { clock, crew } = this.#options
    this.#patience = undefined
    crew.gaveUp(clock.now())
    for (const held of this.#held.splice(0)) this.#leave(held)
    this.#options.member.pump()
    this.#open()
  }

  #forget(): void {
    this.#patience?.cancel()
    this.#patience = undefined
  }

  #lonerRuns(): boolean {
    if (this.#loner === undefined) return false
    for (const { id } of this.#options.crew.suspects()) if (id === this.#loner.claimed.id) return true
    this.#loner = undefined
    this.#open()
    return false
  }

  get #isClosedBeside(): boolean {
    return this.#options.crew.isClosedBeside(this.#options.member)
  }

  /** Jobs of the other workers may start again. */
  #open(): void {
    this.#options.crew.pumpOthers(this.#options.member)
  }

  /** A random delay, so that suspects do not all return at the same time. */
  #later(): number {
    return Math.ceil(LATER_MS * (1 + this.#options.dice.random()))
  }
}
