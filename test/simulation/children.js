import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformWithOxc } from 'vite'

// The simulation as plain JavaScript in processes of its own: as fast as it gets, on every core.

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * @typedef {object} Broken
 * @property {number} seed
 * @property {string} promise
 * @property {string} [story]
 *
 * @typedef {object} Report
 * @property {number} lived
 * @property {number} events
 * @property {Broken[]} broken
 * @property {Record<string, number>} coverage
 */

/** The TypeScript files of a simulation, by their path in the repository. */
export function sourcesOf(folders = ['src', 'test/simulation', 'test/model']) {
  return folders.flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.endsWith('.test.ts'))
      .map(path => join(folder, path))
      .filter(path => !path.startsWith(join('src', 'dashboard'))),
  )
}

/**
 * TypeScript as JavaScript. It does not check types: that is done elsewhere, and this must be quick.
 *
 * @param {string} path
 * @param {string} text
 */
export async function transpiled(path, text) {
  const { code } = await transformWithOxc(text, path, { target: 'es2022', sourcemap: false })
  return code
}

/**
 * Writes the simulation as JavaScript into a directory.
 *
 * @param {string} to
 */
export async function compile(to) {
  for (const path of sourcesOf()) {
    const file = join(to, path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, await transpiled(path, readFileSync(join(ROOT, path), 'utf8')))
  }
}

/**
 * For processes that simulate: V8 optimizes a function only once it has run for long. By default it spends a tenth of
 * their work on functions that a seed needs for a moment.
 */
export const V8_FLAGS = ['--interrupt-budget=1000000']

/**
 * Lives some seeds in one process, from code that was compiled into a directory.
 *
 * @param {string} compiled
 * @param {readonly string[]} args
 * @returns {Promise<Report>}
 */
export function live(compiled, ...args) {
  const script = join(compiled, 'test', 'simulation', 'child.js')
  const child = spawn(process.execPath, [...V8_FLAGS, script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let answer = ''
  let said = ''
  child.stdout.on('data', data => {
    answer += data
  })
  child.stderr.on('data', data => {
    said += data
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      if (code === 0) {
        if (said !== '') console.error(said)
        resolve(JSON.parse(answer))
      } else {
        reject(new Error(`the simulation ended with ${code} (${args.join(' ')}):\n${said}`))
      }
    })
  })
}

/**
 * Lives many seeds, on every core.
 *
 * @param {string} compiled
 * @param {number} first
 * @param {number} count
 * @param {readonly string[]} args
 */
export function liveMany(compiled, first, count, ...args) {
  const seeds = Array.from({ length: count }, (_, index) => first + index)
  return liveThese(compiled, seeds, ...args)
}

/**
 * @param {string} compiled
 * @param {readonly number[]} seeds
 * @param {readonly string[]} args
 * @returns {Promise<Report>}
 */
export async function liveThese(compiled, seeds, ...args) {
  const cores = Math.min(availableParallelism(), seeds.length)
  const shares = Array.from({ length: cores }, (_, core) => seeds.filter((_, index) => index % cores === core))
  const reports = await Promise.all(shares.map(share => live(compiled, '--these', share.join(','), ...args)))
  /** @type {Report} */
  const whole = { lived: 0, events: 0, broken: [], coverage: {} }
  for (const { lived, events, broken, coverage } of reports) {
    whole.lived += lived
    whole.events += events
    whole.broken.push(...broken)
    for (const [what, times] of Object.entries(coverage)) whole.coverage[what] = (whole.coverage[what] ?? 0) + times
  }
  return whole
}
