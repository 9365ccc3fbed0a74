import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChronos } from '../../../../src/index.js'
import { live } from '../../lives.js'
import { type Said, say } from '../../memory-io.js'

let folder: string
let store: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  await live(join(folder, 'chronos.db'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const queues = (...argv: string[]): Promise<Said> => say(['queues', ...argv, '--store', store])

describe('queues', () => {
  it('are listed with their jobs', async () => {
    const { code, stdout, stderr } = await queues('list')
    expect({ code, lines: stdout.split('\n'), stderr }).toEqual({
      code: 0,
      lines: [
        'Queue     State      Queued  Retrying  Blocked  Scheduled  Running  Dead  Oldest  Policy override',
        expect.stringMatching(/^default {3}no worker {7}0 {9}1 {8}0 {10}1 {8}0 {5}1 {4}\d+d {2}-$/),
        'payments  open            0         0        0          0        0     0       -  -',
        '',
      ],
      stderr: '2 queues\n',
    })
  })

  it('are listed in pages, and found by a part of their name', async () => {
    const page = await queues('list', '--limit', '1')
    expect(page.stdout).toContain('default')
    expect(page.stderr).toBe('1 queue\nmore: --cursor payments\n')
    expect((await queues('list', '--cursor', 'payments')).stderr).toBe('1 queue\n')
    expect((await queues('list', '--find', 'PAY', '--json')).stdout).toContain('"payments"')
    expect((await queues('list', '--find', 'none')).stderr).toBe('no queues\n')
  })

  it('are deleted only without jobs', async () => {
    const refused = await queues('delete', 'default')
    expect([refused.code, refused.stdout]).toEqual([expect.any(Number), ''])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toMatch(/queue "default" has \d+ jobs and can't be deleted/)
    await queues('set', 'spare', '--retry', 'none')
    expect((await queues('delete', 'spare')).stdout).toBe('queue spare is deleted\n')
    expect((await queues('list')).stderr).toBe('2 queues\n')
  })

  it('are paused and resumed', async () => {
    expect((await queues('pause', 'payments')).stdout).toBe('queue payments is paused; no policy override\n')
    expect((await queues('list')).stdout).toMatch(/^payments {2}paused/m)
    expect((await queues('resume', 'payments')).stdout).toBe('queue payments is open; no policy override\n')
  })

  it('get a policy override, by the name of a preset or as JSON, and lose it', async () => {
    expect((await queues('set', 'payments', '--retry', 'financial')).stdout).toBe(
      'queue payments is open; policy override: exponential 1s ×2, jitter full, cap 1m, 5 retries\n',
    )
    const { stdout } = await queues('set', 'payments', '--retry', '{"maxRetries": 8}', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ name: 'payments', paused: false, retry: { maxRetries: 8 } })
    const listed = JSON.parse((await queues('list', '--json')).stdout) as { data: { name: string }[] }
    expect(listed.data).toMatchObject([
      { name: 'default', counts: { retrying: { value: 1, relation: 'exact' }, dead: { value: 1 } } },
      { name: 'payments', retry: { maxRetries: 8 } },
    ])
    expect((await queues('set', 'payments', '--reset')).stdout).toContain('no policy override')
    const chronos = createChronos({ store, log: false })
    expect(await chronos.queues.list()).toEqual([
      { name: 'default', paused: false },
      { name: 'payments', paused: false },
    ])
    await chronos.close()
  })

  it.each([
    [['set', 'payments'], 'give either --retry with a policy, or --reset to remove it'],
    [['set', 'payments', '--retry', 'none', '--reset'], 'give either --retry with a policy, or --reset'],
    [['set', 'payments', '--retry', 'finacial'], '--retry: expected a preset (standard'],
    [['set', 'payments', '--retry', '{"maxRetries": -1}'], 'maxRetries: expected a'],
    [['pause', 'two words'], 'expected 1 to 128 letters'],
    [['puase', 'payments'], '(Did you mean pause?)'],
  ])('reject %j', async (argv, words) => {
    const { code, stdout, stderr } = await queues(...argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words)
  })

  it('show their limits without a server', async () => {
    await queues('limits', 'crm', '--partitions', 'concurrency=2')
    expect(await queues('limits', 'crm')).toEqual({
      code: 0,
      stdout: 'queue crm: no limit of its own (set by an operator)\neach partition: at most 2 jobs at a time\n',
      stderr: 'no partitions\n',
    })
  })
})
