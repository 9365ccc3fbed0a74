import { ChronosError } from '../../../src/core/values/error.js'
import type { Store } from '../../../src/store/store.js'
import type { Counted, Coverage } from '../coverage.js'
import { type AnswerOf, type Arguments, VERBS, type Verb } from '../verbs.js'
import type { Witness } from '../witness.js'
import { Chance } from './chance.js'
import type { Host } from './host.js'
import type { Plan } from './plan.js'
import { newerAnswer, newerArguments } from './rolling.js'
import type { Timeline } from './timeline.js'

interface Fate {
  /** `cut off`: no response, and the call was not executed; the caller can't distinguish it from `lost`. */
  readonly kind: 'answered' | 'refused' | 'lost' | 'cut off' | 'strange'
  /** The latency to the store, and back. */
  readonly requestMs: number
  readonly answerMs: number
  /** Executes the call once more, this long after the first time. */
  readonly againAfterMs?: number
}

/** The verbs that wake other processes, because they add or release work. */
const WAKING: ReadonlySet<Verb> = new Set(['enqueue', 'change', 'settle'])

/**
 * The network between the simulated processes and the one real store: each process gets its own store, which may
 * misbehave.
 */
export class Wire {
  readonly #timeline: Timeline
  readonly #witness: Witness
  readonly #chance: Chance
  /** Who dies in the middle of something: independent of the other faults. */
  readonly #deaths: Chance
  #deathsLeft = DEATHS_MAX
  readonly #coverage: Coverage
  readonly #plan: Plan
  readonly #watchers = new Map<Host, () => void>()
  #awayUntil = 0
  /** No fault disturbs what comes before the start, or after healing. */
  #isCalm = true
  /** Called when a process dies while this call is under way. */
  onDeath: (host: Host, verb: Verb, args: readonly unknown[]) => void = () => {}
  /** Called when a response was lost. */
  onLost: (host: Host, verb: Verb) => void = () => {}
  /** `job run` of runs whose worker was never told that it has them. */
  readonly unheard = new Set<string>()
  /** Calls on their way to the store: they are executed even if their caller has crashed. */
  underway = 0

  constructor(timeline: Timeline, witness: Witness, chance: Chance, coverage: Coverage, plan: Plan) {
    this.#timeline = timeline
    this.#witness = witness
    this.#chance = chance
    this.#deaths = new Chance(plan.seed, 9)
    this.#coverage = coverage
    this.#plan = plan
  }

  start(): void {
    this.#isCalm = false
  }

  /** Makes the store unreachable for a while. */
  cut(ms: number): void {
    this.#awayUntil = Math.max(this.#awayUntil, this.#timeline.now() + ms)
  }

  heal(): void {
    this.#isCalm = true
    this.#awayUntil = 0
  }

  /** `guard` is left out, because it is a thread in real time. The type of the table requires every other verb. */
  storeOf(host: Host, real: Store, isOld = false): Store {
    const { jobs } = this.#plan
    const isPlain = isOld || !jobs.some(({ future }) => future !== undefined)
    const verbs = Object.keys(VERBS).map(name => {
      const verb = name as Verb
      const call = (...args: Arguments<typeof verb>) => this.#call(host, real, verb, args)
      if (isPlain) return [verb, call]
      const newer = async (...args: Arguments<typeof verb>) =>
        newerAnswer(verb, await call(...newerArguments(verb, args, jobs)))
      return [verb, newer]
    })
    const watch: Store['watch'] = onChange => {
      this.#watchers.set(host, onChange)
      return () => this.#watchers.delete(host)
    }
    const { commitsAlone } = this.#plan
    return { kind: real.kind, commitsAlone, watch, ...Object.fromEntries(verbs) } as Store
  }

