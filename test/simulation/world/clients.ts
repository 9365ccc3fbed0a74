import type { WaitCode } from '../../../src/core/job/explain.js'
import type { Job } from '../../../src/core/job/job.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import type { EnqueueOptions } from '../../../src/engine/client/enqueuer.js'
import type { Coverage } from '../coverage.js'
import type { Answer, Invocation, Manual } from '../ledger.js'
import { reasonsOf } from '../promises/reasons.js'
import type { Trace } from '../trace.js'
import type { Verdict } from '../verdict.js'
import type { Deed, Witness } from '../witness.js'
import type { Chance } from './chance.js'
import { definitionsOf, type Payload, type Stage } from './handlers.js'
import type { Host } from './host.js'
import type { JobPlan, Step } from './plan.js'
import type { Process } from './process.js'
import { payloadOf } from './rolling.js'
import type { Timeline } from './timeline.js'

export interface ClientsOptions {
  readonly timeline: Timeline
  readonly chance: Chance
  readonly witness: Witness
  readonly stage: Stage
  readonly verdict: Verdict
  readonly coverage: Coverage
  readonly trace: Trace
  /** The process that acts as this client now; undefined while it is down. */
  readonly process: (client: number) => Process | undefined
  /** Any process that is running. */
  readonly anyProcess: () => Process | undefined
}

const TRIES_MAX = 6
const DOWN_RETRY_MS = 700

type ByHand = Exclude<Step, { act: 'enqueue' | 'enqueue otherwise' | 'redrive' | 'explain' }>
type ManualAct = ByHand['act']

const DEED_OF: Readonly<Partial<Record<ManualAct, Deed>>> = {
  cancel: 'cancel',
  'run now': 'reschedule',
  reschedule: 'reschedule',
  retry: 'redrive',
}

/** Plays the script: what users of the system do, and what they record about its responses. */
export class Clients {
  readonly #options: ClientsOptions
  #pending = 0
  /** Each process defines its jobs once. */
  readonly #definitions = new WeakMap<Host, ReturnType<typeof definitionsOf>>()
  readonly #playing = new Set<{ process: Process }>()

  constructor(options: ClientsOptions) {
    this.#options = options
  }

  play(script: readonly Step[]): void {
    const startAt = this.#options.timeline.now()
    for (const step of script) this.#later(startAt + step.at, step, 1)
  }

