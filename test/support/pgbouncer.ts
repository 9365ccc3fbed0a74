import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './port.js'

/** Why PgBouncer can't be started here. */
export function pgbouncerMissing(): string | undefined {
  return spawnSync('pgbouncer', ['--version']).status === 0 ? undefined : 'pgbouncer is not installed'
}

/** From version 1.21 on, PgBouncer can keep prepared statements, and must be told not to. */
function knowsStatements(): boolean {
  const [, minor] = /PgBouncer 1\.(\d+)/.exec(String(spawnSync('pgbouncer', ['--version']).stdout)) ?? []
  return Number(minor) >= 21
}

/** PgBouncer in front of a server, with statements that it does not keep for clients. */
export class PgBouncer {
  readonly url: string
  readonly #config: string
  #process: ChildProcess | undefined

  private constructor(url: string, config: string) {
    this.url = url
    this.#config = config
  }

  /** `folder`: for its configuration. */
  static async start(server: string, folder: string, mode: 'transaction' | 'session'): Promise<PgBouncer> {
    const { hostname, port: behind, username, password, pathname } = new URL(server)
    const port = await freePort()
    const login = password === '' ? '' : ` password=${decodeURIComponent(password)}`
    const target = `host=${hostname} port=${behind || 5432} dbname=${pathname.slice(1)} user=${username}${login}`
    const config = join(folder, 'pgbouncer.ini')
    writeFileSync(
      config,
      `[databases]\njobs = ${target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any\n` +
        `unix_socket_dir =\npool_mode = ${mode}\nignore_startup_parameters = extra_float_digits\n` +
        `default_pool_size = 60\n${knowsStatements() ? 'max_prepared_statements = 0\n' : ''}`,
    )
    chmodSync(folder, 0o755)
    const bouncer = new PgBouncer(`postgres://${username}@127.0.0.1:${port}/jobs`, config)
    await bouncer.start()
    return bouncer
  }

  /** Restarts after `end`, on the same port. */
  async start(): Promise<void> {
    // PgBouncer does not run as root.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const child = spawn('pgbouncer', [this.#config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#process = child
    let said = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', chunk => {
        said += String(chunk)
        if (said.includes('process up')) resolve()
        if (said.length > 10_000) said = ''
      })
      child.once('exit', () => reject(new Error(`PgBouncer did not start: ${said}`)))
    })
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
}
