import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NameList } from '../../../../src/engine/names/view.js'
import { createChronos, defineJob, PermanentError } from '../../../../src/index.js'
import { say } from '../../memory-io.js'

let folder: string
let store: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  await say(['migrate', '--store', store])
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const terminal = { isTTY: true, columns: 130, env: { NO_COLOR: '1' } } as const

/** One job that succeeds and two that die. */
async function lived(): Promise<void> {
  const chronos = createChronos({ store, log: false })
  const bill = defineJob({
    name: 'bill',
    queue: 'office',
    run: (isGood: boolean) => {
      if (!isGood) throw new PermanentError('no money')
    },
  })
  let ended = 0
  const over = new Promise<void>(resolve => {
    for (const event of ['job.succeeded', 'job.dead'] as const)
      chronos.on(event, () => void (++ended === 3 && resolve()))
  })
  await chronos.enqueueMany(bill, [true, false, false])
  chronos.work([bill], { queues: ['office'], signals: false })
  await over
  await chronos.close()
}

describe('names', () => {
  it('are reported as missing if nothing happened', async () => {
    const { code, stdout, stderr } = await say(['names', 'list', '--store', store])
    expect([code, stdout, stderr]).toEqual([0, '', 'no job names: no job was enqueued, run or ended in this time\n'])
  })

  it('are listed with runs, failures and percentiles', async () => {
    await lived()
    const { stdout, stderr } = await say(['names', 'list', '--store', store], terminal)
    expect(stdout).toMatch(/^Name +Runs +Rate +Failed +Dead +Run p50 +p95 +p99 +Wait p50 +p95 +Queues\n/)
    expect(stdout).toMatch(/^bill +3 +\d+\.\d\/h +67 % +2 +\d+m?s /m)
    expect(stderr).toBe('1 job name\n')
    const { stdout: json } = await say(['names', 'list', '--from', '2h', '--json', '--store', store])
    expect((JSON.parse(json) as NameList).data).toMatchObject([
      { name: 'bill', started: 3, failed: 2, queues: ['office'] },
    ])
  })

  it('are shown with queues, errors and slowest runs', async () => {
    await lived()
    const { stdout } = await say(['names', 'show', 'bill', '--store', store], terminal)
    expect(stdout).toMatch(/^ {2}failed +2 \(67 %\), 0 retries, 2 dead$/m)
    expect(stdout).toMatch(/^ {2}run time +p50 .*, p95 .*, p99 /m)
    for (const part of ['Queues', 'Top errors', 'Slowest runs']) expect(stdout).toContain(`\n${part}\n`)
    expect(stdout).toMatch(/^ *2 +\S+ +no money$/m)
    const unknown = await say(['names', 'show', 'bil', '--store', store])
    expect(unknown.code).not.toBe(0)
    expect(unknown.stderr).toContain('did you mean "bill"?')
  })
})
