import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { live } from '../lives.js'
import { say } from '../memory-io.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-backup-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const backup = (file: string, ...flags: readonly string[]) =>
  say(['backup', file, '--store', `sqlite:${at('chronos.db')}`, ...flags])

describe('backup', () => {
  it('copies the whole file', async () => {
    const { all } = await live(at('chronos.db'))
    const { code, stdout } = await backup(at('copy.db'), '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ to: at('copy.db'), jobs: 5, queues: 2 })
    const { stdout: listed } = await say(['jobs', 'list', '--json', '--store', `sqlite:${at('copy.db')}`])
    expect((JSON.parse(listed) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(all)
  })

  it('makes a consistent copy while other processes write', async () => {
    const chronos = createChronos({ store: `sqlite:${at('chronos.db')}`, log: false })
    let isOver = false
    let written = 0
    await chronos.enqueueMany(
      'before',
      Array.from({ length: 100 }, (_, i) => i),
    )
    const writing = (async () => {
      while (!isOver) {
        await chronos.enqueueMany(
          'during',
          Array.from({ length: 50 }, (_, i) => i),
        )
        written += 50
      }
    })()
    try {
      const { code, stdout } = await backup(at('copy.db'), '--json')
      expect(code).toBe(0)
      expect((JSON.parse(stdout) as { jobs: number }).jobs).toBeGreaterThanOrEqual(100)
    } finally {
      isOver = true
      await writing
      await chronos.close()
    }
    expect(written).toBeGreaterThan(0)
    const verified = await say(['verify', '--store', `sqlite:${at('copy.db')}`])
    expect(verified.code).toBe(0)
  })

  it('is readable only by its owner, and leaves no other files', async () => {
    await live(at('chronos.db'))
    await backup(at('copy.db'))
    expect(statSync(at('copy.db')).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).filter(name => name.startsWith('copy'))).toEqual(['copy.db'])
  })

  it('overwrites an existing file only if requested', async () => {
    await live(at('chronos.db'))
    writeFileSync(at('copy.db'), 'precious')
    const refused = await backup(at('copy.db'))
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('already exists; name another file, or replace it with --force')
    expect((await backup(at('copy.db'), '--force')).code).toBe(0)
    expect(statSync(at('copy.db')).size).toBeGreaterThan(1_000)
  })

  it.each([
    ['chronos.db', 'is the store itself'],
    ['none/copy.db', 'no folder'],
    ['.', 'is not a file'],
  ])('cannot be written to %s', async (name, words) => {
    await live(at('chronos.db'))
    const { code, stderr } = await backup(at(name), '--force')
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })

  it('deletes a copy that fails the integrity check', async () => {
    await live(at('chronos.db'))
    const db = (await loadDriver()).open(at('chronos.db'))
    db.exec("DELETE FROM jobs WHERE state = 'cancelled'")
    db.close()
    const { code, stderr } = await backup(at('copy.db'))
    expect([code, stderr]).toEqual([6, expect.stringContaining('the copy failed verification and was deleted')])
    expect(existsSync(at('copy.db'))).toBe(false)
    expect(readdirSync(folder).filter(name => name.includes('part'))).toEqual([])
  })

  it('suggests the command for PostgreSQL, without the password', async () => {
    const { code, stderr } = await say(['backup', 'x.dump', '--store', 'postgres://u:secret@h/d?schema=jobs'])
    expect(code).toBe(2)
    expect(stderr).toContain("use `pg_dump --format=custom --schema=jobs --file=x.dump 'postgres://u@h/d'`")
  })

  it('is rejected through a server', async () => {
    const { code, stderr } = await say(['backup', 'x.db'], { env: { CHRONOS_URL: 'http://127.0.0.1:1' } })
    expect([code, stderr]).toEqual([2, expect.stringContaining('backup does not work through a server')])
  })
})
