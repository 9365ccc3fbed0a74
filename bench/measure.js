import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Databases } from './databases.js'
import { Files } from './files.js'
import { RedisServers, redisMissing } from './redis.js'
import { busyCoreSeconds, pause } from './sample.js'

/** Every measurement runs on this Node, whatever started the benchmark: the peers need 22 or later. */
const NODE = fileURLToPath(new URL('./node_modules/node/bin/node', import.meta.url))
const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))
/** On the disk of the repository: a temporary directory may be memory, where durability costs nothing. */
const CACHE = fileURLToPath(new URL('./.cache/', import.meta.url))
const TASK_LIMIT_MS = 30 * 60_000

/**
 * One series of samples: a task of one subject, with its options.
 *
 * @typedef {object} Lane
 * @property {string} label
 * @property {string} subject file in subjects/
 * @property {string} task function of that file
 * @property {Record<string, unknown>} options
 * @property {readonly string[]} [node] flags for the node that runs it
 * @property {'file' | 'postgres' | 'redis'} [on] default: a file
 * @property {{ task: string, options: Record<string, unknown> }} [fill] prepares the place, in a process of its own
 *
 * @typedef {Record<string, number>} Figures
 *
 * Where a task works: the options that locate its store, and a folder for its output.
 *
 * @typedef {object} Place
 * @property {string} dir
 * @property {Record<string, unknown>} options
 */

/** The files and databases of one run of the benchmark. What is prepared is made once and copied for every round. */
export class Workbench {
  /** @type {Map<string, Promise<Place>>} */
  #prepared = new Map()
  #dirs = 0
  /** @type {string} */
  #root

  #shelves

  /** @param {string} root */
  constructor(root) {
    this.#root = root
    this.#shelves = { file: new Files(), postgres: new Databases(root, NODE), redis: new RedisServers() }
  }

  static async open() {
    if (!existsSync(NODE)) throw new Error('the peers are not installed; run: npm ci --prefix bench')
    await mkdir(CACHE, { recursive: true })
    const root = await mkdtemp(join(CACHE, 'run-'))
    process.once('SIGINT', () => {
      rmSync(root, { recursive: true, force: true })
      process.exit(130)
    })
    return new Workbench(root)
  }

  async close() {
    for (const shelf of Object.values(this.#shelves)) await shelf.close()
    await rm(this.#root, { recursive: true, force: true })
  }

  /** What the figures were measured on. */
  async machine() {
    const all = cpus()
    const node = execFileSync(NODE, ['--version'], { encoding: 'utf8' }).trim()
    const parts = [`${all.length} × ${all[0]?.model.trim() ?? 'unknown'}`, `Node ${node}`]
    return [...parts, (await this.#shelves.postgres.about()) ?? []].flat().join(', ')
  }

  /**
   * Why a lane can't be measured here; undefined where it can.
   *
   * @param {Lane} lane
   */
  missing({ on }) {
    return on === 'redis' ? redisMissing() : undefined
  }

  /**
   * One measurement: a fresh process on a fresh file or database.
   *
   * @param {Lane} lane
   * @returns {Promise<Figures>}
   */
  async measure(lane) {
    const shelf = this.#shelves[lane.on ?? 'file']
    const template = lane.fill && (await this.#prepare(lane, lane.fill))
    const place = await shelf.place(await this.#dir(), template)
    await untilQuiet()
    const figures = await inFreshProcess(lane.subject, lane.task, place, lane.options, lane.node)
    await shelf.remove(place)
    return figures
  }

  /**
   * @param {Lane} lane
   * @param {NonNullable<Lane['fill']>} fill
   */
  #prepare(lane, fill) {
    const shelf = this.#shelves[lane.on ?? 'file']
    const key = JSON.stringify([lane.on, lane.subject, fill])
    let template = this.#prepared.get(key)
    if (!template) {
      template = this.#dir().then(async dir => {
        const place = await shelf.place(dir)
        await inFreshProcess(lane.subject, fill.task, place, fill.options)
        await shelf.keep(place)
        return place
      })
      this.#prepared.set(key, template)
    }
    return template
  }

  async #dir() {
    const dir = join(this.#root, String(this.#dirs++))
    await mkdir(dir)
    return dir
  }
}

/**
 * Runs one task. What the process says on stderr goes to a file, as a service's log does.
 *
 * @param {string} subject
 * @param {string} task
 * @param {Place} place
 * @param {Record<string, unknown>} options
 * @param {readonly string[]} [node]
 * @returns {Promise<Figures>}
 */
async function inFreshProcess(subject, task, place, options, node = []) {
  const logFile = join(place.dir, 'stderr.log')
  const log = await open(logFile, 'w')
  const child = fork(CHILD, [subject, task, JSON.stringify({ ...place.options, ...options })], {
    execPath: NODE,
    execArgv: [...node],
    timeout: TASK_LIMIT_MS,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', log.fd, 'ipc'],
  })
  /** @type {Figures | undefined} */
  let figures
  child.on('message', message => {
    figures = /** @type {Figures} */ (message)
  })
  const [code, signal] = await once(child, 'exit')
  await log.close()
  if (figures && code === 0) return figures
  const lastWords = (await readFile(logFile, 'utf8')).slice(-2_000)
  throw new Error(`${subject} › ${task} ended with ${signal ?? `exit code ${code}`} and no figures:\n${lastWords}`)
}

/** Gives other work on this machine a few seconds to end; the figures say how much of it was left. */
async function untilQuiet() {
  const quietCores = 0.3
  const windowMs = 250
  for (let tries = 0; tries < 20; tries++) {
    const before = busyCoreSeconds()
    await pause(windowMs)
    const after = busyCoreSeconds()
    if (before === undefined || after === undefined) return
    if ((after - before) / (windowMs / 1_000) < quietCores) return
  }
}
