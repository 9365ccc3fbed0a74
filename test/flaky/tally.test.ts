import { describe, expect, it } from 'vitest'
import { type FileReport, failuresOf, type Run, table, tally } from './tally.js'

const ROOT = '/repository/'

function run(...files: FileReport[]): Run {
  const isClean = files.every(({ status }) => status === 'passed')
  return { code: isClean ? 0 : 1, report: { testResults: files } }
}

function file(name: string, results: Readonly<Record<string, string | undefined>>): FileReport {
  const assertionResults = Object.entries(results).map(([fullName, failure]) => ({
    fullName,
    status: failure === undefined ? 'passed' : 'failed',
    failureMessages: failure === undefined ? [] : [failure],
  }))
  const status = assertionResults.some(result => result.status === 'failed') ? 'failed' : 'passed'
  return { name: `${ROOT}test/${name}`, status, message: '', assertionResults }
}

describe('the tally of flaky tests', () => {
  it('is empty when every run passed', () => {
    const clean = run(file('a.test.ts', { 'a works': undefined }))
    expect(tally([clean, clean], ROOT)).toEqual([])
  })

  it('counts the runs in which each test failed, the most frequent first', () => {
    const runs = [
      run(file('a.test.ts', { 'a works': 'Error: late\n  at a.ts:1', 'a stops': undefined })),
      run(file('a.test.ts', { 'a works': undefined, 'a stops': undefined }), file('b.test.ts', { 'b works': 'b' })),
      run(file('b.test.ts', { 'b works': 'another b' })),
    ]
    expect(tally(runs, ROOT)).toEqual([
      { file: 'test/b.test.ts', test: 'b works', failed: 2, runs: 3, message: 'b' },
      { file: 'test/a.test.ts', test: 'a works', failed: 1, runs: 3, message: 'Error: late' },
    ])
  })

  it('keeps tests of the same name in different files apart', () => {
    const runs = [run(file('a.test.ts', { works: 'a' }), file('b.test.ts', { works: 'b' }))]
    expect(tally(runs, ROOT).map(failure => failure.file)).toEqual(['test/a.test.ts', 'test/b.test.ts'])
  })

  it('counts a title once per run, although several cases share it', () => {
    const [a] = [file('a.test.ts', { works: 'a' })]
    const twice = { ...a!, assertionResults: [...a!.assertionResults, ...a!.assertionResults] }
    expect(tally([run(twice)], ROOT)).toMatchObject([{ failed: 1, runs: 1 }])
  })

  it('reports a file that failed outside of its tests', () => {
    const broken: FileReport = { ...file('a.test.ts', {}), status: 'failed', message: 'hook timed out\nin beforeAll' }
    expect(failuresOf(run(broken), ROOT)).toEqual([
      { file: 'test/a.test.ts', test: '(outside of its tests)', message: 'hook timed out' },
    ])
  })

  it('reports a run that failed without a failed test', () => {
    const passed = run(file('a.test.ts', { works: undefined }))
    expect(failuresOf({ ...passed, code: 1 }, ROOT)).toMatchObject([{ message: 'exit code 1 without a failed test' }])
  })

  it('reports a run that left no report', () => {
    expect(failuresOf({ code: null, report: undefined }, ROOT)).toMatchObject([
      { message: 'no report, exit code null' },
    ])
  })

  it('is printed with rate, count, test and first message', () => {
    const failure = { file: 'test/a.test.ts', test: 'a works', failed: 1, runs: 20, message: 'Error: late' }
    expect(table([failure])).toBe('  5 %  1 of 20  test/a.test.ts › a works\n       Error: late')
  })
})
