import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { IntegrityReport } from '../../../src/engine/upkeep/integrity.js'
import { createChronos } from '../../../src/index.js'
import { loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../support/postgres.js'
import { type Lives, live } from '../lives.js'
import { type Said, type Surroundings, say } from '../memory-io.js'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  path = join(folder, 'chronos.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
afterAll(dropSchemas)

const TERMINAL = { isTTY: true, columns: 80, env: { NO_COLOR: '1' } } as const
const verify = (argv: readonly string[] = [], around?: Surroundings): Promise<Said> =>
  say(['verify', ...argv, '--store', `sqlite:${path}`], around)

/** Changes the file as a database tool would. */
async function alter(statement: string): Promise<void> {
  const database = (await loadDriver()).open(path)
  database.exec(statement)
  database.close()
}

describe('verify', () => {
  it('accounts for every job', async () => {
    await live(path)
    const { code, stdout, stderr } = await verify([], TERMINAL)
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'Queue       Enqueued  Waiting  Running  Succeeded  Dead  Cancelled  Removed',
        '✓ default          4        2        0          0     1          1        0',
        '✓ payments         1        0        0          1     0          0        0',
        '',
        'OK: all 5 enqueued jobs are accounted for.',
        '',
      ].join('\n'),
    )
    expect(stderr).toMatch(/^as of [\d-]+ [\d:.]+ UTC\n$/)
  })

  it('shows the verdict as a word if the terminal is wide enough', async () => {
    await live(path)
    const { stdout } = await verify()
    expect(stdout).toMatch(/^Queue .* Removed {2}Verdict\n✓ default .* 0 {2}ok\n/)
  })

  it('passes on a store without jobs', async () => {
    await say(['migrate', '--store', `sqlite:${path}`])
    expect(await verify()).toMatchObject({ code: 0, stdout: 'OK: no job was ever enqueued.\n' })
  })

  it('counts removed jobs as accounted for', async () => {
    const { dead }: Lives = await live(path)
    await say(['jobs', 'delete', dead, '--store', `sqlite:${path}`])
    const { code, stdout } = await verify(['--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout) as IntegrityReport).toMatchObject({
      isSound: true,
      queues: [{ removed: 1 }, { removed: 0 }],
    })
  })

  it('names a job that was deleted outside Chronos, and exits with 8', async () => {
    const { scheduled } = await live(path)
    await alter(`DELETE FROM jobs WHERE name = 'weekly-digest' AND state = 'waiting'`)
    const { code, stdout } = await verify([], TERMINAL)
    expect(code).toBe(8)
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([])
    expect(stdout).toMatch(/^✗ default +4 +1 +0 +0 +1 +1 +0$/m)
    expect(stdout).toContain(`✗ queue default: job ${scheduled} is missing: its row\n  was deleted outside Chronos\n`)
    expect(stdout).toContain('FAILED: 1 queue does not balance.\n')
  })

  it('names jobs with inconsistent records', async () => {
    const { succeeded } = await live(path)
    // The last run of a succeeded job is stored with the job itself.
    await alter(`UPDATE jobs SET ran_token = NULL WHERE state = 'succeeded'`)
    const { code, stdout } = await verify()
    expect(code).toBe(8)
    expect(stdout).toContain(
      `✗ job ${succeeded}: the job succeeded, but generation 1 has 0 succeeded runs (success-runs)\n`,
    )
    expect(stdout).toMatch(/FAILED: \d jobs? with inconsistent records\.\n/)
  })

  it('on PostgreSQL names a row that was deleted outside Chronos', async () => {
    const schema = freshSchema()
    const url = new URL(await postgresUrl())
    url.searchParams.set('schema', schema)
    const chronos = createChronos({ store: url.href, log: false })
    const [, lost] = await chronos.enqueueMany('send-email', [1, 2, 3], { queue: 'mail' })
    await chronos.close()
    expect(await say(['verify', '--store', url.href])).toMatchObject({ code: 0 })
    await sql(`DELETE FROM ${schema}.jobs WHERE id = $1`, [lost!.id])
    const { code, stdout } = await say(['verify', '--store', url.href])
    expect(code).toBe(8)
    expect(stdout).toContain(`✗ queue mail: job ${lost!.id} is missing: its row was deleted outside Chronos\n`)
  })
})
