import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { turn } from '../../../src/engine/time/system.js'
import type { WorkerView } from '../../../src/engine/worker/fleet.js'
import { createChronos, defineJob } from '../../../src/index.js'
import { sqlite } from '../../../src/sqlite.js'
import { say } from '../memory-io.js'

let folder: string
let store: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  await say(['migrate', '--store', store])
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('workers', () => {
  it('are reported as missing if there are none', async () => {
    expect(await say(['workers', '--store', store])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no workers: jobs wait until one is started\n',
    })
  })

  it('are listed with their queues and jobs until they stop', async () => {
    const chronos = createChronos({ store, log: false })
    const worker = chronos.work([defineJob({ name: 'send-email', run: () => 'sent' })], {
      queues: ['mail', 'slow'],
      concurrency: 7,
      signals: false,
    })
    while ((await chronos.workers()).length === 0) await turn()
    const { stdout, stderr } = await say(['workers', '--store', store], {
      isTTY: true,
      columns: 80,
      env: { NO_COLOR: '1' },
    })
    expect(stdout).toMatch(
      /^Id +State +Running +Started +Heartbeat\n[0-9a-f-]{36} {2}✓ alive +0\/7 +\d+s ago +\d+s ago\n/,
    )
    expect(stdout.replace(/\n +/g, ' ')).toContain(`, pid ${process.pid} · queues mail, slow · jobs send-email, `)
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([])
    expect(stderr).toBe('1 worker\n')
    const { stdout: json } = await say(['workers', '--json', '--store', store])
    expect((JSON.parse(json) as { data: WorkerView[] }).data).toMatchObject([
      { id: worker.id, state: 'alive', concurrency: 7, running: 0, queues: ['mail', 'slow'] },
    ])
    await chronos.close()
    expect((await say(['workers', '--store', store])).stderr).toContain('no workers')
  })

  it('are shown as silent after they were killed', async () => {
    const file = sqlite(join(folder, 'chronos.db'))
    const record = { id: 'w1', host: 'box', pid: 17, queues: ['default'], names: ['x'], concurrency: 1, running: 1 }
    const body = JSON.stringify({ ...record, startedAt: 0, seenAt: 1_000, beatMs: 10_000 })
    await file.putRecords([{ kind: 'worker', id: 'w1', body }])
    await file.close()
    const { stdout, stderr } = await say(['workers', '--store', store])
    expect(stdout).toMatch(/^w1 {2}\? silent +1\/1 +\d+d ago +\d+d ago +box +17 +default +x$/m)
    expect(stderr).toBe('1 worker, 1 silent\n')
  })
})
