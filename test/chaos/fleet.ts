import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from '../support/port.js'
import { exitOf, startProcess } from '../support/process.js'
import { writeTo } from './ledger.js'
import { pause } from './pause.js'
import type { Verdict } from './verdict.js'

/** Where a scenario happens: the store's address, the ledger, and a folder for its files. */
export interface Place {
  readonly store: string
  readonly ledger: string
  readonly folder: string
}

export interface FleetOptions {
  readonly workers?: number
  /** The script of the workers. */
  readonly script?: string
  readonly pullers?: number
  /** Jobs that the client enqueues per second; 0: there is no client. */
  readonly perSecond?: number
  readonly lease?: string
  /** The folder of an older version, which every second worker runs. */
  readonly old?: string
  /** Arguments for Node itself, for each process that starts. */
  readonly flags?: () => readonly string[]
}

/** The usual load: enough processes for every feature. */
export const LOAD: FleetOptions = { workers: 2, pullers: 1 }

type Role = 'worker' | 'puller' | 'server'

interface Member {
  readonly role: Role
  readonly script: string
  /** The folder of another version. */
  readonly old: string | undefined
  readonly args: readonly string[]
  child: Promise<ChildProcess>
  /** Frozen or being replaced. */
  isBusy: boolean
}

/** The processes of a scenario: a client, workers, a server and its pull workers. */
export class Fleet {
  readonly #flags: () => readonly string[]
  readonly #members: Member[] = []
  readonly #note: ReturnType<typeof writeTo>
  readonly #pending = new Set<Promise<void>>()
  #client: ChildProcess | undefined

  private constructor(ledger: string, flags: () => readonly string[]) {
    this.#flags = flags
    this.#note = writeTo(ledger)
  }

  static async start(place: Place, options: FleetOptions = {}): Promise<Fleet> {
    const {
      workers = 3,
      script = 'worker',
      pullers = 2,
      perSecond = 100,
      lease = '1s',
      old,
      flags = () => [],
    } = options
    const fleet = new Fleet(place.ledger, flags)
    const { store, ledger, folder } = place
    try {
      for (let count = 0; count < workers; count++)
        fleet.#add('worker', [store, ledger, folder, lease], { script, old: count % 2 === 0 ? undefined : old })
      if (pullers > 0) {
        const port = String(await freePort())
        fleet.#add('server', [store, port])
        for (let count = 0; count < pullers; count++) fleet.#add('puller', [`http://127.0.0.1:${port}`, ledger])
      }
      await Promise.all(fleet.#members.map(({ child }) => child))
      if (perSecond > 0) fleet.#client = await fleet.#launch('client', [store, ledger, String(perSecond)])
      return fleet
    } catch (error) {
      await fleet.abandon()
      throw error
    }
  }

  /**
   * Kills a random idle member with kill -9 and starts another in its place; false if all are frozen. A frozen victim that
   * `isHit` refuses goes on.
   */
  async kill(isHit?: (pid: number) => boolean): Promise<boolean> {
    const victim = this.#pick()
    if (!victim) return false
    victim.isBusy = true
    const child = await victim.child
    if (isHit) {
      child.kill('SIGSTOP')
      if (!isHit(child.pid!)) {
        child.kill('SIGCONT')
        this.#free(victim)
        return false
      }
    }
    this.#note('fault', { kind: 'kill', role: victim.role, pid: child.pid })
    child.kill('SIGKILL')
    await exitOf(child)
    victim.child = this.#launch(victim.script, victim.args, victim.old)
    this.#later(victim.child.then(() => this.#free(victim)))
    return true
  }

  /** Freezes a random worker for a while, so that others take over its jobs, and lets it continue. */
  async freeze(ms: number): Promise<boolean> {
    const victim = this.#pick('worker')
    if (!victim) return false
    victim.isBusy = true
    const child = await victim.child
    this.#note('fault', { kind: 'freeze', role: victim.role, pid: child.pid })
    child.kill('SIGSTOP')
    this.#later(
      pause(ms).then(() => {
        child.kill('SIGCONT')
        this.#free(victim)
      }),
    )
    return true
  }

  /** Writes to the ledger what a scenario does by itself. */
  note(kind: string): void {
    this.#note('fault', { kind })
  }

  /** Sends a message to every process, such as a new offset of its clock. */
  async tell(text: string): Promise<void> {
    for (const { child } of this.#members) (await child).send(text)
    this.#client?.send(text)
  }

  /** Ends the client after its last answer, and waits for replacements and frozen processes. */
  async calm(): Promise<void> {
    await Promise.all(this.#pending)
    if (!this.#client) return
    this.#client.send('stop')
    await exitOf(this.#client)
  }

  /** Stops every process in the orderly way. */
  async stop(verdict: Verdict): Promise<void> {
    for (const role of ['puller', 'worker', 'server'] as const) {
      const ending = this.#members
        .filter(member => member.role === role)
        .map(async ({ child }) => {
          const process = await child
          process.kill('SIGTERM')
          const { code, signal } = await exitOf(process)
          verdict.expect(code === 0, 'a stop is clean', () => `a ${role} ended with ${code ?? signal}`)
        })
      await Promise.all(ending)
    }
  }

  /** Kills what is left of a scenario that failed. */
  async abandon(): Promise<void> {
    const children = await Promise.allSettled(this.#members.map(({ child }) => child))
    for (const child of [...children.flatMap(one => (one.status === 'fulfilled' ? one.value : [])), this.#client]) {
      if (!child || child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGCONT')
      child.kill('SIGKILL')
    }
  }

  /** A worker that no fault hits from now on. */
  async spare(): Promise<ChildProcess> {
    const member = this.#pick('worker')
    if (!member) throw new Error('every worker is frozen or being replaced')
    member.isBusy = true
    return member.child
  }

  /** The processes of the workers. */
  async workers(): Promise<readonly ChildProcess[]> {
    return Promise.all(this.#members.filter(({ role }) => role === 'worker').map(({ child }) => child))
  }

  #add(
    role: Role,
    args: readonly string[],
    { script = role as string, old }: Partial<Pick<Member, 'script' | 'old'>> = {},
  ): void {
    this.#members.push({ role, script, args, old, child: this.#launch(script, args, old), isBusy: false })
  }

  #launch(script: string, args: readonly string[], old?: string): Promise<ChildProcess> {
    const path = `chaos/processes/${script}.js`
    return startProcess(old === undefined ? path : join(old, 'test', path), args, { flags: this.#flags() })
  }

  #pick(role?: Role): Member | undefined {
    const idle = this.#members.filter(member => !member.isBusy && (role === undefined || member.role === role))
    return idle[Math.floor(Math.random() * idle.length)]
  }

  #free(member: Member): void {
    member.isBusy = false
  }

  #later(work: Promise<void>): void {
    const pending = work.finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
  }
}
