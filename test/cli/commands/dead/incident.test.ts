import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { oneLine } from '../../../../src/cli/output/width.js'
import type { IncidentReport } from '../../../../src/core/incident/report.js'
import { say } from '../../memory-io.js'
import { die } from './dead-letters.js'

const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
const store = ['--store', `sqlite:${join(folder, 'chronos.db')}`]
beforeAll(async () => {
  await die(join(folder, 'chronos.db'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('incident', () => {
  it('prints a report, and the same as JSON', async () => {
    const { code, stdout } = await say(['incident', '--from', '2d', ...store])
    expect(code).toBe(0)
    const report = JSON.parse((await say(['incident', '--from', '2d', '--json', ...store])).stdout) as IncidentReport
    expect(report.errors.length).toBeGreaterThan(0)
    for (const line of report.summary) expect(stdout).toContain(oneLine(line))
    for (const { text } of report.timeline) expect(stdout).toContain(oneLine(text))
    for (const { fingerprint } of report.errors) expect(stdout).toContain(fingerprint)
    expect(stdout).toContain('Timeline')
    expect(report.outcomes.dead.value).toBe(report.errors.reduce((sum, { deaths }) => sum + deaths, 0))
  })

  it('takes a time of day as the latest one in UTC', async () => {
    const { stdout } = await say(['incident', '--from', '00:00', '--json', ...store])
    const { from, to } = JSON.parse(stdout) as IncidentReport
    expect(from).toMatch(/T00:00:00\.000Z$/)
    expect(Date.parse(to) - Date.parse(from)).toBeLessThanOrEqual(86_460_000)
  })

  it.each([
    [['--from', '25:00'], '--from: expected a time'],
    [['--from', '1h', '--to', '2h'], 'from must be before to'],
  ])('refuses %j', async (flags, words) => {
    const { code, stderr } = await say(['incident', ...flags, ...store])
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })
})

describe('dead assign and note', () => {
  it('are shown with the group', async () => {
    const groups = JSON.parse((await say(['dead', 'groups', '--json', ...store])).stdout)
    const fingerprint = groups.data[0].fingerprint as string
    expect((await say(['dead', 'assign', fingerprint, '--to', 'ann', ...store])).stdout).toContain('is assigned to ann')
    expect((await say(['dead', 'note', fingerprint, '--text', 'known: TICKET-7', ...store])).stdout).toContain(
      'has 1 note',
    )
    const { stdout } = await say(['dead', 'group', fingerprint, ...store])
    expect(stdout).toMatch(/assignee +ann/)
    expect(stdout).toContain('known: TICKET-7')
    expect((await say(['dead', 'assign', fingerprint, ...store])).stdout).toContain('has no assignee')
  })
})
