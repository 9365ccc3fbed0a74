import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'

/** @typedef {import('./measure.js').Place} Place */

const PROGRAM = 'redis-server'

/** Why nothing can be measured on Redis here; undefined where it can. */
export function redisMissing() {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  if (folders.some(folder => existsSync(join(folder, PROGRAM)))) return undefined
  return `no ${PROGRAM} on the PATH; install Redis to measure it`
}

/**
 * Measurements on Redis: each on a server of its own, with an empty folder or a copy of a prepared one. Every command
 * is in the append-only file, which is flushed once a second, as the libraries recommend it.
 */
export class RedisServers {
  /** @type {Map<string, import('node:child_process').ChildProcess>} by folder */
  #servers = new Map()

  /**
   * @param {string} dir
   * @param {Place} [template]
   * @returns {Promise<Place>}
   */
  async place(dir, template) {
    if (template)
      for (const name of await readdir(template.dir))
        await cp(join(template.dir, name), join(dir, name), { recursive: true })
    const port = await freePort()
    const settings = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
    ]
    const server = spawn(PROGRAM, settings, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#servers.set(dir, server)
    await ready(server)
    return { dir, options: { port, serverPid: server.pid } }
  }

  /**
   * A server that stops flushes its file, which can then be copied.
   *
   * @param {Place} place
   */
  async keep({ dir }) {
    const server = this.#servers.get(dir)
    this.#servers.delete(dir)
    if (!server || server.exitCode !== null) return
    const exited = once(server, 'exit')
    server.kill('SIGTERM')
    await exited
  }

  /** @param {Place} place */
  async remove(place) {
    await this.keep(place)
    await rm(place.dir, { recursive: true, force: true })
  }

  async close() {
    for (const dir of this.#servers.keys()) await this.keep({ dir, options: {} })
  }
}

/** @param {import('node:child_process').ChildProcess} server */
async function ready(server) {
  const exited = once(server, 'exit').then(([code]) => {
    throw new Error(`${PROGRAM} ended with exit code ${code} before it was ready`)
  })
  /** @type {Promise<void>} */
  const accepting = new Promise(resolve => {
    let said = ''
    server.stdout?.on('data', part => {
      said = (said + part).slice(-4_000)
      if (said.includes('Ready to accept connections')) resolve()
    })
  })
  await Promise.race([accepting, exited])
  exited.catch(() => {})
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}
