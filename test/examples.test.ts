import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { dropSchemas, freshSchema, postgresUrl } from './support/postgres.js'

afterAll(dropSchemas)

const folder = new URL('../examples/', import.meta.url)
const examples = readdirSync(folder).filter(name => name.endsWith('.js') && name !== 'pull-worker.js')
const pathOf = (name: string) => fileURLToPath(new URL(name, folder))
const sourceOf = (name: string) => readFileSync(pathOf(name), 'utf8')

/** Some examples need a newer Node than Chronos: `// Needs Node 22, as Kysely does.` */
const needed = (name: string) => /^\/\/ Needs Node (\d+), as (\w+) does/m.exec(sourceOf(name))
const nodeMajor = Number(process.versions.node.split('.')[0])
const isTooNew = (name: string) => Number(needed(name)?.[1] ?? 0) > nodeMajor

test('there are examples', () => expect(examples.length).toBeGreaterThan(0))

test.each(examples.filter(name => !isTooNew(name)))('examples/%s prints what its last comment says', async name => {
  const expected = outputOf(sourceOf(name))
  const { stdout } = await promisify(execFile)(process.execPath, [pathOf(name)], { env: await environmentOf(name) })
  expect(stdout.trimEnd().split('\n')).toEqual(expected)
})

for (const name of examples.filter(isTooNew)) {
  test(`examples/${name} is not run on Node ${nodeMajor}, which its library does not support`, () => {
    const [, major, library] = needed(name)!
    const manifest = new URL(`../node_modules/${library!.toLowerCase()}/package.json`, import.meta.url)
    const { engines } = JSON.parse(readFileSync(manifest, 'utf8')) as { engines: { node: string } }
    expect(engines.node).toMatch(new RegExp(`^>=${major}\\b`))
  })
}

describe('examples/postgres-workers', () => {
  test('two worker processes and a client share one database', async () => {
    const env = await environmentOf('postgres-workers')
    const start = (script: string, ...args: string[]) => {
      const child = spawn(process.execPath, [pathOf(`postgres-workers/${script}`), ...args], { env })
      const ready = once(child.stdout!, 'data')
      return { child, ready, said: text(child.stdout!), wrong: text(child.stderr!), gone: once(child, 'exit') }
    }
    const workers = [start('worker.js', 'A'), start('worker.js', 'B')]
    for (const { ready } of workers) await ready
    const client = start('client.js')
    expect([await client.said, await client.wrong]).toEqual([expect.any(String), ''])
    for (const { child } of workers) child.kill('SIGTERM')
    for (const { gone } of workers) expect(await gone).toEqual([0, null])
    const lines = (await Promise.all(workers.map(({ said }) => said))).map(said => said.trimEnd().split('\n'))
    expect((await client.said).trimEnd().split('\n')).toEqual(outputOf(sourceOf('postgres-workers/client.js')))
    for (const [index, said] of lines.entries()) expect(said.shift()).toBe(`${'AB'[index]} waits for photos`)
    const resized = lines.flat().map(line => /^[AB] resized (photo-\d+\.jpg)$/.exec(line)?.[1])
    expect(resized.sort(), 'each photo by one of them').toEqual(
      Array.from({ length: 40 }, (_, index) => `photo-${index + 1}.jpg`).sort(),
    )
  })
})

describe('examples/testing', () => {
  // `npm run test:jest` installs Jest and runs its two.
  test.each([
    ['node-test', ['--test', pathOf('testing/node-test/charge.test.js')], 'pass 2'],
    ['vitest', [fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url)), 'run'], '2 passed'],
  ])('%s passes', async (kind, argv, says) => {
    const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env
    const cwd = pathOf(`testing/${kind}`)
    const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd, env: { ...env, NO_COLOR: '1' } })
    expect(stdout).toContain(says)
  })
})

function outputOf(source: string): string[] {
  const expected = source
    .slice(source.indexOf('// Output:\n') + '// Output:\n'.length)
    .split('\n')
    .filter(line => line.startsWith('// '))
    .map(line => line.slice(3))
  expect(expected.length).toBeGreaterThan(0)
  return expected
}

/** Each PostgreSQL example gets its own schema. */
async function environmentOf(name: string): Promise<NodeJS.ProcessEnv> {
  if (!name.startsWith('postgres-')) return process.env
  return { ...process.env, CHRONOS_STORE: `${await postgresUrl()}?schema=${freshSchema()}` }
}
