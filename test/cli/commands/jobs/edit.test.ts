import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChronos } from '../../../../src/index.js'
import { type Lives, live } from '../../lives.js'
import { type Said, say } from '../../memory-io.js'

let folder: string
let store: string
let lives: Lives
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-edit-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  lives = await live(join(folder, 'chronos.db'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const edit = (id: string, ...flags: readonly string[]): Promise<Said> =>
  say(['jobs', 'edit', id, ...flags, '--store', store])

describe('jobs edit', () => {
  it('changes the given fields, and lists them', async () => {
    const { code, stdout, stderr } = await edit(lives.scheduled, '--priority', '9', '--queue', 'slow', '--tag', 'a')
    expect([code, stderr]).toEqual([0, 'changed: queue, priority, tags\n'])
    expect(stdout).toContain('weekly-digest')
    const job = JSON.parse((await edit(lives.scheduled, '--payload', '{"a": 1}', '--json')).stdout) as object
    expect(job).toMatchObject({ priority: 9, queue: 'slow', tags: ['a'], payload: { a: 1 } })
  })

  it('removes the overrides of a job', async () => {
    await edit(lives.scheduled, '--retry', '{"maxRetries": 9}', '--tag', 'a')
    const { stdout } = await edit(lives.scheduled, '--retry', 'none', '--tag', 'none', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ maxRetries: 3, tags: [] })
  })

  it.each([
    [['--priority', '10'], 2, 'priority: expected a whole number from 0 to 9, got 10'],
    [[], 2, 'nothing to change'],
    [['--delay', '1m', '--run-at', '2099-01-01T00:00Z'], 2, 'give delay or runAt, not both'],
    [['--priority', '1', '--if-version', 'old'], 5, 'it has changed since; read it again'],
  ])('rejects %j', async (flags, code, words) => {
    const said = await edit(lives.scheduled, ...flags)
    expect([said.code, said.stderr]).toEqual([code, expect.stringContaining(words)])
  })

  it('rejects jobs that are not waiting', async () => {
    const { code, stderr } = await edit(lives.dead, '--priority', '1')
    expect([code, stderr]).toEqual([4, expect.stringContaining('only a waiting job can be edited')])
  })
})

describe('a command on many jobs', () => {
  it('shows its progress on a terminal, and clears it at the end', async () => {
    const chronos = createChronos({ store, log: false })
    await chronos.enqueueMany(
      'many',
      Array.from({ length: 250 }, (_, n) => n),
    )
    await chronos.close()
    const argv = ['jobs', 'cancel', '--name', 'many', '--yes', '--store', store]
    const { code, stdout, stderr } = await say(argv, { isTTY: true, env: { NO_COLOR: '1' } })
    expect([code, stdout]).toEqual([0, '250 jobs cancelled\n'])
    expect(stderr).toContain(`${'█'.repeat(6)}${'░'.repeat(24)} 50 of 250 cancelled`)
    expect(stderr).toContain(`${'█'.repeat(30)} 250 of 250 cancelled`)
    expect(stderr.endsWith('\r\u001b[K')).toBe(true)
  })
})
