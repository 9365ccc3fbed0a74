import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SETTINGS } from '../../../src/cli/config/settings.js'
import type { Environment } from '../../../src/cli/io.js'
import { say } from '../memory-io.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Shown {
  readonly name: string
  readonly value: unknown
  readonly source: string
  readonly env: string
}

const put = (name: string, content: string): void => writeFileSync(join(folder, name), content)

async function shown(env: Environment = {}, ...flags: readonly string[]): Promise<Readonly<Record<string, Shown>>> {
  const { code, stdout, stderr } = await say(['config', 'show', '--json', ...flags], { env, folder })
  expect([code, stderr]).toEqual([0, ''])
  const { data } = JSON.parse(stdout) as { data: readonly Shown[] }
  return Object.fromEntries(data.map(setting => [setting.name, setting]))
}

const refused = async (env: Environment, ...flags: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await say(['config', 'show', ...flags], { env, folder })
  expect([code, stdout]).toEqual([2, ''])
  return stderr
}

describe('a setting', () => {
  it('comes from a flag, else the environment, else a file, else its default', async () => {
    expect((await shown())['store']).toMatchObject({ value: 'sqlite:./chronos.db', source: 'default' })
    put('chronos.config.json', '{ "store": "sqlite:file.db", "port": 1 }')
    expect((await shown())['store']).toMatchObject({ value: 'sqlite:file.db', source: 'chronos.config.json' })
    const env = { CHRONOS_STORE: 'sqlite:env.db' }
    expect((await shown(env))['store']).toMatchObject({ value: 'sqlite:env.db', source: 'CHRONOS_STORE' })
    const all = await shown(env, '--store', 'sqlite:flag.db')
    expect(all['store']).toMatchObject({ value: 'sqlite:flag.db', source: '--store' })
    expect(all['port']).toMatchObject({ value: 1, source: 'chronos.config.json' })
  })

  it('has its own environment variable', () => {
    const variables = Object.values(SETTINGS).map(({ env }) => env)
    expect(new Set(variables).size).toBe(variables.length)
    for (const variable of ['STORE', 'PORT', 'HOST', 'TOKEN', 'LOG_LEVEL', 'LOG_FORMAT', 'EGRESS_ALLOW'])
      expect(variables).toContain(`CHRONOS_${variable}`)
  })

  it('is documented with its variable and its default', () => {
    const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
    const rows = new Map(
      [...page.matchAll(/^\| `([\w.]+)` \| `(\w+)` \| (.*?) \|/gm)].map(([, name, ...rest]) => [name, rest]),
    )
    expect([...rows.keys()]).toEqual(Object.keys(SETTINGS))
    for (const [name, { env, otherwise }] of Object.entries(SETTINGS)) {
      expect(rows.get(name)![0]).toBe(env)
      if (otherwise !== undefined && !Array.isArray(otherwise)) expect(rows.get(name)![1]).toContain(`\`${otherwise}\``)
    }
  })

  it.each([
    ['CHRONOS_PORT', '0', 'port', 0],
    ['CHRONOS_READ_ONLY', 'yes', 'readOnly', true],
    ['CHRONOS_READ_ONLY', '0', 'readOnly', false],
    ['CHRONOS_EGRESS_ALLOW', ' 10.1.0.0/16, hooks.internal ,', 'egressAllow', ['10.1.0.0/16', 'hooks.internal']],
    ['CHRONOS_QUEUES', 'mail,payments', 'queues', ['mail', 'payments']],
    ['CHRONOS_MAX_BODY', '512kb', 'maxBody', 512_000],
    ['CHRONOS_RETENTION_DEAD', '90d', 'retention.dead', '90d'],
    ['CHRONOS_RETENTION_DEAD', 'false', 'retention.dead', false],
    ['CHRONOS_RETRY', 'financial', 'retry', 'financial'],
    ['CHRONOS_RETRY', '{"maxRetries": 5}', 'retry', { maxRetries: 5 }],
    ['CHRONOS_LOG_LEVEL', '', 'logLevel', 'info'],
  ])('reads %s=%s', async (variable, text, name, value) => {
    expect((await shown({ [variable]: text }))[name]?.value).toEqual(value)
  })

  it.each([
    [{ CHRONOS_PORT: 'http' }, 'CHRONOS_PORT: expected a port from 0 to 65535, got "http"'],
    [{ CHRONOS_READ_ONLY: 'maybe' }, 'CHRONOS_READ_ONLY: expected true or false, got "maybe"'],
    [{ CHRONOS_DRAIN_DELAY: '5' }, 'CHRONOS_DRAIN_DELAY: expected a duration up to 10m, such as 5s, got "5"'],
    [{ CHRONOS_QUEUES: 'a b' }, 'CHRONOS_QUEUES: expected names of queues'],
    [{ CHRONOS_RETRY: 'finacial' }, 'CHRONOS_RETRY: expected a preset such as financial'],
    [{ CHRONOS_LOG_FORMAT: 'xml' }, 'CHRONOS_LOG_FORMAT: expected json or pretty, got "xml"'],
    [{ CHRONOS_URL: 'ftp://x' }, 'CHRONOS_URL: expected the address of a server'],
    [{ CHRONOS_LOG_LEVLE: 'debug' }, 'unknown environment variable CHRONOS_LOG_LEVLE; did you mean CHRONOS_LOG_LEVEL?'],
  ])('rejects %j', async (env, words) => {
    expect(await refused(env)).toContain(words)
  })

  it('ignores variables of other programs', async () => {
    const port = 'tcp://10.0.0.1:4100'
    const links = { CHRONOS_SERVICE_HOST: '10.0.0.1', CHRONOS_PORT: port, CHRONOS_PORT_4100_TCP: port }
    expect((await shown(links))['port']).toMatchObject({ value: 4100, source: 'default' })
  })
})

