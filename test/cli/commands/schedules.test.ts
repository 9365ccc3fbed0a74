import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Said, say } from '../memory-io.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const schedules = (...argv: string[]): Promise<Said> =>
  say(['schedules', ...argv, '--store', `sqlite:${join(folder, 'chronos.db')}`])

const DIGEST = ['put', 'digest', '--cron', '0 9 * * MON', '--tz', 'Europe/Paris', '--job', 'send-digest']

describe('schedules', () => {
  it('are put with every setting of their jobs', async () => {
    const flags = [
      '--depends-on',
      'bank',
      '--webhook',
      'https://a.example/done',
      '--max-retries',
      '2',
      '--tag',
      'nightly',
    ]
    const { code, stdout } = await schedules('put', 'close', '--every', '1h', '--job', 'close', ...flags, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      dependsOn: 'bank',
      webhook: 'https://a.example/done',
      retry: { maxRetries: 2 },
      tags: ['nightly'],
    })
  })

  it('are created, listed, paused, resumed, run and deleted', async () => {
    const made = await schedules(...DIGEST, '--payload', '{"list": "all"}', '--missed', 'all:3', '--tag', 'mail')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('creating a new store') })
    expect(made.stdout).toMatch(
      /^schedule digest is active: 0 9 \* \* MON \(Europe\/Paris\); next .* UTC \(version 1\)\n$/,
    )
    await schedules('put', 'ping', '--every', '90s', '--call', 'https://api.example.com/ping', '--overlap', 'allow')
    const { stdout, stderr } = await schedules('list')
    expect(stdout).toMatch(/^Schedule +State +When +Job +Next +Enqueued +Skipped +Missed$/m)
    expect(stdout).toMatch(/^digest +active +0 9 \* \* MON \(Europe\/Paris\) +send-digest +in .+ +0 +0 +0$/m)
    expect(stdout).toMatch(/^ping +active +every 90s +http +in 1m \d+s +0 +0 +0$/m)
    expect(stderr).toBe('2 schedules\n')
    expect((await schedules('pause', 'digest')).stdout).toContain('schedule digest is paused')
    expect(await schedules('pause', 'digest')).toMatchObject({ code: 4 })
    expect((await schedules('resume', 'digest')).stdout).toContain('schedule digest is active')
    const run = await schedules('run', 'digest')
    expect(run.stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect((await schedules('delete', 'digest')).stdout).toBe('schedule digest is deleted; its jobs continue\n')
    expect(await schedules('run', 'digest')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('there is no schedule "digest"'),
    })
  })

  it('warn that at-most-once jobs ignore the retries of their policy', async () => {
    await schedules(...DIGEST)
    const argv = ['put', 'pay', '--every', '1h', '--job', 'Pay Out', '--at-most-once', '--retry', 'conservative']
    const warning = 'an at-most-once job runs once and is never retried, so maxRetries 5 has no effect'
    expect(await schedules(...argv)).toMatchObject({ code: 0, stderr: `warning: ${warning}\n` })
    expect(JSON.parse((await schedules(...argv, '--json')).stdout)).toMatchObject({
      job: 'Pay Out',
      warnings: [warning],
    })
    expect((await schedules(...argv, '--retry', 'one-shot')).stderr).toBe('')
  })

  it('are printed as JSON with the fields of the library, and have a version', async () => {
    const { stdout } = await schedules(...DIGEST, '--json', '--once', '--at-most-once', '--if-version', '0')
    expect(JSON.parse(stdout)).toMatchObject({
      id: 'digest',
      version: 1,
      cron: '0 9 * * MON',
      timeZone: 'Europe/Paris',
      job: 'send-digest',
      recurring: false,
      delivery: 'at-most-once',
      overlap: 'skip',
    })
    expect(await schedules(...DIGEST, '--if-version', '7')).toMatchObject({ code: 5 })
    const listed = JSON.parse((await schedules('list', '--json')).stdout) as { data: unknown[] }
    expect(listed.data).toMatchObject([{ id: 'digest' }])
  })

  it.each([
    [['put', 's', '--cron', '0 0 31 2 *', '--job', 'j'], 'it never happens: there is no 31 February'],
    [['put', 's', '--cron', '* * * * *'], 'give job or http'],
    [
      ['put', 's', '--cron', '* * * * *', '--job', 'j', '--missed', 'sometimes'],
      'missed: expected one of "run-once", "skip", or { all: 5 }, got "sometimes"',
    ],
    [['put', 's', '--cron', '* * * * *', '--job', 'j', '--overlap', 'alow'], 'did you mean "allow"?'],
  ])('reject %j', async (argv, why) => {
    expect(await schedules(...argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
  })

  it('show the next occurrences of an expression, and the effect of daylight saving time', async () => {
    const zone = ['--tz', 'Europe/Paris', '--from', '2026-03-28T00:00Z', '--count', '3']
    const { code, stdout } = await say(['schedules', 'next', '30 2 * * *', ...zone])
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^Europe\/Paris +UTC +When/)
    expect(lines[1]).toMatch(/^2026-03-28 02:30:00\+01:00 +2026-03-28 01:30:00/)
    expect(lines[2]).toMatch(/^2026-03-29 03:00:00\+02:00 +2026-03-29 01:00:00 .*clocks go forward 1h$/)
    const back = await say([
      'schedules',
      'next',
      '0 12 * * *',
      '--tz',
      'America/New_York',
      '--from',
      '2026-10-31T20:00Z',
    ])
    expect(back.stdout).toContain('clocks go back 1h')
    const json = await say(['schedules', 'next', '90s', '--from', '2026-01-01T00:00Z', '--count', '2', '--json'])
    expect(JSON.parse(json.stdout)).toEqual({
      data: [
        { at: '2026-01-01T00:01:30.000Z', local: '2026-01-01T00:01:30Z' },
        { at: '2026-01-01T00:03:00.000Z', local: '2026-01-01T00:03:00Z' },
      ],
    })
    expect(await say(['schedules', 'next', '61 * * * *'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('minute 61 does not exist; it goes from 0 to 59'),
    })
  })
})
