import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { say } from '../memory-io.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-tokens-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const path = (): string => join(folder, 'chronos.db')
const tokens = (...args: readonly string[]) => say(['tokens', ...args, '--store', `sqlite:${path()}`])

describe('tokens', () => {
  it('are shown once, and stored as a hash', async () => {
    const { code, stdout, stderr } = await tokens('create', 'deploy', '--role', 'operator')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^chr_[0-9a-f-]{36}_[0-9a-f]{64}\n$/)
    expect(stderr).toContain('(operator); it is not shown again')
    expect(readFileSync(path(), 'latin1')).not.toContain(stdout.trim().split('_')[2])
  })

  it('are listed with their roles, newest first', async () => {
    await tokens('create', 'deploy', '--role', 'operator')
    await tokens('create', 'acme', '--role', 'viewer', '--tenant', 'acme', '--expires-in', '90d')
    const { stdout } = await tokens('list', '--json')
    const { data } = JSON.parse(stdout) as { data: readonly object[] }
    expect(data).toMatchObject([
      { name: 'acme', role: 'viewer', tenantId: 'acme', expiresAt: expect.any(String) },
      { name: 'deploy', role: 'operator' },
    ])
    expect(stdout).not.toContain('hash')
    const shown = await tokens('list')
    expect(shown.stdout).toMatch(/acme +viewer +acme +never +in 89d\n/)
    expect(shown.stderr).toBe('2 tokens\n')
  })

  it('are revoked', async () => {
    const { stdout } = await tokens('create', 'deploy', '--role', 'admin', '--json')
    const { id } = JSON.parse(stdout) as { id: string }
    expect((await tokens('revoke', id)).stdout).toBe(`token ${id} is revoked\n`)
    expect((await tokens('list')).stderr).toBe('no tokens\n')
    expect((await tokens('revoke', id)).code).toBe(3)
  })

  it.each([
    [['create', 'x', '--role', 'root'], 'Allowed choices are viewer, operator, admin.'],
    [['create', 'x'], "required option '--role <role>' not specified"],
    [['create', 'x', '--role', 'admin', '--expires-in', 'soon'], 'token: expiresIn: expected a duration'],
  ])('are rejected with %j', async (args, words) => {
    const { code, stderr } = await tokens(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })
})
