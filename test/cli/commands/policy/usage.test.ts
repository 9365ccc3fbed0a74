import { describe, expect, it } from 'vitest'
import { say } from '../../memory-io.js'

describe('a usage error of policy', () => {
  it.each([
    ['a misspelt verb', ['simulat'], '(Did you mean simulate?)'],
    ['no verb', [], 'Usage: chronos policy'],
    ['a misspelt preset', ['preview', 'standart'], 'policy: unknown preset "standart"; did you mean "standard"?'],
    ['a misspelt flag', ['preview', '--bse', '1m'], '(Did you mean --base?)'],
    ['broken JSON', ['preview', '{"maxRetries":'], 'policy: invalid JSON ('],
    ['an unknown key', ['preview', '{"maxRetry":3}'], 'did you mean "maxRetries"?'],
    ['a list', ['preview', '[]'], 'policy: expected an object, got an array'],
    ['too many retries', ['preview', '--retries', '1001'], '--retries: expected a whole number from 0 to 1000'],
    ['a duration without a unit', ['preview', '--base', '5'], '--base: expected a duration such as "30s"'],
    ['a list with an empty entry', ['preview', '--delays', '1s,,2s'], '--delays[1]: expected a duration'],
    [
      'a misspelt strategy',
      ['preview', '--strategy', 'exponental'],
      '--strategy: expected one of "exponential", "linear", "fixed", "fibonacci", "list", got "exponental"; did you mean "exponential"?',
    ],
    ['a list without delays', ['preview', '--strategy', 'list'], 'add --delays 30s,60s,120s'],
    [
      'a factor for linear backoff',
      ['preview', '--strategy', 'linear', '--factor', '2'],
      '--factor: linear backoff does not have it; use --base',
    ],
    [
      'a base for a list of delays',
      ['preview', 'webhook', '--base', '2s'],
      '--base: list backoff does not have it; use --delays',
    ],
    ['a factor below 1', ['preview', '--factor', '0.5'], '--factor: expected a number from 1 to 100, got 0.5'],
    ['a factor that is a word', ['preview', '--factor', 'two'], '--factor: expected a number from 1 to 100, got "two"'],
    ['a jitter over 1', ['preview', '--jitter', '2'], '--jitter: expected a number from 0 to 1, got 2'],
    ['a misspelt jitter', ['preview', '--jitter', 'ful'], 'did you mean "full"?'],
    [
      'decorrelated jitter for linear backoff',
      ['preview', '--strategy', 'linear', '--jitter', 'decorrelated'],
      'needs exponential',
    ],
    ['a missing file', ['preview', '--file', 'no-such-file.json'], '--file: cannot read no-such-file.json (ENOENT)'],
    ['two policies', ['preview', 'http', '--file', 'x.json'], '--file: the policy "http" is given too'],
    ['no jobs', ['simulate', '--jobs', '0'], '--jobs: expected a whole number from 1 to 100000'],
    ['too many jobs', ['simulate', '--jobs', '1000000'], '--jobs: expected a whole number from 1 to 100000'],
    [
      'too many runs',
      ['simulate', '--jobs', '100000', '--retries', '1000'],
      'simulate at most 4995 jobs of this policy',
    ],
    ['a capacity of 0', ['simulate', '--capacity', '0/s'], '--capacity: expected a whole number from 1'],
    ['a capacity per minute', ['simulate', '--capacity', '100/m'], 'Expected attempts per second, as in 100/s.'],
    ['a seed that is a word', ['simulate', '--seed', 'seven'], '--seed: expected a whole number'],
    ['a custom backoff', ['simulate', '{"backoff":{"type":"custom","name":"f"}}'], 'a function that only workers have'],
    [
      'an assertion about an unknown figure',
      ['simulate', '--assert', 'survive>=5m'],
      '--assert: there is no "survive"; did you mean "survives"?',
    ],
    ['an incomplete assertion', ['simulate', '--assert', 'survives'], `write one such as 'survives>=5m'`],
    ['an assertion without a unit', ['simulate', '--assert', 'survives>=5'], '--assert: expected a duration'],
    [
      'a relative peak without a capacity',
      ['simulate', '--assert', 'peak<=2x'],
      'expected attempts per second such as 200, or 2x with a --capacity',
    ],
    [
      'an assertion without a number',
      ['simulate', '--assert', 'dead<=few'],
      'expected a number of jobs such as 0, or a share such as 1%',
    ],
    ['one argument too many', ['list', 'http'], 'too many arguments'],
  ])('is %s', async (_, argv, words) => {
    const { code, stdout, stderr } = await say(['policy', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })
})
