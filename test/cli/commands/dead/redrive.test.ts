import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Interruption } from '../../../../src/cli/io.js'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import type { DryRun, RedriveView } from '../../../../src/engine/dead/redrives.js'
import { systemClock, systemDice, turn } from '../../../../src/engine/time/system.js'
import { PACE } from '../../../../src/engine/upkeep/maintenance.js'
import { defineJob, PermanentError } from '../../../../src/index.js'
import { sqlite } from '../../../../src/sqlite.js'
import { type Said, type Surroundings, say } from '../../memory-io.js'
import { type DeadLetters, die, WAREHOUSE } from './dead-letters.js'

let folder: string
let store: string
let chronos: Chronos
let letters: DeadLetters
const template = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
beforeAll(async () => {
  letters = await die(join(template, 'chronos.db'))
})
afterAll(() => rmSync(template, { recursive: true, force: true }))
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  const path = join(folder, 'chronos.db')
  store = `sqlite:${path}`
  copyFileSync(join(template, 'chronos.db'), path)
  // Workers notice a redrive immediately.
  const pace = { ...PACE, redrivesMs: 10, fleetMs: 1_000 }
  chronos = new Chronos(async () => sqlite(path), systemClock, systemDice, { log: false }, pace)
})
afterEach(async () => {
  await chronos.close()
  rmSync(folder, { recursive: true, force: true })
})

const TERMINAL = { isTTY: true, columns: 80, env: { NO_COLOR: '1' } } as const
const redrive = (argv: readonly string[], around?: Surroundings): Promise<Said> =>
  say(['dead', 'redrive', ...argv, '--store', store], around)
const redrives = (...argv: readonly string[]): Promise<Said> => say(['redrives', ...argv, '--store', store])
const FAST = ['--rate', '1000/s', '--yes'] as const

/** Starts a worker, and waits until it is registered. */
async function work(isFixed: boolean): Promise<void> {
  const run = (): string => {
    if (isFixed) return 'sent'
    throw new PermanentError('still no mailbox')
  }
  const jobs = ['send-email', 'sync-inventory', 'pay-out'].map(name => defineJob({ name, run }))
  chronos.work(jobs, { queues: ['mail', 'default', 'payments'], poll: '10ms', signals: false })
  while ((await chronos.workers()).length === 0) await turn()
}

