import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { serverPidOf } from './sample.js'

/** @typedef {import('./measure.js').Place} Place */

const GIVEN = 'CHRONOS_BENCH_POSTGRES_URL'
const SERVER = fileURLToPath(new URL('./server.js', import.meta.url))

/**
 * Measurements on one PostgreSQL server with its own defaults: each in a fresh database, or in a copy of a prepared one.
 * The server starts with the first of them.
 */
export class Databases {
  /** @type {Promise<pg.Client> | undefined} */
  #admin
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #server
  #url = ''
  /** @type {number | undefined} */
  #serverPid
  #serverVersion = 0
  /** @type {Set<string>} */
  #names = new Set()
  #count = 0
  #root
  #node

  /**
   * @param {string} root folder for the data of the server
   * @param {string} node that runs it
   */
  constructor(root, node) {
    this.#root = root
    this.#node = node
  }

  /**
   * @param {string} dir
   * @param {Place} [template]
   * @returns {Promise<Place>}
   */
  async place(dir, template) {
    const admin = await this.#connected()
    const name = `chronos_bench_${process.pid}_${this.#count++}`
    this.#names.add(name)
    // Copied file by file: copied through the log, a large one would still be written during the measurement.
    const strategy = this.#serverVersion >= 150_000 ? ' STRATEGY FILE_COPY' : ''
    await admin.query(`CREATE DATABASE ${name}${template ? ` TEMPLATE ${nameOf(template)}${strategy}` : ''}`)
    await admin.query('CHECKPOINT')
    return { dir, options: { url: this.#urlOf(name), serverPid: this.#serverPid, database: name } }
  }

  /**
   * Brings a prepared database into the state it would have a minute later, for every subject.
   *
   * @param {Place} place
   */
  async keep(place) {
    const client = new pg.Client(this.#urlOf(nameOf(place)))
    await client.connect()
    await client.query('VACUUM (ANALYZE)')
    await client.end()
  }

  /** @param {Place} place */
  async remove(place) {
    await this.#drop(nameOf(place))
    await rm(place.dir, { recursive: true, force: true })
  }

  async close() {
    const admin = await this.#admin?.catch(() => undefined)
    if (admin && !this.#server) for (const name of this.#names) await this.#drop(name)
    await admin?.end()
    if (!this.#server) return
    this.#server.disconnect()
    await once(this.#server, 'exit')
  }

  /** What the figures were measured on, or undefined where nothing was. */
  async about() {
    const admin = await this.#admin
    if (!admin) return undefined
    const { rows } = await admin.query('SHOW server_version')
    return `PostgreSQL ${rows[0].server_version}`
  }

  /** @param {string} name */
  async #drop(name) {
    const admin = await this.#connected()
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    this.#names.delete(name)
  }

  #connected() {
    this.#admin ??= this.#connect()
    return this.#admin
  }

  async #connect() {
    this.#url = process.env[GIVEN] ?? (await this.#start())
    const client = new pg.Client(this.#url)
    await client.connect()
    const { rows } = await client.query(
      `SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::integer AS version`,
    )
    this.#serverVersion = rows[0].version
    this.#serverPid = serverPidOf(rows[0].pid)
    return client
  }

  /** @returns {Promise<string>} */
  async #start() {
    // The server may run as another user, who has to get to its data.
    await chmod(this.#root, 0o755)
    const env = { ...process.env, TMPDIR: this.#root, NODE_NO_WARNINGS: '1' }
    this.#server = fork(SERVER, { execPath: this.#node, execArgv: [], env })
    const started = once(this.#server, 'message').then(([url]) => String(url))
    const ended = once(this.#server, 'exit').then(() => {
      throw new Error(`PostgreSQL did not start; name a server in ${GIVEN}`)
    })
    return Promise.race([started, ended])
  }

  /** @param {string} name */
  #urlOf(name) {
    const url = new URL(this.#url)
    url.pathname = `/${name}`
    return url.href
  }
}

/** @param {Place} place */
function nameOf({ options }) {
  return String(options['database'])
}
