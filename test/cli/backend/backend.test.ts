import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addressIn, configOf } from '../../../src/cli/backend/store-address.js'
import { type Environment, Interruption, type Io, unlessInterrupted } from '../../../src/cli/io.js'
import { say } from '../memory-io.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const around = (env: Environment): Io => ({
  stdout: { write: () => undefined },
  stderr: { write: () => undefined },
  env,
  folder,
  interrupted: new AbortController().signal,
})

describe('the store of a command', () => {
  it.each([
    [
      'the value of --store',
      { store: 'sqlite:a.db' },
      { CHRONOS_STORE: 'sqlite:b.db' },
      { kind: 'sqlite', path: 'a.db' },
    ],
    ['the value of CHRONOS_STORE', {}, { CHRONOS_STORE: 'sqlite:b.db' }, { kind: 'sqlite', path: 'b.db' }],
    ['a file in the current folder by default', {}, {}, { kind: 'sqlite', path: './chronos.db' }],
    [
      'a file beside, where CHRONOS_STORE is empty',
      {},
      { CHRONOS_STORE: '' },
      { kind: 'sqlite', path: './chronos.db' },
    ],
    ['a server', { store: 'postgres://u@h/d' }, {}, { kind: 'postgres', url: 'postgres://u@h/d' }],
    [
      'a server with the other URL scheme',
      { store: 'postgresql://h/d' },
      {},
      { kind: 'postgres', url: 'postgresql://h/d' },
    ],
    [
      'another, where a flag names one',
      { url: 'http://h:1/' },
      { CHRONOS_STORE: 'sqlite:b.db' },
      { kind: 'server', url: 'http://h:1' },
    ],
    [
      'what CHRONOS_URL says, with its token',
      {},
      { CHRONOS_URL: 'http://h:1', CHRONOS_STORE: 'sqlite:b.db', CHRONOS_TOKEN: 'a-token-long-enough' },
      { kind: 'server', url: 'http://h:1', token: 'a-token-long-enough' },
    ],
    [
      'a store after all, by a flag',
      { store: 'sqlite:a.db' },
      { CHRONOS_URL: 'http://h:1' },
      { kind: 'sqlite', path: 'a.db' },
    ],
  ])('is %s', async (_, options, env, place) => {
    expect(addressIn(await configOf(options, around(env)))).toEqual(place)
  })

  it.each([
    ['memory:', '--store: the store "memory:" is not shared between commands'],
    ['sqlite::memory:', 'is not shared between commands'],
    ['sqlite:', '--store: the store "sqlite:" is not supported'],
    ['chronos.db', '--store: the store "chronos.db" is not supported; use sqlite:./chronos.db or postgres://'],
    ['mysql://u:secret@h/d', '--store: the store "mysql:…" is not supported'],
  ])('is not %s', async (store, words) => {
    const config = await configOf({ store }, around({}))
    expect(() => addressIn(config)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    expect(() => addressIn(config)).toThrow(words)
  })

  it('cannot be combined with a server', async () => {
    const { code, stderr } = await say(['jobs', 'list', '--store', 'sqlite:a.db', '--url', 'http://h:1'])
    expect([code, stderr]).toEqual([2, 'error: give either --store or --url (INVALID_OPTION)\n'])
  })

  it.each([
    [['jobs', 'list']],
    [['jobs', 'get', 'x']],
    [['jobs', 'cancel', 'x']],
    [['jobs', 'retry', '--all', '--yes']],
    [['queues', 'list']],
    [['queues', 'pause', 'x']],
  ])('is not created by %j', async argv => {
    const path = join(folder, 'chronos.db')
    const { code, stdout, stderr } = await say(argv, { env: { CHRONOS_STORE: `sqlite:${path}` } })
    expect([code, stdout]).toEqual([6, ''])
    expect(stderr).toBe(
      `error: no Chronos store at ${path}; create one with \`chronos migrate\`, ` +
        'or choose another with --store or CHRONOS_STORE (STORE_UNAVAILABLE)\n',
    )
    expect(existsSync(path)).toBe(false)
  })
})

describe('unlessInterrupted', () => {
  const interruption = new Interruption('interrupted', 130)

  it('resolves to the result of the work', async () => {
    const { signal } = new AbortController()
    await expect(unlessInterrupted(Promise.resolve(7), signal)).resolves.toBe(7)
    await expect(unlessInterrupted(Promise.reject(new TypeError('x')), signal)).rejects.toThrow(TypeError)
  })

  it('does not wait for the work when the command is interrupted', async () => {
    const controller = new AbortController()
    const waiting = unlessInterrupted(new Promise(() => undefined), controller.signal)
    controller.abort(interruption)
    await expect(waiting).rejects.toBe(interruption)
    await expect(unlessInterrupted(new Promise(() => undefined), controller.signal)).rejects.toBe(interruption)
  })
})