describe('dead redrive', () => {
  it('only counts without --yes', async () => {
    const refused = await redrive(['--queue', 'mail'])
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain('12 dead jobs would start again; add --yes --at-most 12 to confirm, or --dry-run')
    const tried = await redrive(['--all', '--dry-run', '--yes'])
    expect(tried.code).toBe(0)
    expect(tried.stdout).not.toContain(letters.unknown)
    expect(tried.stderr).toBe(
      '15 dead jobs would start again; 1 job with unknown outcome or discarded skipped; nothing was changed\n',
    )
    const { stdout } = await redrive(['--all', '--dry-run', '--json', '--force'])
    expect(JSON.parse(stdout) as DryRun).toMatchObject({ dryRun: true, count: { value: 16 }, skipped: 0 })
    expect((await chronos.redrives.list()).data).toEqual([])
  })

  it('shows the progress until the redrive ends', async () => {
    await work(true)
    const { code, stdout, stderr } = await redrive(['--queue', 'mail', ...FAST, '--canary', '2'])
    expect(stdout).toMatch(/^redrive [0-9a-f-]{36} ✓ done: 12 of 12 started, 12 succeeded, 0 failing\n$/)
    expect(stderr).toMatch(/^redrive [0-9a-f-]{36} started: 12 jobs\n/)
    expect(code).toBe(0)
    expect(await chronos.jobs.get(letters.mails[0]!)).toMatchObject({ state: 'succeeded', generation: 2 })
  })

  it('exits with 8 and a reason if its stop rule ended it', async () => {
    await work(false)
    const { code, stdout, stderr } = await redrive(['--queue', 'mail', ...FAST, '--canary', '3'])
    expect(code).toBe(8)
    expect(stdout).toMatch(/ ■ stopped: \d of \d failed again \(100 %\), over 20 %, in the canary; 3 of 12 started, /)
    expect(stderr).toContain('fix the cause, then resume the redrive')
    expect((await chronos.jobs.count({ state: 'dead', queue: 'mail' })).value).toBe(12)
  })

  it('draws a progress bar on a terminal, and clears it at the end', async () => {
    await work(true)
    const { stdout, stderr } = await redrive(['--group', WAREHOUSE, ...FAST], TERMINAL)
    expect(stdout).toContain('✓ done: 3 of 3 started, 3 succeeded, 0 failing\n')
    const frames = stderr.split('\r\u001b[K').slice(1)
    expect(frames.at(-1)).toBe('')
    expect(frames[0]).toMatch(/^(◇ canary|▸ running) +[█▓▒░]{10,} \d of 3 started, \d succeeded, 0 failing$/)
    expect(frames.filter(frame => frame.length > 79)).toEqual([])
  })

  it('prints only JSON with --json', async () => {
    await work(true)
    const { stdout, stderr } = await redrive([...letters.syncs, '--canary', '0', '--json'])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout) as RedriveView).toMatchObject({ state: 'done', canary: 0, succeeded: 3, rate: '10/s' })
  })

  it('reports a job whose unique value another live job has', async () => {
    await work(true)
    const to = { to: 'user0' }
    const live = await chronos.enqueue('send-email', to, { queue: 'mail', unique: 'mail 0', delay: '1h' })
    const { code, stdout, stderr } = await redrive(['--queue', 'mail', ...FAST])
    expect(code).toBe(0)
    expect(stdout).toContain(
      '✓ done: 11 of 11 started, 11 succeeded, 0 failing; 1 job blocked by a live job with the same unique value\n',
    )
    expect(stderr).toContain(`job ${letters.mails[0]} was not started: live job ${live.id} has the same unique value\n`)
  })

  it('prints only the id with --detach', async () => {
    const { code, stdout, stderr } = await redrive(['--queue', 'mail', '--detach', '--yes', '--rate', '600/m'])
    expect([code, stderr]).toEqual([0, `redrive ${stdout.trim()} started: 12 jobs\n`])
    expect(await chronos.redrives.get(stdout.trim())).toMatchObject({ state: 'canary', started: 0, rate: '10/s' })
  })

  it('warns that no worker is running, and continues when the command is interrupted', async () => {
    const controller = new AbortController()
    const { code, stdout, stderr } = await redrive(['--queue', 'mail', '--yes'], {
      interrupted: controller.signal,
      onStderr: text => text.includes('0 of 12') && controller.abort(new Interruption('interrupted', 130)),
    })
    const [{ id, state }] = (await chronos.redrives.list()).data as [RedriveView]
    expect([code, stdout, state]).toEqual([130, '', 'canary'])
    expect(stderr).toBe(
      `redrive ${id} started: 12 jobs\n` +
        'no worker is alive: start one to carry out the redrive (see `chronos workers`)\n' +
        '◇ canary   0 of 12 started, 0 succeeded, 0 failing\n' +
        `redrive ${id} continues; follow it with \`chronos redrives get ${id} --follow\`\ninterrupted\n`,
    )
  })

  it('does nothing if no job matches', async () => {
    expect(await redrive(['--queue', 'nowhere', '--yes'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'nothing to redrive: 0 dead jobs would start again\n',
    })
    expect((await chronos.redrives.list()).data).toEqual([])
  })

  it.each<[argv: (letters: DeadLetters) => string[], exitCode: number, words: string]>([
    [() => [], 2, 'give ids, a filter such as --group or --queue, or --all'],
    [({ mails }) => [mails[0]!, '--all'], 2, 'give either ids or a filter'],
    [() => ['--all', '--rate', '0'], 2, 'expected a rate above 0'],
    [() => ['--all', '--rate', 'quick'], 2, 'such as "20/s" or "600/m", got "quick"'],
    [() => ['--all', '--canary', 'ten'], 2, 'Expected a whole number.'],
    [() => ['--all', '--stop-when-failing', '120%'], 2, 'expected a number from 0 to 1, got 1.2'],
    [() => ['--all', '--stop-when-failing', 'many'], 2, 'such as 0.2 or 20%'],
    [() => ['--group', 'missing'], 3, 'there is no error group "missing"'],
    [() => ['missing'], 3, 'there is no job "missing"'],
    [({ succeeded }) => [succeeded], 4, 'is succeeded, not dead'],
    [() => ['--all', '--dryrun'], 2, '(Did you mean --dry-run?)'],
  ])('rejects invalid input', async (argv, exitCode, words) => {
    const { code, stdout, stderr } = await redrive(argv(letters))
    expect([code, stdout]).toEqual([exitCode, ''])
    expect(stderr).toContain(words)
  })
})

