import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { argumentsOf, wholeNumber } from '../../build/arguments.js'
import { failuresOf, table, tally } from './tally.js'

const USAGE = `npm run test:flaky                           the whole suite, 20 times on one busy core
npm run test:flaky -- --runs 5 --files cli   only files whose path contains "cli"; --files may be repeated
npm run test:flaky -- --core 1 --no-build    beside another instance on core 0, with what that one has built
`

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** The busy process gets about a quarter of the core while one other process is busy. */
const NICENESS = 5
/** Ends by itself when its parent is gone, however that ended. */
const BUSY = 'const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e6; i++);'

const { values } = argumentsOf(USAGE, {
  options: {
    runs: { type: 'string', default: '20' },
    files: { type: 'string', multiple: true, default: [] },
    core: { type: 'string', default: '0' },
    build: { type: 'boolean', default: true },
  },
  allowNegative: true,
})
const count = wholeNumber('--runs', values.runs)
wholeNumber('--core', values.core, 0)

const folder = join(ROOT, '.cache', 'flaky', `core-${values.core}`)
const pin = spawnSync('taskset', ['-c', values.core, 'true']).status === 0 ? ['taskset', '-c', values.core] : []
if (pin.length === 0) console.log('not pinned: taskset is missing, or this machine has no such core')

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set()
let isStopping = false

/**
 * Starts a process in a group of its own, so that a stop reaches the processes that it started as well.
 *
 * @param {readonly string[]} command
 * @param {import('node:child_process').StdioOptions} stdio
 */
function start([program = '', ...args], stdio) {
  const child = spawn(program, args, { cwd: ROOT, stdio, detached: true })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** @param {NodeJS.Signals} signal */
function stop(signal) {
  for (const { pid } of children) {
    try {
      if (pid !== undefined) process.kill(-pid, signal)
    } catch {
      // It has ended, and its event is on the way.
    }
  }
}

// The first Ctrl-C asks, the second does not.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    stop(isStopping ? 'SIGKILL' : signal)
    isStopping = true
  })
}

/**
 * Linux may share the core among sessions first, each with a niceness of its own; the suite and the busy process are in
 * different ones.
 *
 * @param {number | undefined} pid
 */
function niceSession(pid) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, `${NICENESS}`)
  } catch {
    // Sessions share nothing here, so the niceness of the process counts.
  }
}

/** @param {number} number */
async function runSuite(number) {
  const name = join(folder, `run-${String(number).padStart(3, '0')}`)
  const report = `${name}.json`
  const log = openSync(`${name}.log`, 'w')
  const vitest = [process.execPath, join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...values.files]
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const [code] = await once(start([...pin, ...vitest, ...reporters], ['ignore', log, log]), 'exit')
  closeSync(log)
  return { name, code, report: readReport(report) }
}

/** @param {string} path */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

if (values.build && spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' }).status !== 0) {
  process.exit(1)
}
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const busy = start([...pin, 'nice', '-n', `${NICENESS}`, process.execPath, '-e', BUSY], 'ignore')
niceSession(busy.pid)
const isBusy = () => busy.pid !== undefined && busy.exitCode === null && busy.signalCode === null

const runs = []
while (runs.length < count && !isStopping) {
  const startedAt = performance.now()
  const run = await runSuite(runs.length + 1)
  if (isStopping) break
  if (!isBusy()) {
    console.log('the busy process ended: this run had no pressure and does not count')
    stop('SIGKILL')
    process.exit(1)
  }
  runs.push(run)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  const failures = failuresOf(run, ROOT)
  const passed = run.report?.numPassedTests ?? 0
  console.log(`run ${runs.length} of ${count}: ${seconds} s, ${passed} tests passed, ${failures.length} failed`)
  for (const { file, test } of failures) console.log(`  ${file} › ${test}`)
  for (const ending of failures.length === 0 ? ['json', 'log'] : []) rmSync(`${run.name}.${ending}`, { force: true })
}
stop('SIGKILL')

const failures = tally(runs, ROOT)
const whole = `${runs.length} of ${count} runs`
if (failures.length === 0) console.log(`${whole}, no failed test`)
else console.log(`${whole}, tests that failed at least once (logs in ${folder}):\n${table(failures)}`)
process.exitCode = failures.length > 0 ? 1 : isStopping ? 130 : 0
