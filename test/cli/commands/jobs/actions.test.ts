import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Interruption } from '../../../../src/cli/io.js'
import type { JobView } from '../../../../src/core/job/view.js'
import type { Chronos } from '../../../../src/engine/client/chronos.js'
import { turn } from '../../../../src/engine/time/system.js'
import { createChronos } from '../../../../src/index.js'
import { type Lives, live } from '../../lives.js'
import { type Said, say } from '../../memory-io.js'

let folder: string
let store: string
let chronos: Chronos
let lives: Lives

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  lives = await live(join(folder, 'chronos.db'))
  chronos = createChronos({ store, log: false })
})

afterEach(async () => {
  await chronos.close()
  rmSync(folder, { recursive: true, force: true })
})

const jobs = (...argv: string[]): Promise<Said> => say(['jobs', ...argv, '--store', store])
const get = async (id: string): Promise<JobView | undefined> => chronos.jobs.get(id)

describe('an action on jobs by their ids', () => {
  it('retry starts a dead job again', async () => {
    const { code, stdout } = await jobs('retry', lives.dead)
    expect(code).toBe(0)
    expect(stdout).toBe(`retried ${lives.dead} sync-inventory: ○ queued · 3 attempts · due just now\n`)
    expect(await get(lives.dead)).toMatchObject({ state: 'waiting', generation: 2, attempt: 0 })
  })

  it('run-now makes a waiting job due and keeps its attempts', async () => {
    await jobs('reschedule', lives.retrying, '--delay', '5h')
    const { stdout } = await jobs('run-now', lives.retrying, '--json')
    const { runAt, attempt } = JSON.parse(stdout) as JobView
    const { now } = await chronos.info()
    expect(Date.parse(runAt)).toBeLessThanOrEqual(now)
    expect(attempt).toBe(1)
  })

  it('reschedule moves a waiting job', async () => {
    const { stdout } = await jobs('reschedule', lives.scheduled, '--run-at', '2098-12-24T18:00Z')
    expect(stdout).toMatch(/^rescheduled \S+ weekly-digest: ◷ scheduled · 4 attempts · runs in \d+d/)
    expect(await get(lives.scheduled)).toMatchObject({ runAt: '2098-12-24T18:00:00.000Z' })
  })

  it('cancel stops a waiting job and keeps its record', async () => {
    await jobs('cancel', lives.scheduled)
    expect(await get(lives.scheduled)).toMatchObject({ state: 'cancelled' })
  })

  it('delete removes the record', async () => {
    expect(await jobs('delete', lives.dead)).toEqual({ code: 0, stdout: `deleted ${lives.dead}\n`, stderr: '' })
    expect(await get(lives.dead)).toBeUndefined()
  })

  it('replay creates a new job, and prints only its id', async () => {
    const { code, stdout } = await jobs('replay', lives.succeeded)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect(await get(stdout.trim())).toMatchObject({
      name: 'charge-card',
      state: 'waiting',
      payload: { orderId: 'A-17' },
      tenantId: 'acme',
    })
    expect(await get(lives.succeeded)).toMatchObject({ state: 'succeeded' })
  })

  it.each<[argv: (lives: Lives) => string[], exitCode: number, words: string]>([
    [({ succeeded }) => ['retry', succeeded], 4, 'it is succeeded; only a dead or cancelled job can be retried'],
    [({ dead }) => ['run-now', dead], 4, 'it is dead; only a waiting job has a time to move'],
    [() => ['cancel', 'missing'], 3, 'there is no job "missing"'],
    [({ dead }) => ['reschedule', dead], 2, 'give either --delay or --run-at'],
    [
      ({ dead }) => ['reschedule', dead, '--delay', '1m', '--run-at', '2099-01-01'],
      2,
      'give either --delay or --run-at',
    ],
    [({ scheduled }) => ['reschedule', scheduled, '--delay', 'soon'], 2, 'expected a duration such as "30s"'],
    [({ dead }) => ['retry', dead, '--queue', 'payments'], 2, 'give either ids or a filter'],
    [() => ['cancel'], 2, 'give ids, a filter such as --queue, or --all'],
    [() => ['replay', 'missing'], 3, 'there is no job "missing"'],
  ])('is rejected with a reason', async (argv, exitCode, words) => {
    const { code, stdout, stderr } = await jobs(...argv(lives))
    expect([code, stdout]).toEqual([exitCode, ''])
    expect(stderr).toContain(words)
  })

  it('continues after a failure, and exits with the code of the first one', async () => {
    const { code, stdout, stderr } = await jobs('cancel', 'missing', lives.scheduled, lives.dead)
    expect(code).toBe(3)
    expect(stdout).toContain(`cancelled ${lives.scheduled}`)
    expect(stderr).toContain('error: there is no job "missing" (NOT_FOUND)\n')
    expect(stderr).toContain('only a waiting or running job can be cancelled (NOT_ALLOWED)\n')
    expect(await get(lives.scheduled)).toMatchObject({ state: 'cancelled' })
  })
})

