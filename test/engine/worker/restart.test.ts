import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { sqliteStore } from '../../../src/store/sqlite/store.js'
import { testChronos } from '../../../src/testing.js'

const retry = fixed({ delay: '10m', maxRetries: 3, jitter: 'none' })
const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE_MS = 60_000

/** A process with the file, which begins so many minutes after the first one. */
function process(path: string, minutes: number, run: (name: string) => void) {
  const jobs = ['mail', 'urgent'].map(name => defineJob({ name, retry, run: () => void run(name) }))
  const startAt = new Date(START + minutes * MINUTE_MS)
  return testChronos({
    jobs,
    startAt,
    work: { concurrency: 1 },
    store: clock => sqliteStore({ path, clock, dice: seededDice(minutes + 1) }),
  })
}

function fail(): void {
  throw new Error('no')
}

async function withFile(use: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-restart-'))
  try {
    await use(join(folder, 'chronos.db'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('R11: a retry survives the end of every process, and another worker takes it at its time', () =>
  withFile(async path => {
    const first = process(path, 0, fail)
    const { id } = await first.enqueue('mail', {})
    await first.advance('1m')
    const [attempt] = (await first.jobs.history(id)).data
    const { runAt } = (await first.jobs.get(id))!
    expect([attempt!.nextRunAt, runAt]).toEqual([runAt, new Date(START + 10 * MINUTE_MS).toISOString()])
    await first.close()

    const ran: string[] = []
    const second = process(path, 5, name => void ran.push(name))
    await second.advance('4m')
    expect(ran).toEqual([])
    await second.advance('2m')
    expect(ran).toEqual(['mail'])
    expect(await second.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
    const { data } = await second.jobs.history(id, { order: 'oldest' })
    expect(data[0]).toMatchObject({ label: 'Initial', status: 'failed', workerId: attempt!.workerId })
    await second.close()
  }))

test('R13: a retry keeps the priority of its job', () =>
  withFile(async path => {
    const first = process(path, 0, fail)
    await first.enqueue('mail', {})
    await first.enqueue('urgent', {}, { priority: 9 })
    await first.advance('1m')
    await first.close()

    const ran: string[] = []
    const second = process(path, 60, name => void ran.push(name))
    await second.advance('1m')
    expect(ran).toEqual(['urgent', 'mail'])
    await second.close()
  }))