  #later(at: number, step: Step, tries: number): void {
    this.#pending++
    this.#options.timeline.at(at, () => {
      this.#pending--
      this.#step(step, tries)
    })
  }

  #again(step: Step, tries: number, ms: number): void {
    if (tries < TRIES_MAX) this.#later(this.#options.timeline.now() + ms, step, tries + 1)
  }

  #step(step: Step, tries: number): void {
    const own = step.act === 'enqueue' || step.act === 'enqueue otherwise' || this.#options.chance.is(0.6)
    const process = own ? this.#options.process(step.client) : this.#options.anyProcess()
    if (!process) {
      this.#again(step, tries - 1, DOWN_RETRY_MS)
      return
    }
    const play = { process }
    this.#playing.add(play)
    process.host.deliver('timer', () => {
      const played =
        step.act === 'enqueue'
          ? this.#enqueue(process, step, tries)
          : step.act === 'enqueue otherwise'
            ? this.#enqueueOtherwise(process, step.ref)
            : step.act === 'redrive'
              ? this.#redrive(process, step)
              : step.act === 'explain'
                ? this.#explain(process)
                : this.#manual(process, step)
      void played.then(() => this.#playing.delete(play))
    })
  }

  /** Whether the script has ended and no running client waits for a response. */
  get isDone(): boolean {
    return this.#pending === 0 && [...this.#playing].every(({ process }) => process.host.isGone)
  }

  // Enqueues

  async #enqueue(process: Process, step: Extract<Step, { act: 'enqueue' }>, tries: number): Promise<void> {
    const plans = step.refs.map(ref => this.#options.stage.jobs[ref]!)
    const invocations = plans.map(plan => this.#invoke(process, plan, false))
    const answers = await this.#ask(process, plans, invocations)
    const again: number[] = []
    for (const [index, answer] of answers.entries()) {
      const plan = plans[index]!
      this.#answered(process, invocations[index]!, answer)
      // A client that does not know the outcome must repeat the call only if repeating is safe.
      if (answer.kind === 'undone' || (answer.kind === 'unknown' && plan.key !== undefined)) again.push(plan.ref)
    }
    if (again.length > 0) this.#again({ ...step, refs: again }, tries, this.#options.chance.between(50, 5_000))
  }

  async #ask(process: Process, plans: readonly JobPlan[], invocations: readonly Invocation[]): Promise<Answer[]> {
    const { chronos } = process
    const reference = this.#reference(process, plans[0]!)
    const optionsOf = (index: number): EnqueueOptions => optionsFor(plans[index]!, invocations[index]!)
    try {
      if (plans.length === 1) {
        const { id, status } = await chronos.enqueue(reference, { ref: plans[0]!.ref }, optionsOf(0))
        return [{ kind: 'ok', id, status }]
      }
      const payloads = plans.map(({ ref }): Payload => ({ ref }))
      const all = await chronos.enqueueMany(reference, payloads, (_, index) => optionsOf(index))
      return all.map(({ id, status }) =>
        status === 'conflict' ? { kind: 'conflict', id } : { kind: 'ok', id, status },
      )
    } catch (error) {
      return plans.map(() => this.#answerOf(error))
    }
  }

  /** Half of the clients have the definitions; the others know only names. */
  #reference({ host, slot }: Process, { name }: JobPlan): Parameters<typeof Chronos.prototype.enqueue<Payload>>[0] {
    if (slot % 2 === 1) return name
    const known = this.#definitions.get(host) ?? definitionsOf(host, this.#options.stage)
    this.#definitions.set(host, known)
    return known.find(definition => definition.name === name) ?? name
  }

  async #enqueueOtherwise(process: Process, ref: number): Promise<void> {
    const plan = this.#options.stage.jobs[ref]!
    const invocation = this.#invoke(process, plan, true)
    const payload: Payload = { ref, otherwise: true }
    const reference = this.#reference(process, plan)
    try {
      const { id, status } = await process.chronos.enqueue(reference, payload, optionsFor(plan, invocation))
      this.#answered(process, invocation, { kind: 'ok', id, status })
    } catch (error) {
      this.#answered(process, invocation, this.#answerOf(error))
    }
  }

  #invoke(process: Process, { ref, key }: JobPlan, otherwise: boolean): Invocation {
    const { timeline, trace, stage } = this.#options
    const { invocations } = stage.ledger
    const by = process.host.name
    const invocation: Invocation = { call: invocations.length, ref, key, otherwise, at: timeline.now(), by }
    invocations.push(invocation)
    trace.say(timeline.now(), by, `enqueues #${ref}${otherwise ? ' otherwise' : ''}`, `call ${invocation.call}`)
    return invocation
  }

  #answered(process: Process, invocation: Invocation, answer: Answer): void {
    const { timeline, trace } = this.#options
    if (process.host.isGone) return
    invocation.answer = answer
    if ('id' in answer) trace.name(answer.id, `#${invocation.ref}`)
    trace.say(timeline.now(), process.host.name, `call ${invocation.call} was answered`, answer)
  }

  #answerOf(error: unknown): Answer {
    if (error instanceof ChronosError && error.code === 'KEY_CONFLICT') {
      return { kind: 'conflict', id: String(error.details['existingId']) }
    }
    return { kind: this.#troubleOf(error) }
  }

  #troubleOf(error: unknown): 'undone' | 'unknown' {
    const code = error instanceof ChronosError ? error.code : undefined
    if (code === 'STORE_UNAVAILABLE') return 'undone'
    const isKnown = code === 'STORE_UNKNOWN' || code === 'CLOSED' || /unknown store error/.test(String(error))
    if (!isKnown) this.#options.verdict.broken('the engine does not throw', (error as Error).stack ?? String(error))
    return 'unknown'
  }

  // Operator actions

  async #manual(process: Process, step: ByHand): Promise<void> {
    const { timeline, trace, witness, stage, verdict } = this.#options
    const { act } = step
    const target = 'queue' in step ? step.queue : this.#targetOf(step.act)
    if (target === undefined) return
    const job = witness.model.row(target)?.job
    const by = process.host.name
    const manual: Manual = { act, target, by, at: timeline.now(), ...(job && { generation: job.generation }) }
    stage.ledger.manuals.push(manual)
    trace.say(timeline.now(), by, `asks: ${act}`, target)
    const kind = await this.#carryOut(process.chronos, act, target)
    if (process.host.isGone) return
    manual.answer = { kind, at: timeline.now(), ...(job && { run: witness.model.row(target)!.job.run }) }
    trace.say(timeline.now(), by, `${act} was answered`, target, kind)
    if (kind !== 'undone') return
    const done = witness.done.find(
      one => one.by === by && one.deed === DEED_OF[act] && one.id === target && one.at >= manual.at && !one.byRedrive,
    )
    const twin = stage.ledger.manuals.find(
      one => one !== manual && one.by === by && one.target === target && (one.answer?.at ?? Infinity) >= manual.at,
    )
    if (done && !twin) {
      verdict.broken('a call reported as not done had no effect', `${act} of ${target} by ${by} was done`)
    }
  }

  async #redrive({ chronos, host }: Process, step: Extract<Step, { act: 'redrive' }>): Promise<void> {
    const { timeline, trace } = this.#options
    const { canary, rate, stopWhenFailing, force } = step
    try {
      const { id, total } = await chronos.dead.redrive({}, { canary, rate: `${rate}/s`, stopWhenFailing, force })
      if (!host.isGone)
        trace.say(timeline.now(), host.name, 'redrive started', id, { canary, rate, total: total.value })
    } catch (error) {
      if (!host.isGone) this.#troubleOf(error)
    }
  }

  /** Why a job waits must be true at some moment between question and answer. */
  async #explain({ chronos, host }: Process): Promise<void> {
    const { witness, verdict, coverage, stage, timeline } = this.#options
    const target = this.#targetOf('explain')
    if (target === undefined) return
    const reasons = new Set<WaitCode>()
    const look = (now: number): void => {
      for (const reason of reasonsOf(witness.model, target, now)) reasons.add(reason)
    }
    look(timeline.now())
    const { runAt } = witness.model.row(target)!.job
    // Several changes may move it before the answer. The explanation is of the moment at which the job was read, which
    // may be between two of them.
    const unwatch = witness.watch(now => {
      if (witness.model.row(target)?.job.state === 'waiting') look(now)
    })
    try {
      const { waiting } = await chronos.jobs.explain(target)
      if (host.isGone || !waiting) return
      coverage.count('wait explained')
      if (runAt <= timeline.now()) reasons.add('due')
      look(timeline.now())
      await witness.upToDate()
      look(timeline.now())
      if (!reasons.has(waiting.because) && !stage.mayBeExplainedAs(target, waiting.because))
        verdict.broken(
          'the reason to wait is true',
          `${target} waits because of ${waiting.because}, not ${[...reasons]}`,
        )
    } catch (error) {
      const isFuture = stage.jobs[payloadOf(witness.model.row(target)!.job.payload).ref]?.future !== undefined
      if (!host.isGone && !isFuture) this.#troubleOf(error)
    } finally {
      unwatch()
    }
  }

  async #carryOut(chronos: Chronos, act: ManualAct, target: string): Promise<NonNullable<Manual['answer']>['kind']> {
    try {
      await this.#call(chronos, act, target)
      return 'ok'
    } catch (error) {
      if (error instanceof ChronosError && (error.code === 'NOT_ALLOWED' || error.code === 'NOT_FOUND'))
        return 'refused'
      return this.#troubleOf(error)
    }
  }

  #call(chronos: Chronos, act: ManualAct, target: string): Promise<unknown> {
    switch (act) {
      case 'cancel':
        return chronos.jobs.cancel(target)
      case 'run now':
        return chronos.jobs.runNow(target)
      case 'reschedule':
        return chronos.jobs.reschedule(target, { delay: this.#options.chance.between(0, 20_000) })
      case 'retry':
        return chronos.jobs.retry(target)
      case 'edit':
        return chronos.jobs.edit(target, { priority: this.#options.chance.between(0, 9) })
      case 'pause queue':
        return chronos.queues.pause(target)
      case 'resume queue':
        return chronos.queues.resume(target)
    }
  }

  /** An operator who looks at the dashboard and picks a job for which the action makes sense. */
  #targetOf(act: Exclude<ByHand, { queue: string }>['act'] | 'explain'): string | undefined {
    const { witness, chance } = this.#options
    const suits: Record<typeof act, readonly Job['state'][]> = {
      cancel: ['waiting', 'running'],
      'run now': ['waiting'],
      reschedule: ['waiting'],
      edit: ['waiting'],
      explain: ['waiting'],
      retry: ['dead', 'cancelled'],
    }
    const jobs = witness.model.rows
      .map(({ job }) => job)
      .filter(({ state, queue }) => suits[act].includes(state) && queue !== DELIVERIES)
    return jobs.length === 0 ? undefined : chance.pick(jobs).id
  }
}

function optionsFor(plan: JobPlan, { call }: Invocation): EnqueueOptions {
  const { name, queue, delivery, override, maxElapsedMs, priority, delayMs, deadlineMs, key, unique, behaviour } = plan
  const { tenantId, dependsOn, partition } = plan
  const timeoutMs = plan.timeoutMs ?? (behaviour.does === 'overrun' ? 1_000 : undefined)
  return {
    queue,
    priority,
    tags: [`call-${call}`],
    // The definition makes it at most once; a client that enqueues it by name need not know that.
    ...(name !== 'charge' && { delivery }),
    ...(delayMs > 0 && { delay: delayMs }),
    ...(deadlineMs !== undefined && { deadline: deadlineMs }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    ...(override && { retry: override }),
    ...(maxElapsedMs !== undefined && { maxElapsed: maxElapsedMs }),
    ...(key !== undefined && { key }),
    ...(unique !== undefined && { unique }),
    ...(tenantId !== undefined && { tenantId }),
    ...(partition !== undefined && { partition }),
    ...(dependsOn !== undefined && { dependsOn }),
  }
}
