import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newDependency } from '../../../src/core/dependency/dependency.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import type { CircuitView } from '../../../src/engine/dependencies/circuits.js'
import { systemClock } from '../../../src/engine/time/system.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { defineJob, exponential } from '../../../src/index.js'
import { sqliteStore } from '../../../src/store/sqlite/store.js'
import { testChronos } from '../../../src/testing.js'
import { type Said, type Surroundings, say } from '../memory-io.js'

let folder: string
let store: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  await say(['migrate', '--store', store])
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const DEPENDENCY = 'https://pay.example'
const TERMINAL = { isTTY: true, columns: 80, env: { NO_COLOR: '1' } } as const
const circuits = (argv: readonly string[], around?: Surroundings): Promise<Said> =>
  say(['circuits', ...argv, '--store', store], around)

/** Opens the circuit of a dependency that refuses every connection. */
async function trip(of: { readonly tenantId?: string } = {}): Promise<void> {
  const charge = defineJob({
    name: 'charge',
    dependsOn: DEPENDENCY,
    retry: exponential({ base: '1m', circuit: { minimumCalls: 4, openFor: '10m' } }),
    run() {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    },
  })
  const t = testChronos({
    jobs: [charge],
    startAt: new Date(systemClock.now() - 60_000),
    store: clock => sqliteStore({ path: join(folder, 'chronos.db'), clock, dice: seededDice(7) }),
  })
  for (let n = 0; n < 6; n++) await t.enqueue(charge, undefined, of)
  await t.advance('10s')
  await t.close()
}

describe('circuits', () => {
  it('are empty before a job has one', async () => {
    expect(await circuits(['list'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no circuits yet: a circuit appears once a job with a `circuit` or a `budget` has run\n',
    })
  })

  it('are listed with the reason they are open and the time of the next probe', async () => {
    await trip()
    const { stdout, stderr } = await circuits(['list'], TERMINAL)
    expect(stdout).toMatch(
      /^State +Failed +Openings +Since +Dependency\n✗ open +\d of \d +1 +\d+\w ago +https:\/\/pay\.example\n {6}.*connect ECONNREFUSED\n {6}next probe in \dm( [\d.]+s)?\n$/,
    )
    expect(stderr).toBe('1 circuit\n')
    const { stdout: piped } = await circuits(['list'])
    expect(piped).toMatch(/^State +Failed +Openings +Since +Dependency +Next +Why\n/)
    const { data } = JSON.parse((await circuits(['list', '--json'])).stdout) as { data: CircuitView[] }
    expect(data).toMatchObject([{ key: DEPENDENCY, state: 'open', openings: 1 }])
  })

  it('are held open and closed by an operator, and then work automatically again', async () => {
    await trip()
    expect((await circuits(['open', DEPENDENCY])).stdout).toBe(
      `circuit ${DEPENDENCY} ✗ held open: until \`chronos circuits close ${DEPENDENCY}\`\n`,
    )
    expect((await circuits(['close', DEPENDENCY, '--hold'])).stdout).toBe(
      `circuit ${DEPENDENCY} ✓ held closed: even if calls fail, until \`chronos circuits close ${DEPENDENCY}\`\n`,
    )
    expect((await circuits(['close', DEPENDENCY])).stdout).toBe(
      `circuit ${DEPENDENCY} ↗ ramping: jobs start again step by step\n`,
    )
    const { data } = JSON.parse((await circuits(['list', '--json'])).stdout) as { data: CircuitView[] }
    expect(data[0]).not.toHaveProperty('forced')
  })

  it('shows the tenant of a circuit, and opens and closes it with --tenant', async () => {
    await trip({ tenantId: 'acme' })
    const { stdout } = await circuits(['list'], TERMINAL)
    expect(stdout).toMatch(/^State .* Dependency +Tenant\n✗ open .* https:\/\/pay\.example +acme\n/)
    expect((await circuits(['close', DEPENDENCY])).code).toBe(3)
    expect((await circuits(['open', DEPENDENCY, '--tenant', 'acme'])).stdout).toBe(
      `circuit ${DEPENDENCY} of tenant acme ✗ held open: until \`chronos circuits close ${DEPENDENCY} --tenant acme\`\n`,
    )
    expect((await circuits(['close', DEPENDENCY, '--tenant', 'acme'])).stdout).toBe(
      `circuit ${DEPENDENCY} of tenant acme ↗ ramping: jobs start again step by step\n`,
    )
  })

  it('are listed page by page, and only those with a text or a restriction', async () => {
    const opened = sqliteStore({ path: join(folder, 'chronos.db'), clock: systemClock, dice: seededDice(1) })
    const named = [{ key: 'a' }, { key: 'b c' }, { key: 'a', tenantId: 'acme' }]
    await opened.putRecords(
      named.map(name => {
        const dependency = newDependency(name, {}, systemClock.now())
        return { kind: 'dependency', id: dependencyId(dependency), body: JSON.stringify(dependency) }
      }),
    )
    await opened.close()
    expect((await circuits(['list', '--limit', '1'])).stderr).toBe("1 circuit\nmore: --cursor 'b c'\n")
    const second = await circuits(['list', '--limit', '1', '--cursor', 'b c'])
    expect(second.stderr).toBe(`1 circuit\nmore: --cursor '~["acme","a"]'\n`)
    expect((await circuits(['list', '--cursor', '~["acme","a"]'])).stdout).toContain(' acme')
    expect((await circuits(['list', '--find', 'B'])).stderr).toBe('1 circuit\n')
    expect((await circuits(['list', '--restricted'])).stderr).toBe('no circuits\n')
    await circuits(['open', 'b c'])
    expect((await circuits(['list', '--restricted'])).stdout).toContain('b c')
  })

  it.each([
    [['open', 'missing'], 3, 'there is no circuit "missing"'],
    [['close', 'missing'], 3, 'there is no circuit "missing"'],
    [['colse', 'x'], 2, '(Did you mean close?)'],
    [['open'], 2, "missing required argument 'dependency'"],
  ])('reject %j', async (argv, exitCode, words) => {
    const { code, stdout, stderr } = await circuits(argv)
    expect([code, stdout]).toEqual([exitCode, ''])
    expect(stderr).toContain(words)
  })
})
