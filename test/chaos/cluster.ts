import { Line } from '../support/line.js'
import { PostgresServer, withClient } from '../support/postgres-server.js'
import { pause } from './pause.js'

/** Whether a commit waits until the standby has it. */
export type Replication = 'synchronous' | 'asynchronous'

const SETTINGS = { fsync: 'off', full_page_writes: 'on', wal_keep_size: '1GB' }

/** A primary with a streaming standby, behind an address that always leads to the primary. */
export class Cluster {
  readonly mode: Replication
  readonly line: Line
  #primary: PostgresServer
  #standby: PostgresServer | undefined

  private constructor(mode: Replication, primary: PostgresServer, line: Line) {
    this.mode = mode
    this.#primary = primary
    this.line = line
  }

  static async start(mode: Replication): Promise<Cluster> {
    const primary = await PostgresServer.start(SETTINGS)
    const cluster = new Cluster(mode, primary, await Line.to(primary.url))
    await cluster.follow()
    return cluster
  }

  get primary(): PostgresServer {
    return this.#primary
  }

  get url(): string {
    return this.line.url(this.#primary.url)
  }

  /** Starts a standby of the primary and waits until it has caught up. */
  async follow(): Promise<void> {
    this.#standby = await this.#primary.standby()
    if (this.mode === 'synchronous') await this.#primary.configure({ synchronous_standby_names: 'standby' })
    const wanted = this.mode === 'synchronous' ? 'sync' : 'async'
    const ask = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${wanted}'`
    await withClient(this.#primary.url, async client => {
      while ((await client.query(ask)).rowCount === 0) await pause(50)
    })
  }

  /** The standby stops receiving, so that it falls behind. Resolves to what lets it go on. */
  async lag(): Promise<() => void> {
    return withClient(this.#standby!.url, async client => {
      const { rows } = await client.query('SELECT pid FROM pg_stat_wal_receiver')
      const pid: number = rows[0].pid
      process.kill(pid, 'SIGSTOP')
      return () => {
        process.kill(pid, 'SIGTERM')
        process.kill(pid, 'SIGCONT')
      }
    })
  }

  /** Kills the primary; the standby takes its place. */
  async failOver(resume: () => void): Promise<void> {
    const standby = this.#standby!
    await this.#primary.kill()
    this.line.goDown()
    resume()
    await withClient(standby.url, client => client.query('SELECT pg_promote(true, 60)'))
    await this.#primary.stop()
    this.#primary = standby
    this.#standby = undefined
    this.line.leadTo(standby.url)
    this.line.comeUp()
  }

  async stop(): Promise<void> {
    this.line.close()
    await this.#standby?.stop()
    await this.#primary.stop()
  }
}
