import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Lives, live } from '../lives.js'
import { say } from '../memory-io.js'

let folder: string
let lives: Lives
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-prune-'))
  lives = await live(join(folder, 'chronos.db'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const store = (): string => `sqlite:${join(folder, 'chronos.db')}`
const prune = (env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
  say(['prune', '--store', store(), ...flags], { env, folder })

async function left(): Promise<readonly string[]> {
  const { stdout } = await say(['jobs', 'list', '--json', '--store', store()])
  return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id)
}

describe('prune', () => {
  it('only counts without --yes', async () => {
    expect(await prune({}, '--succeeded', '7d', '--dead', '7d')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: prune: 1 succeeded job, 1 dead job would be deleted; add --yes to confirm, or --dry-run (INVALID_OPTION)\n',
    })
    expect((await prune({}, '--succeeded', '7d', '--dry-run')).stdout).toBe('1 succeeded job would be deleted\n')
    expect(await left()).toEqual(lives.all)
  })

  it('deletes only jobs that ended before the given age', async () => {
    const { code, stdout } = await prune({}, '--succeeded', '7d', '--cancelled', '7d', '--yes', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ removed: { succeeded: 1, cancelled: 1, dead: 0 } })
    expect(await left()).toEqual([lives.scheduled, lives.retrying, lives.dead])
    expect((await say(['verify', '--store', store()])).code).toBe(0)
  })

  it('keeps newer jobs', async () => {
    expect((await prune({}, '--succeeded', '1800d', '--yes')).stdout).toBe('0 jobs deleted\n')
    expect(await left()).toEqual(lives.all)
  })

  it('uses the configured retention if no age is given', async () => {
    const env = { CHRONOS_RETENTION_DEAD: '7d', CHRONOS_RETENTION_SUCCEEDED: 'false' }
    expect((await prune(env, '--yes')).stdout).toBe('1 job deleted\n')
    expect(await left()).toEqual(lives.all.filter(id => id !== lives.dead))
  })

  it('requires an age if none is configured', async () => {
    const { code, stderr } = await prune({}, '--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('give an age such as --succeeded 7d')])
  })

  it('rejects an invalid age', async () => {
    const { code, stderr } = await prune({}, '--dead', 'old', '--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('prune.dead: expected a duration')])
  })
})
