import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_RULES, viewRule } from '../../../src/core/alert/settings.js'
import { systemClock } from '../../../src/engine/time/system.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { defineJob } from '../../../src/index.js'
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

const TERMINAL = { isTTY: true, columns: 80, env: { NO_COLOR: '1' } } as const
const alerts = (argv: readonly string[], around?: Surroundings): Promise<Said> =>
  say(['alerts', ...argv, '--store', store], around)

/** Leaves a job that died half an hour ago without an acknowledgement. */
async function neglect(): Promise<void> {
  const bill = defineJob({
    name: 'bill',
    queue: 'billing',
    retry: { maxRetries: 0 },
    run() {
      throw new Error('no')
    },
  })
  const t = testChronos({
    jobs: [bill],
    startAt: new Date(systemClock.now() - 1_920_000),
    store: clock => sqliteStore({ path: join(folder, 'chronos.db'), clock, dice: seededDice(7) }),
  })
  await t.enqueue(bill, undefined)
  await t.advance('31m')
  await t.close()
}

describe('alerts', () => {
  it('are empty if nothing is wrong', async () => {
    expect(await alerts(['list'])).toEqual({ code: 0, stdout: '', stderr: 'no alerts\n' })
  })

  it('are listed with their cause, as text and as JSON', async () => {
    await neglect()
    const { stdout, stderr } = await alerts(['list'], TERMINAL)
    expect(stdout).toMatch(
      /^State +Severity +Since +Rule\n■ firing +warning +\d+m ago +dead-letters\n {6}1 unacknowledged dead letter in queue billing, the oldest for \d+m\n$/,
    )
    expect(stderr).toBe('1 alert\n')
    const plain = await alerts(['list', '--state', 'firing'])
    expect(plain.stdout).toContain('dead-letters  1 unacknowledged dead letter in queue billing')
    const { data } = JSON.parse((await alerts(['list', '--json'])).stdout) as { data: unknown[] }
    expect(data).toMatchObject([{ rule: 'dead-letters', labels: { queue: 'billing' }, state: 'firing', value: 1 }])
  })

  it('have the rules of the table, with what each measures', async () => {
    const { stdout } = await alerts(['rules', '--json'])
    expect(JSON.parse(stdout).data).toEqual(DEFAULT_RULES.map(viewRule))
    expect(JSON.parse(stdout).data).toContainEqual(
      expect.objectContaining({ name: 'retry-rate', unit: 'share', about: expect.stringContaining('first attempts') }),
    )
  })

  it('have rules that are shown, changed and reset', async () => {
    const { stdout } = await alerts(['rules'])
    expect(stdout).toContain('Rule               State  Fire above  Clear at  For  Keep  Repeat\n')
    expect(stdout).toContain('dead-letters       on     0           0         5m   2m    4h\n')
    expect(stdout).toContain('queue-latency      on     5m          2m        1m   2m    4h\n')
    const set = await alerts(['set', 'retry-rate', '--fire', '0.2', '--for', '10m', '--json'])
    expect(JSON.parse(set.stdout)).toMatchObject({ name: 'retry-rate', fire: 0.2, clear: 0.08, for: '10m' })
    const counted = await alerts(['set', 'retry-rate', '--window', '15m', '--min-retries', '20', '--json'])
    expect(JSON.parse(counted.stdout)).toMatchObject({ fire: 0.2, window: '15m', minRetries: 20 })
    expect((await alerts(['set', 'no-workers', '--off'])).stdout).toMatch(/^no-workers +off/m)
    expect((await alerts(['set', 'retry-rate', '--reset'])).stdout).toMatch(/^retry-rate +on +0\.1 +0\.08 +5m/m)
  })

  it('are silenced, and the silence is ended', async () => {
    expect((await alerts(['silences'])).stderr).toBe('no silences\n')
    const why = ['--comment', 'moving house']
    const said = await alerts(['silence', '--rule', 'dead-letters', '--label', 'queue=mail', '--for', '2h', ...why])
    expect(said.stdout).toMatch(/^silenced dead-letters queue=mail until \d{4}-.*Z\n[0-9a-f-]{36}\n$/)
    const id = said.stdout.trim().split('\n')[1]!
    expect((await alerts(['silences'])).stdout).toMatch(
      new RegExp(`^in (2h|1h 59m|1h 60m) +dead-letters queue=mail +moving house +${id}$`, 'm'),
    )
    expect(await alerts(['unsilence', id])).toMatchObject({ code: 0, stdout: `silence ${id} ended\n` })
    expect(await alerts(['unsilence', id])).toMatchObject({ code: 3 })
  })

  it.each([
    [['set', 'dead-leters', '--off'], 'did you mean "dead-letters"?'],
    [['set', 'dead-letters'], 'give a change such as --for 15m or --off, or --reset alone'],
    [['set', 'dead-letters', '--on', '--off'], 'give a change such as'],
    [['set', 'retry-rate', '--fire', '10%'], 'expected a share such as 0.1 for 10 %, got "10%"'],
    [['silence', '--label', 'mail', '--for', '1h'], '--label: expected name=value such as queue=mail, got "mail"'],
    [['silence'], 'give for ("2h") or until (a time), got neither'],
    [['list', '--state', 'fired'], 'state: expected one of "pending", "firing", "resolved", got "fired"'],
  ])('reject %j', async (argv, words) => {
    const { code, stdout, stderr } = await alerts(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words)
  })
})