  #call<V extends Verb>(host: Host, real: Store, verb: V, args: Arguments<V>): Promise<AnswerOf<V>> {
    return new Promise((resolve, reject) => {
      if (host.isGone) return
      if (VERBS[verb] === 'calm') return resolve(undefined as AnswerOf<V>)
      const fate = this.#fateOf(verb, isSweep(verb, args))
      const answer = (tell: () => void): void => this.#after(fate.answerMs, () => host.deliver('answer', tell))
      this.underway++
      this.#after(fate.requestMs, () => {
        this.underway--
        const isAway = this.#timeline.now() < this.#awayUntil
        if (isAway || fate.kind === 'refused') return answer(() => reject(unavailable(verb)))
        if (fate.kind === 'cut off') return answer(() => reject(unknown(verb)))
        if (fate.kind === 'strange') return answer(() => reject(new Error(`${verb}: unknown store error`)))
        this.#execute(host, real, verb, args, fate).then(
          value => answer(() => (fate.kind === 'lost' ? reject(unknown(verb)) : resolve(value))),
          error => answer(() => reject(error)),
        )
      })
    })
  }

  async #execute<V extends Verb>(
    host: Host,
    real: Store,
    verb: V,
    args: Arguments<V>,
    fate: Fate,
  ): Promise<AnswerOf<V>> {
    const value = await this.#witness.execute(host.name, real, verb, args, fate.kind === 'lost' ? 'answer lost' : '')
    if (fate.kind === 'lost') this.onLost(host, verb)
    if (this.#dies(host, verb, args)) this.onDeath(host, verb, args)
    if (fate.kind === 'lost' && hadEffect(verb, value)) {
      this.#coverage.count('answer lost after commit')
      const counted = `answer lost after commit: ${verb}`
      if (verb === 'claim' || verb === 'settle' || verb === 'enqueue') this.#coverage.count(counted as Counted)
    }
    if (fate.againAfterMs !== undefined) {
      this.#coverage.count('call executed twice')
      const again = (): unknown => this.#witness.execute(host.name, real, verb, args, 'again')
      if (fate.againAfterMs === 0) this.#noteUnheard(verb, value, (await again()) as AnswerOf<V>)
      else {
        this.underway++
        this.#after(fate.againAfterMs, () => {
          this.underway--
          void again()
        })
      }
    }
    if (WAKING.has(verb)) this.#wakeOthers(host)
    return value
  }

  /** The second execution of a claim may be granted more than the first, whose answer is the one that arrives. */
  #noteUnheard<V extends Verb>(verb: V, first: AnswerOf<V>, second: AnswerOf<V>): void {
    if (verb !== 'claim') return
    const heard = new Set((first as AnswerOf<'claim'>).jobs.map(({ id }) => id))
    for (const { id, run } of (second as AnswerOf<'claim'>).jobs) if (!heard.has(id)) this.unheard.add(`${id} ${run}`)
  }

  /** The call was executed, and its process never learns it. */
  #dies(host: Host, verb: Verb, args: readonly unknown[]): boolean {
    const { dies } = this.#plan.swarm
    if (dies === 0 || this.#isCalm || this.#deathsLeft === 0 || !host.isUp || !isDelicate(verb, args)) return false
    // Jobs that a redrive or a person changes are rare.
    if (!this.#deaths.is(verb === 'change' ? 5 * dies : dies)) return false
    this.#deathsLeft--
    return true
  }

  /** A wake-up is optional: some never arrive. */
  #wakeOthers(host: Host): void {
    for (const [other, onChange] of this.#watchers) {
      if (other === host || other.isGone || !this.#chance.is(0.3)) continue
      this.#timeline.soon(() => other.deliver('answer', onChange))
    }
  }

  #fateOf(verb: Verb, sweeps: boolean): Fate {
    const { swarm, leaseMs } = this.#plan
    const chance = this.#chance
    const latency = (): number => (swarm.latencyMs === 0 ? 0 : chance.between(0, swarm.latencyMs))
    if (this.#isCalm) return { kind: 'answered', requestMs: latency(), answerMs: latency() }
    const roll = chance.share(0, 1)
    const { refused, lost, strange } = swarm
    const kind =
      roll < refused
        ? 'refused'
        : roll < refused + lost
          ? chance.pick(['lost', 'lost', 'cut off'] as const)
          : roll < refused + lost + strange
            ? 'strange'
            : 'answered'
    if (kind === 'refused') this.#coverage.count('call refused')
    const twice = chance.is(swarm.twice) && (kind === 'answered' || kind === 'lost')
    const late = VERBS[verb] === 'again' && chance.is(0.3)
    const again = twice ? { againAfterMs: late ? chance.between(1, 2 * leaseMs) : 0 } : {}
    const isSlow = chance.is(sweeps ? swarm.slowSweeps : swarm.slow)
    if (!isSlow) return { kind, requestMs: latency(), answerMs: latency(), ...again }
    this.#coverage.count('call answered late')
    const ms = chance.between(1, !sweeps && chance.is(0.5) ? 300 : 2 * leaseMs)
    const requestMs = Math.round(ms * (sweeps ? 1 : chance.pick([0, 0, 1, chance.share(0, 1)])))
    return { kind, requestMs, answerMs: ms - requestMs, ...again }
  }

  /** Immediate if no time is to pass: most calls cost the simulation nothing. */
  #after(ms: number, run: () => void): void {
    if (ms <= 0) run()
    else this.#timeline.at(this.#timeline.now() + ms, run)
  }
}

const DEATHS_MAX = 4
const DELICATE_KINDS: ReadonlySet<string> = new Set(['dependency', 'redrive', 'alert-turn', 'webhook'])

/** One of several writes that belong together. */
function isDelicate(verb: Verb, args: readonly unknown[]): boolean {
  if (verb === 'fire' || verb === 'change' || verb === 'defer' || verb === 'endEffect') return true
  return verb === 'putRecords' && (args as Arguments<'putRecords'>)[0].some(({ kind }) => DELICATE_KINDS.has(kind))
}

function isSweep(verb: Verb, args: readonly unknown[]): boolean {
  return verb === 'settle' && (args as Arguments<'settle'>)[0].some(({ onlyIfExpired }) => onlyIfExpired)
}

function hadEffect(verb: Verb, answer: unknown): boolean {
  if (verb === 'claim') return (answer as AnswerOf<'claim'>).jobs.length > 0
  if (verb === 'settle') return (answer as AnswerOf<'settle'>).some(({ status }) => status === 'settled')
  if (verb === 'enqueue') return (answer as AnswerOf<'enqueue'>).some(({ status }) => status === 'created')
  return ['begin', 'extend', 'report', 'change', 'endEffect', 'setQueue'].includes(verb)
}

const unavailable = (verb: Verb): ChronosError =>
  new ChronosError('STORE_UNAVAILABLE', `${verb}: the store is unreachable`)
const unknown = (verb: Verb): ChronosError => new ChronosError('STORE_UNKNOWN', `${verb}: the answer was lost`)
