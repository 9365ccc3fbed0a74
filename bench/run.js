import { argumentsOf, refuse, wholeNumber } from '../build/arguments.js'
import { Workbench } from './measure.js'
import { writePage } from './page/page.js'
import { merged, readResult, writeResult } from './page/result.js'
import { plan } from './plan.js'
import { judge, render } from './report.js'

/** @typedef {import('./plan.js').Measurement} Measurement */

const USAGE = `npm run bench -- [options]

  --only NAME,…    run the measurements with these names
  --subject NAME   run the rows of this library; repeat it for several
  --rounds N       how often each row is measured (3)
  --quick          fewer jobs and rounds, for indicative figures
  --keep           replace the figures in the result file, and write docs/benchmarks.md
  --write-docs     write docs/benchmarks.md from the result file, and measure nothing
  --json           print the figures as JSON
  --help           show this help
`

const { values: flags } = argumentsOf(USAGE, {
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    subject: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '3' },
    keep: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
  },
})
if (flags['write-docs']) {
  writePage(readResult(), plan({ quick: false }))
  process.exit(0)
}
const rounds = wholeNumber('--rounds', flags.rounds)

const measurements = plan({ quick: flags.quick })
const only = flags.only?.flatMap(names => names.split(','))
for (const name of only ?? []) {
  if (measurements.every(measurement => measurement.name !== name)) {
    const names = new Set(measurements.map(each => each.name))
    refuse(`no measurement is called ${name}; there are ${[...names].join(', ')}`)
  }
}

/** @type {ReturnType<typeof judge>[]} */
const reports = []
let machine
const startedAt = new Date().toISOString()
const workbench = await Workbench.open()
try {
  for (const measurement of measurements) {
    if (only && !only.includes(measurement.name)) continue
    const times = roundsOf(measurement)
    const report = { ...judge(measurement, await samplesOf(measurement, times)), rounds: times }
    reports.push(report)
    if (!flags.json) console.log(`${render(report)}\n${times === 1 ? 'one round' : `medians of ${times} rounds`}\n`)
    // Kept after each measurement, so that an interrupted run loses only the last one.
    if (flags.keep) await keep(report)
  }
  machine = await workbench.machine()
} finally {
  await workbench.close()
}

const judged = reports.flatMap(report => report.verdicts)
const missed = judged.filter(verdict => !verdict.reached)
if (flags.json) console.log(JSON.stringify({ machine, quick: flags.quick, reports }, undefined, 2))
else {
  console.log(`${machine}; the range of the rounds is in brackets`)
  if (flags.quick) console.log('quick run: indicative figures only')
  console.log(`${judged.length - missed.length} of ${judged.length} targets reached`)
}
if (missed.length > 0 && !flags.quick) process.exitCode = 1

/** @param {ReturnType<typeof judge> & { rounds: number }} report */
async function keep(report) {
  const { rounds } = report
  /** @type {import('./page/result.js').Run} */
  const run = { at: startedAt, size: flags.quick ? 'quick' : 'full', rounds, machine: await workbench.machine() }
  const full = plan({ quick: false })
  const result = merged(readResult(), [report], run, full)
  writeResult(result)
  writePage(result, full)
}

/** @param {Measurement} measurement */
function roundsOf({ roundsMin = 1, roundsMax = Number.POSITIVE_INFINITY }) {
  return Math.min(Math.max(rounds, flags.quick ? 1 : roundsMin), roundsMax)
}

/**
 * The lanes take turns, so that a slow minute of the machine affects all of them.
 *
 * @param {Measurement} measurement
 * @param {number} times
 */
async function samplesOf(measurement, times) {
  const asked = measurement.lanes.filter(lane => !flags.subject || flags.subject.includes(lane.subject))
  const lanes = asked.filter(lane => {
    const why = workbench.missing(lane)
    if (why !== undefined) console.error(`${measurement.name}: ${lane.label} is not measured: ${why}`)
    return why === undefined
  })
  /** @type {import('./report.js').Samples} */
  const samples = new Map(lanes.map(lane => [lane.label, []]))
  for (let round = 1; round <= times; round++) {
    for (const lane of lanes) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${measurement.name} ${round}/${times} ${lane.label} …`)
      samples.get(lane.label)?.push(await workbench.measure(lane))
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  return samples
}
