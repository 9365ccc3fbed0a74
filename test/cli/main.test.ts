import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Interruption } from '../../src/cli/io.js'
import { ChronosError } from '../../src/core/values/error.js'
import { say } from './memory-io.js'
import { run } from './process.js'

const showDemo = vi.hoisted(() => vi.fn<() => Promise<number>>())
vi.mock('../../src/cli/commands/demo/show.js', () => ({ showDemo }))
afterEach(() => showDemo.mockReset())

const ESCAPE = '\u001b['

describe('help', () => {
  it.each([[['--help']], [['help']], [['-h']]])('goes to stdout when requested: %j', async argv => {
    const { code, stdout, stderr } = await say(argv)
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: chronos')
    expect(stdout).toMatch(/^ {2}demo/m)
    expect(stdout).toContain('$ chronos dev')
    expect(stderr).toBe('')
  })

  it('goes to stderr, with a usage error, if no command is given', async () => {
    const { code, stdout, stderr } = await say([])
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain('Usage: chronos')
  })

  it.each([[['demo', '--help']], [['help', 'demo']]])('shows the examples of a command: %j', async argv => {
    const { code, stdout } = await say(argv)
    expect(code).toBe(0)
    expect(stdout).toContain('$ chronos demo --seed 7')
  })

  it.each([[[]], [['demo']]])('fits 80 columns: %j', async command => {
    const { stdout } = await say([...command, '--help'], { isTTY: true, columns: 200, env: { NO_COLOR: '1' } })
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([])
  })

  it('is coloured only on a terminal that allows colours', async () => {
    expect((await say(['--help'], { isTTY: true })).stdout).toContain(ESCAPE)
    expect((await say(['--help'])).stdout).not.toContain(ESCAPE)
    expect((await say(['--help'], { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(ESCAPE)
  })
})

it('prints its version', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const said = { code: 0, stdout: `${version}\n`, stderr: '' }
  expect(await say(['--version'])).toEqual(said)
  expect(await run(['--version'])).toEqual(said)
})

describe('a usage error', () => {
  it.each([
    ['an unknown command, with a suggestion', ['dmeo'], "error: unknown command 'dmeo'\n(Did you mean demo?)\n"],
    [
      'an unknown option, with what was meant',
      ['demo', '--sed', '7'],
      "error: unknown option '--sed'\n(Did you mean --seed?)\n",
    ],
    ['one argument too many', ['demo', 'now'], 'error: too many arguments'],
    [
      'a store that is named before the command, and would not be the one that is used',
      ['workers', '--store', 'sqlite:./other.db', 'drain', 'x'],
      'error: too many arguments',
    ],
    ['a seed that is not a number', ['demo', '--seed', 'seven'], 'Expected a whole number from 0 to 4294967295.'],
    ['a negative seed', ['demo', '--seed', '-1'], 'Expected a whole number from 0 to 4294967295.'],
    ['a seed that is too large', ['demo', '--seed', '4294967296'], 'Expected a whole number from 0 to 4294967295.'],
    ['a store that processes cannot share', ['demo', '--store', 'memory:'], 'Expected sqlite:PATH'],
    ['a store without a path', ['demo', '--store', 'sqlite:'], 'Expected sqlite:PATH'],
  ])('is %s', async (_, argv, words) => {
    const { code, stdout, stderr } = await say(argv)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(words)
    expect(showDemo).not.toHaveBeenCalled()
  })
})

describe('a command', () => {
  it('receives validated options', async () => {
    showDemo.mockResolvedValue(0)
    await say(['demo', '--json', '--seed', '7', '--store', 'sqlite:./demo.db', '--log'])
    expect(showDemo).toHaveBeenCalledWith(
      { json: true, seed: 7, store: './demo.db', log: true },
      expect.anything(),
      expect.anything(),
    )
  })

  it('exits with 0 on success', async () => {
    showDemo.mockResolvedValue(0)
    expect(await say(['demo'])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('exits with 8 if its check fails', async () => {
    showDemo.mockResolvedValue(8)
    expect((await say(['demo'])).code).toBe(8)
  })

  it.each([
    ['INVALID_OPTION', 2],
    ['NOT_FOUND', 3],
    ['NOT_ALLOWED', 4],
    ['KEY_CONFLICT', 5],
    ['STORE_UNAVAILABLE', 6],
    ['STORE_READ_ONLY', 6],
    ['CLOSED', 1],
  ] as const)('that throws %s prints one line and exits with %i', async (errorCode, exitCode) => {
    showDemo.mockRejectedValue(new ChronosError(errorCode, 'the file x.db is odd; look at it'))
    expect(await say(['demo'])).toEqual({
      code: exitCode,
      stdout: '',
      stderr: `error: the file x.db is odd; look at it (${errorCode})\n`,
    })
  })

  it('exits with 1 on an unexpected error, and explains how to see the stack', async () => {
    showDemo.mockRejectedValue(new TypeError('x is not a function'))
    const { code, stderr } = await say(['demo'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: x is not a function\n.*CHRONOS_DEBUG=1.*\n$/)
  })

  it.each([
    ['an unexpected error', new TypeError('x is not a function')],
    ['an expected error', new ChronosError('NOT_FOUND', 'x is not here')],
  ])('shows the stack of %s with CHRONOS_DEBUG', async (_, error) => {
    showDemo.mockRejectedValue(error)
    expect((await say(['demo'], { env: { CHRONOS_DEBUG: '1' } })).stderr).toContain('main.test.ts')
    expect((await say(['demo'], { env: { CHRONOS_DEBUG: '0' } })).stderr).not.toContain('main.test.ts')
  })

  it.each([
    ['a broken pipe, silently', new Interruption('', 141), { code: 141, stdout: '', stderr: '' }],
    ['Ctrl-C', new Interruption('interrupted', 130), { code: 130, stdout: '', stderr: 'interrupted\n' }],
  ])('exits on %s', async (_, interruption, said) => {
    showDemo.mockRejectedValue(interruption)
    expect(await say(['demo'])).toEqual(said)
  })
})
