import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JobView } from '../../../../src/core/job/view.js'
import type { Chronos } from '../../../../src/engine/client/chronos.js'
import type { ErrorGroupView } from '../../../../src/engine/dead/dead.js'
import { createChronos, defineJob, PermanentError } from '../../../../src/index.js'
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
  store = `sqlite:${join(folder, 'chronos.db')}`
  copyFileSync(join(template, 'chronos.db'), join(folder, 'chronos.db'))
  chronos = createChronos({ store, log: false })
})
afterEach(async () => {
  await chronos.close()
  rmSync(folder, { recursive: true, force: true })
})

const TERMINAL = { isTTY: true, columns: 80, env: { NO_COLOR: '1' } } as const
const dead = (argv: readonly string[], around?: Surroundings): Promise<Said> =>
  say(['dead', ...argv, '--store', store], around)
const mailGroup = async (): Promise<string> => (await chronos.dead.groups()).data[0]!.fingerprint
const tooWide = (text: string): readonly string[] => text.split('\n').filter(line => line.length > 80)
/** Control characters, except line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these must never reach a terminal.
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/

describe('dead list', () => {
  it('shows why each job died', async () => {
    const { code, stdout, stderr } = await dead(['list', '--limit', '2', '--queue', 'mail'], TERMINAL)
    expect([code, tooWide(stdout)]).toEqual([0, []])
    expect(stdout).toMatch(
      /^Id +Name +Reason +When\n[0-9a-f-]{36} {2}send-email {2}permanent {2}[45]h ago\n {6}PermanentError: the mailbox of "user11" does not exist\n/,
    )
    expect(stderr).toMatch(/^2 of 12 dead jobs\nmore: --cursor \S+\n$/)
  })

  it('prints plain columns in a pipe, and a list as JSON', async () => {
    const { stdout } = await dead(['list', '--reason', 'exhausted'])
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(stdout).toMatch(/^Id +Name +Reason +When +Queue +Error\n/)
    expect(stdout).not.toMatch(CONTROL)
    const { data, count } = JSON.parse((await dead(['list', '--group', WAREHOUSE, '--json'])).stdout) as {
      data: JobView[]
      count: unknown
    }
    expect(data.map(({ id }) => id).sort()).toEqual([...letters.syncs].sort())
    expect(count).toEqual({ value: 3, relation: 'exact' })
  })

  it('distinguishes acknowledged jobs', async () => {
    await chronos.dead.acknowledge({ ids: letters.syncs })
    expect((await dead(['list', '--acknowledged'])).stderr).toBe('3 dead jobs\n')
    expect((await dead(['list', '--no-acknowledged'])).stderr).toBe('13 dead jobs\n')
  })

  it('reports that there are no dead jobs', async () => {
    expect((await dead(['list', '--queue', 'nowhere'])).stderr).toBe('no dead job matches\n')
    await Promise.all([...letters.mails, ...letters.syncs, letters.unknown].map(id => chronos.jobs.delete(id)))
    expect(await dead(['list'])).toEqual({ code: 0, stdout: '', stderr: 'no dead jobs\n' })
  })
})

describe('dead groups', () => {
  it('groups equal errors, with a chart of the last day', async () => {
    const { code, stdout, stderr } = await dead(['groups'], TERMINAL)
    expect([code, stderr, tooWide(stdout)]).toEqual([0, '3 groups, 16 dead jobs\n', []])
    const [head, row, title, more] = stdout.split('\n')
    expect(head).toMatch(/^Dead {2}Last 24 h +First +Last {2}State +Group$/)
    expect(row).toMatch(/^ {2}12 {2}·+█·+ {2}[45]h ago {2}[45]h ago {2}■ open {2}[0-9a-f]{16}$/)
    expect(title).toBe('      the mailbox of "<id>" does not exist')
    expect(more).toBe('      PermanentError · send-email · 12 failed runs')
    expect(stdout).toContain('      Error HTTP 502 · sync-inventory · 9 failed runs\n')
    expect(stdout).not.toMatch(CONTROL)
  })

  it('can print ASCII only', async () => {
    const { stdout } = await dead(['groups'], { ...TERMINAL, env: { NO_COLOR: '1', LANG: 'C' } })
    expect(stdout).toMatch(/^ {2}12 {2}\.+#\.+ .* # open/m)
    expect(stdout).toMatch(/^[ -~\n]*$/)
  })

  it('prints every field as a column in a pipe', async () => {
    const { stdout } = await dead(['groups'])
    expect(stdout).toMatch(/^Dead +Last 24 h +First +Last +State +Group +Failures +Error +Jobs +Tenants +Title\n/)
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
  })

  it('has pages, and prints the groups as JSON', async () => {
    const { stdout } = await dead(['groups', '--limit', '1', '--json'])
    const { data, page } = JSON.parse(stdout) as { data: ErrorGroupView[]; page: { next?: string } }
    expect(data).toMatchObject([{ dead: 12, names: ['send-email'], state: 'open' }])
    const next = await dead(['groups', '--cursor', page.next!, '--json'])
    expect((JSON.parse(next.stdout) as { data: unknown[] }).data).toHaveLength(2)
  })

  it('reports that there are no error groups', async () => {
    await Promise.all([...letters.mails, ...letters.syncs, letters.unknown].map(id => chronos.jobs.delete(id)))
    const none = { code: 0, stdout: '' }
    expect(await dead(['groups'])).toEqual({ ...none, stderr: 'no dead jobs\n' })
    expect(await dead(['groups', '--state', 'ignored'])).toEqual({ ...none, stderr: 'no error group is ignored\n' })
  })

  it('shows a long name completely, on its own line if it does not fit', async () => {
    const fingerprint = 'the-accounting-service-of-the-other-department-is-down-again'
    const book = defineJob({
      name: 'book',
      fingerprint,
      run() {
        throw new PermanentError('no answer')
      },
    })
    const died = new Promise<void>(resolve => chronos.on('job.dead', () => resolve()))
    await chronos.enqueue(book, undefined)
    const worker = chronos.work([book], { signals: false })
    await died
    await worker.stop()
    const { stdout } = await dead(['groups'], TERMINAL)
    expect(tooWide(stdout)).toEqual([])
    expect(stdout.replace(/\n +/g, ' ')).toContain(`group ${fingerprint}`)
  })

  it('shows one error of several tenants once, with its dead jobs by tenant', async () => {
    const book = defineJob({
      name: 'book',
      fingerprint: 'ledger-closed',
      run() {
        throw new PermanentError('no answer')
      },
    })
    const tenants = ['acme', 'acme', 'acme', 'globex', 'globex', 'initech', 'initech', 'hooli', undefined]
    let left = tenants.length
    const died = new Promise<void>(resolve => chronos.on('job.dead', () => --left === 0 && resolve()))
    for (const tenantId of tenants) await chronos.enqueue(book, undefined, tenantId === undefined ? {} : { tenantId })
    const worker = chronos.work([book], { signals: false })
    await died
    await worker.stop()
    const rows = (await dead(['groups'])).stdout.split('\n').filter(line => line.includes('ledger-closed'))
    expect(rows).toEqual([expect.stringMatching(/^ +9 .* acme 3, (globex|initech) 2, (globex|initech) 2, 2 more +no/)])
    expect((await dead(['group', 'ledger-closed'])).stdout).toContain('acme 3,')
    const { stderr } = await dead(['group', 'ledger-closed', '--tenant', 'globex'])
    expect(stderr).toContain('dead redrive --group ledger-closed --tenant globex --dry-run')
    const own = (await dead(['groups', '--tenant', 'globex'])).stdout.trimEnd().split('\n')
    expect(own.slice(1)).toEqual([expect.stringMatching(/^ +2 .* globex +no answer/)])
  })
})

describe('dead group', () => {
  it('shows a group with its newest jobs, and suggests commands', async () => {
    const { code, stdout, stderr } = await dead(['group', await mailGroup()], TERMINAL)
    expect([code, tooWide(stdout)]).toEqual([0, []])
    expect(stdout).toMatch(/^the mailbox of "<id>" does not exist\n■ open {2}[0-9a-f]{16}\n/)
    expect(stdout).toContain('  count     12 dead now; 12 failed runs, 12 deaths in total\n')
    expect(stdout).toMatch(/ {2}48 h {6}·+█·+ up to 12 per hour\n/)
    expect(stdout).toContain(letters.mails.at(-1))
    expect(stderr).toContain('chronos dead redrive --group')
  })

  it.each<[name: string, state: string, hint: string]>([
    ['resolve', 'resolved', 'if it is seen again, it becomes regressed\n'],
    ['ignore', 'ignored', '`chronos dead groups --all` still shows it\n'],
    ['reopen', 'open', '`chronos dead groups` shows it again\n'],
  ])('is changed by %s', async (name, state, hint) => {
    const fingerprint = await mailGroup()
    expect(await dead([name, fingerprint])).toEqual({
      code: 0,
      stdout: `group ${fingerprint} is ${state}: the mailbox of "<id>" does not exist\n`,
      stderr: hint,
    })
    expect(await chronos.dead.group(fingerprint)).toMatchObject({ state })
  })

  it('exits with 3 if the group does not exist', async () => {
    const { code, stderr } = await dead(['group', 'missing'])
    expect(code).toBe(3)
    expect(stderr).toContain('there is no error group "missing"')
    expect((await dead(['resolve', 'missing'])).code).toBe(3)
  })
})

describe('decisions about dead jobs', () => {
  it.each([
    ['acknowledge', 'acknowledged'],
    ['discard', 'discarded'],
  ])('%s only counts without --yes', async (name, done) => {
    const refused = await dead([name, '--queue', 'mail'])
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain(`12 dead jobs would be ${done}; add --yes --at-most 12 to confirm, or --dry-run`)
    const fewer = await dead([name, '--queue', 'mail', '--yes', '--at-most', '11', '--json'])
    expect([fewer.code, fewer.stdout]).toEqual([5, ''])
    expect(fewer.stderr).toContain(`dead.${name}: 12 jobs match, and atMost is 11; nothing was changed`)
    const tried = await dead([name, '--queue', 'mail', '--dry-run', '--yes'])
    expect(tried.stdout.trimEnd().split('\n')).toHaveLength(6)
    expect(tried.stderr).toBe(`12 dead jobs would be ${done}; nothing was changed\n`)
    expect((await dead([name, '--queue', 'mail', '--yes'])).stdout).toBe(`12 dead jobs ${done}\n`)
    expect((await dead([name, '--queue', 'mail', '--yes', '--json'])).stdout).toContain('"changed": 0')
  })

  it('acknowledge keeps jobs dead, discard records a reason', async () => {
    const [first, second] = letters.mails
    expect((await dead(['acknowledge', first!])).stdout).toBe('1 dead job acknowledged\n')
    expect((await dead(['discard', second!])).stdout).toBe('1 dead job discarded\n')
    expect(await chronos.jobs.get(first!)).toMatchObject({ state: 'dead', reason: 'permanent' })
    expect(await chronos.jobs.get(second!)).toMatchObject({ state: 'dead', reason: 'discarded' })
  })

  it.each<[argv: (letters: DeadLetters) => string[], exitCode: number, words: string]>([
    [() => ['discard'], 2, 'give ids, a filter such as --group or --queue, or --all'],
    [({ mails }) => ['discard', mails[0]!, '--queue', 'mail'], 2, 'give either ids or a filter'],
    [({ succeeded }) => ['discard', succeeded], 4, 'is succeeded, not dead'],
    [() => ['acknowledge', 'missing'], 3, 'there is no job "missing"'],
    [() => ['groups', '--state', 'opne'], 2, '--state: there is no "opne"; did you mean "open"?'],
    [() => ['redirve'], 2, '(Did you mean redrive?)'],
    [() => ['list', '--quue', 'x'], 2, '(Did you mean --queue?)'],
  ])('rejects invalid input', async (argv, exitCode, words) => {
    const { code, stdout, stderr } = await dead(argv(letters))
    expect([code, stdout]).toEqual([exitCode, ''])
    expect(stderr).toContain(words)
  })
})