describe('redrives', () => {
  const start = async (): Promise<string> =>
    (await redrive(['--queue', 'mail', '--reason', 'permanent', '--detach', '--yes'])).stdout.trim()

  it('are listed, and shown individually', async () => {
    expect(await redrives('list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no redrives yet: `chronos dead redrive` starts one\n',
    })
    const id = await start()
    const { stdout, stderr } = await redrives('list')
    expect(stdout).toMatch(/^Id +State +Started +Of +Failing +Rate +Created +Jobs\n/)
    expect(stdout).toMatch(/◇ canary +0 +12 +0 +10\/s +\ds ago +queue mail, reason permanent\n$/)
    expect(stderr).toBe('1 redrive\n')
    const { stdout: narrow } = await say(['redrives', 'list', '--store', store], TERMINAL)
    expect(narrow).toMatch(/^Id +State +Started +Failing +Created\n/)
    const { stdout: card } = await say(['redrives', 'get', id, '--store', store], TERMINAL)
    expect(card).toMatch(/^[0-9a-f-]{36} {2}◇ canary\n░{40}\n0 of 12 started, 0 succeeded, 0 failing\n/)
    expect(card).toContain('  pace       2 first, then up to 10/s\n')
    expect(card).toContain('  stops      if more than 20 % fail again\n')
    expect(card.split('\n').filter(line => line.length > 80)).toEqual([])
  })

  it('are paused, resumed and aborted, and their rate is changed', async () => {
    const id = await start()
    expect((await redrives('pause', id)).stdout).toContain(` ‖ paused, up to 10/s: 0 of 12 started`)
    expect((await redrives('rate', id, '5/s')).stdout).toContain(` ‖ paused, up to 5/s: `)
    expect((await redrives('resume', id)).stdout).toContain(' ◇ canary, up to 5/s: ')
    const { stdout } = await redrives('abort', id, '--json')
    expect(JSON.parse(stdout) as RedriveView).toMatchObject({ id, state: 'aborted', rate: '5/s' })
    const { code, stderr } = await redrives('pause', id)
    expect(code).toBe(4)
    expect(stderr).toContain(`can't pause redrive ${id}: it is aborted`)
    expect((await redrives('get', id, '--follow')).code).toBe(8)
  })

  it.each([
    [['get', 'missing'], 3, 'there is no redrive "missing"'],
    [['get', 'missing', '--follow'], 3, 'there is no redrive "missing"'],
    [['rate', 'missing', '0'], 2, 'expected a rate above 0'],
    [['puase', 'x'], 2, '(Did you mean pause?)'],
  ])('reject %j', async (argv, exitCode, words) => {
    const { code, stdout, stderr } = await redrives(...argv)
    expect([code, stdout]).toEqual([exitCode, ''])
    expect(stderr).toContain(words)
  })
})