describe('a secret', () => {
  it.each(['https://app:correct-horse@chronos.example', 'htps://app:correct/horse@chronos.example', 'app:horse@x'])(
    'in the address of a server is refused and not shown: %s',
    async url => {
      const words = await refused({ CHRONOS_URL: url })
      expect(words).toContain('CHRONOS_URL: expected the address of a server without a login')
      expect(words).not.toContain('horse')
    },
  )

  it('is never shown', async () => {
    const secret = 'correct-horse-battery'
    const env = { CHRONOS_TOKEN: secret, CHRONOS_STORE: `postgres://app:${secret}@db/jobs?sslpassword=${secret}` }
    const { stdout } = await say(['config', 'show'], { env, folder })
    expect(stdout).not.toContain(secret)
    expect(stdout).toContain('postgres://app:•••@db/jobs?sslpassword=•••')
    const wrong = await refused({ CHRONOS_TOKEN: 'hunter 2' })
    expect(wrong).toContain('CHRONOS_TOKEN: expected a token')
    expect(wrong).not.toContain('hunter')
  })

  it('can be read from a file', async () => {
    put('token', 'correct-horse-battery\n')
    const { token } = await shown({ CHRONOS_TOKEN_FILE: join(folder, 'token') })
    expect(token).toMatchObject({ value: '•••', source: 'CHRONOS_TOKEN_FILE' })
    expect(await refused({ CHRONOS_TOKEN_FILE: join(folder, 'none') })).toContain('CHRONOS_TOKEN_FILE: ')
    const both = { CHRONOS_TOKEN: 'correct-horse-battery', CHRONOS_TOKEN_FILE: join(folder, 'token') }
    expect(await refused(both)).toContain('CHRONOS_TOKEN and CHRONOS_TOKEN_FILE are both set')
  })
})

describe('a configuration file', () => {
  it('can be a module, and have groups', async () => {
    put(
      'chronos.config.mjs',
      "export default { retention: { dead: 90 * 86_400_000, succeeded: '7d' }, queues: ['mail'] }",
    )
    const settings = await shown()
    expect(settings['retention.dead']).toMatchObject({ value: 7_776_000_000, source: 'chronos.config.mjs' })
    expect(settings['retention.succeeded']?.value).toBe('7d')
    expect(settings['queues']?.value).toEqual(['mail'])
  })

  it('can be named', async () => {
    put('other.json', '{ "port": 5000 }')
    expect((await shown({}, '--config', 'other.json'))['port']).toMatchObject({ value: 5000, source: 'other.json' })
    expect((await shown({ CHRONOS_CONFIG: 'other.json' }))['port']?.value).toBe(5000)
    expect(await refused({}, '--config', 'none.json')).toContain('no file none.json')
  })

  it.each([
    ['{ "prot": 1 }', 'chronos.config.json: unknown option "prot"; did you mean "port"?'],
    [
      '{ "retention": { "daed": "1d" } }',
      'chronos.config.json: retention: unknown option "daed"; did you mean "dead"?',
    ],
    ['{ "retention": "1d" }', 'chronos.config.json: retention: expected an object with succeeded, cancelled, dead'],
    ['{ "port": "4100" }', 'chronos.config.json: port: expected a port from 0 to 65535, got "4100"'],
    ['{ port: 1 }', 'chronos.config.json: expected JSON'],
    ['[]', 'chronos.config.json: expected an object of options'],
  ])('is rejected if it contains %s', async (content, words) => {
    put('chronos.config.json', content)
    expect(await refused({})).toContain(words)
  })

  it('is rejected if there are two', async () => {
    put('chronos.config.json', '{}')
    put('chronos.config.mjs', 'export default {}')
    expect(await refused({})).toContain('both chronos.config.json and chronos.config.mjs exist')
  })

  it('is rejected if it cannot be loaded', async () => {
    put('broken.mjs', 'export default {')
    expect(await refused({}, '--config', 'broken.mjs')).toContain('cannot load broken.mjs: ')
    put('empty.mjs', 'export const port = 1')
    expect(await refused({}, '--config', 'empty.mjs')).toContain('empty.mjs: expected `export default { … }`')
  })
})
