// How often each test failed over several runs of the suite, from vitest's JSON reports.

/**
 * @typedef {object} Failure
 * @property {string} file from the root of the repository
 * @property {string} test its full name, or why the failure belongs to no single test
 * @property {number} failed runs in which it failed
 * @property {number} runs runs that were counted
 * @property {string} message first line of the first failure
 *
 * @typedef {object} FileReport the part of vitest's JSON report that is read here
 * @property {string} name
 * @property {string} status
 * @property {string} [message]
 * @property {readonly { fullName: string, status: string, failureMessages?: readonly string[] | null }[]} assertionResults
 *
 * @typedef {object} Run
 * @property {number | null} code exit code of vitest
 * @property {{ testResults: readonly FileReport[] } | undefined} report undefined when vitest wrote none
 */

const WHOLE_FILE = '(outside of its tests)'
const WHOLE_RUN = '(outside of every file)'

/**
 * Every test that failed at least once, the most frequent first.
 *
 * @param {readonly Run[]} runs
 * @param {string} root prefix that is cut off file names
 * @returns {Failure[]}
 */
export function tally(runs, root) {
  /** @type {Map<string, Failure>} */
  const failures = new Map()
  for (const run of runs) {
    for (const failure of failuresOf(run, root)) {
      const key = `${failure.file}\n${failure.test}`
      const known = failures.get(key) ?? { ...failure, failed: 0, runs: runs.length }
      known.failed += 1
      failures.set(key, known)
    }
  }
  return [...failures.values()].sort((a, b) => b.failed - a.failed || (a.file < b.file ? -1 : 1))
}

/**
 * The failures of one run. A test that fails twice in it (several cases of one title) is listed once.
 *
 * @param {Run} run
 * @param {string} root
 * @returns {{ file: string, test: string, message: string }[]}
 */
export function failuresOf({ code, report }, root) {
  if (report === undefined) return [{ file: 'vitest', test: WHOLE_RUN, message: `no report, exit code ${code}` }]
  /** @type {Map<string, { file: string, test: string, message: string }>} */
  const found = new Map()
  for (const { name, status, message = '', assertionResults } of report.testResults) {
    const file = name.startsWith(root) ? name.slice(root.length).replace(/^\//, '') : name
    const failed = assertionResults.filter(result => result.status === 'failed')
    for (const { fullName, failureMessages } of failed) {
      const key = `${file}\n${fullName}`
      if (!found.has(key)) found.set(key, { file, test: fullName, message: firstLine(failureMessages?.[0] ?? '') })
    }
    // A file that does not load, or whose hooks fail, has no failed test.
    if (status === 'failed' && failed.length === 0) {
      found.set(file, { file, test: WHOLE_FILE, message: firstLine(message) })
    }
  }
  // An unhandled rejection makes vitest fail without a failed test.
  if (code !== 0 && found.size === 0) {
    return [{ file: 'vitest', test: WHOLE_RUN, message: `exit code ${code} without a failed test` }]
  }
  return [...found.values()]
}

/**
 * The failures as a table with one row per test.
 *
 * @param {readonly Failure[]} failures
 */
export function table(failures) {
  return failures
    .map(({ file, test, failed, runs, message }) => {
      const rate = `${((100 * failed) / runs).toFixed(0)} %`
      return `${rate.padStart(5)}  ${failed} of ${runs}  ${file} › ${test}\n       ${message}`
    })
    .join('\n')
}

/** @param {string} text */
function firstLine(text) {
  return text.trim().split('\n', 1)[0] || 'no message'
}