describe('an action on jobs by a filter', () => {
  const count = 450
  beforeEach(async () => {
    await chronos.enqueueMany(
      'bulk',
      Array.from({ length: count }, (_, i) => i),
      { queue: 'bulk', delay: '1h' },
    )
  })

  it('only counts without --yes', async () => {
    const { code, stdout, stderr } = await jobs('cancel', '--queue', 'bulk')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(
      '450 jobs would be cancelled; add --yes --at-most 450 to confirm, or --dry-run to see some of them',
    )
    expect((await chronos.jobs.count({ state: 'cancelled', queue: 'bulk' })).value).toBe(0)
  })

  it('changes nothing with --dry-run, even with --yes, and shows some jobs', async () => {
    const { code, stdout, stderr } = await jobs('cancel', '--queue', 'bulk', '--dry-run', '--yes')
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(6)
    expect(stderr).toBe('450 jobs would be cancelled; nothing was changed\n')
    expect((await chronos.jobs.count({ state: 'cancelled', queue: 'bulk' })).value).toBe(0)
  })

  it('changes all matching jobs with --yes, over many pages', async () => {
    expect(await jobs('cancel', '--queue', 'bulk', '--yes')).toEqual({
      code: 0,
      stdout: '450 jobs cancelled\n',
      stderr: '',
    })
    expect((await chronos.jobs.count({ state: 'cancelled', queue: 'bulk' })).value).toBe(count)
    expect(await get(lives.scheduled)).toMatchObject({ state: 'waiting' })
  })

  it('changes nothing if more jobs match than --at-most', async () => {
    const refused = await jobs('cancel', '--queue', 'bulk', '--yes', '--at-most', '449')
    expect([refused.code, refused.stdout]).toEqual([5, ''])
    expect(refused.stderr).toContain('jobs cancel: 450 jobs match, and atMost is 449; nothing was changed')
    expect((await chronos.jobs.count({ state: 'cancelled', queue: 'bulk' })).value).toBe(0)
    const allowed = await jobs('cancel', '--queue', 'bulk', '--yes', '--at-most', '450')
    expect(allowed.stdout).toBe('450 jobs cancelled\n')
  })

  it('prints the number of changed jobs as JSON', async () => {
    const { stdout } = await jobs('run-now', '--queue', 'bulk', '--yes', '--json')
    expect(JSON.parse(stdout)).toEqual({
      action: 'run-now',
      count: { value: 450, relation: 'exact' },
      changed: 450,
      refused: 0,
      dryRun: false,
    })
    expect((await chronos.jobs.count({ phase: 'queued', queue: 'bulk' })).value).toBe(count)
  })

  it('selects the jobs that allow the action, unless the filter names a state', async () => {
    expect((await jobs('retry', '--all', '--yes')).stdout).toBe('1 job retried\n')
    expect(await get(lives.dead)).toMatchObject({ state: 'waiting' })
    expect(await get(lives.cancelled)).toMatchObject({ state: 'cancelled' })
    expect((await jobs('retry', '--state', 'cancelled', '--yes')).stdout).toBe('1 job retried\n')
    expect((await jobs('delete', '--all', '--yes')).stdout).toBe('1 job deleted\n')
    expect(await get(lives.succeeded)).toBeUndefined()
    expect(await get(lives.retrying)).toBeDefined()
  })

  it('exits with 4 and a reason if no job allows the action', async () => {
    const { code, stdout, stderr } = await jobs('retry', '--state', 'succeeded', '--yes')
    expect([code, stdout]).toEqual([4, '0 jobs retried\n'])
    expect(stderr).toMatch(/^1 job refused; first error: retry: job .* can't: it is succeeded/)
  })

  it('stops between two batches when interrupted, and shows its progress', async () => {
    const controller = new AbortController()
    const said = say(['jobs', 'cancel', '--queue', 'bulk', '--yes', '--store', store], {
      interrupted: controller.signal,
    })
    while ((await chronos.jobs.count({ state: 'cancelled', queue: 'bulk' })).value === 0) await turn()
    controller.abort(new Interruption('interrupted', 130))
    const { code, stderr } = await said
    expect(code).toBe(130)
    expect(stderr).toMatch(/^\d+ jobs cancelled so far\ninterrupted\n$/)
  })
})
