import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// How long the import of each entry point takes in a fresh process, beside the imports of other libraries. They take turns.

const NODE = fileURLToPath(new URL('./node_modules/node/bin/node', import.meta.url))
const ROUNDS = 15
/** The import of the root entry point must not take longer. */
const TARGET_MS = 150

const file = (/** @type {string} */ name) => new URL(`../dist/${name}`, import.meta.url).href
const peer = (/** @type {string} */ name) => import.meta.resolve(name)
const SUBJECTS = [
  { label: 'chronos-jobs', code: `await import('${file('index.js')}')` },
  {
    label: 'chronos-jobs, required',
    code: `process.getBuiltinModule('module').createRequire('${file('')}')('./index.cjs')`,
  },
  { label: 'chronos-jobs/postgres', code: `await import('${file('postgres.js')}')` },
  { label: 'chronos-jobs/server', code: `await import('${file('server.js')}')` },
  { label: 'pg-boss', code: `await import('${peer('pg-boss')}')` },
  { label: 'graphile-worker', code: `await import('${peer('graphile-worker')}')` },
  { label: 'bullmq', code: `await import('${peer('bullmq')}')` },
]

/** @param {string} code */
function measure(code) {
  const program = `const from = performance.now(); ${code}; process.stdout.write(String(performance.now() - from)); process.exit()`
  return Number(execFileSync(NODE, ['--input-type=module', '--eval', program], { encoding: 'utf8' }))
}

const samples = SUBJECTS.map(() => /** @type {number[]} */ ([]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, { code }] of SUBJECTS.entries()) samples[index]?.push(measure(code))
}
for (const [index, { label }] of SUBJECTS.entries()) {
  const sorted = (samples[index] ?? []).sort((a, b) => a - b)
  const [least, median, most] = [sorted[0], sorted[Math.floor(ROUNDS / 2)], sorted.at(-1)].map(ms => ms?.toFixed(0))
  console.log(`${label.padEnd(24)} ${median} ms (${least} to ${most})`)
  if (index === 0 && Number(median) > TARGET_MS) process.exitCode = 1
}
