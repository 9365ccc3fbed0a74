import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Said, say } from '../memory-io.js'

let folder: string
let store: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const webhooks = (...argv: string[]): Promise<Said> => say(['webhooks', ...argv, '--store', store])

async function create(...more: string[]): Promise<{ readonly id: string; readonly secret: string }> {
  const said = await webhooks('create', 'https://example.com/hook', '--event', 'job.dead', ...more, '--json')
  expect(said.code).toBe(0)
  return JSON.parse(said.stdout) as { id: string; secret: string }
}

describe('webhooks', () => {
  it('are created, and show their secret once', async () => {
    const { code, stdout, stderr } = await webhooks('create', 'https://example.com/hook', '--event', 'job.dead')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/) })
    expect(stderr).toMatch(/created webhook endpoint wh_[0-9a-f]{32}; its secret is not shown again\n$/)
    const listed = await webhooks('list', '--json')
    expect(listed.stdout).not.toContain('whsec_')
  })

  it('are listed with their events', async () => {
    const { id } = await create('--event', 'job.succeeded', '--queue', 'payments', '--tenant', 'acme')
    const { stdout, stderr } = await webhooks('list')
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^Id +State +URL +Events +Only$/),
      `${id}  enabled  https://example.com/hook  job.dead, job.succeeded  queue payments; tenant acme`,
    ])
    expect(stderr).toBe('1 webhook endpoint\n')
  })

  it('are listed without the values of their query, which may be tokens', async () => {
    await webhooks('create', 'https://example.com/hook?token=s3cret&team=7', '--event', 'job.dead')
    const { stdout } = await webhooks('list')
    expect(stdout).toContain('https://example.com/hook?token=…&team=…')
    expect(stdout).not.toContain('s3cret')
  })

  it('are limited, when they are created and later', async () => {
    const { id } = await create('--concurrency', '3', '--rate', '600/m')
    const limit = async (...flags: string[]) => (await webhooks('limit', id, ...flags)).stdout
    const line = `webhook endpoint ${id}: at most`
    expect(await limit()).toBe(`${line} 3 jobs at a time, 600/m\n`)
    expect(await limit('--concurrency', '1')).toBe(`${line} 1 job at a time, 600/m\n`)
    expect(await limit('--concurrency', 'default', '--rate', 'default')).toBe(`${line} 10 jobs at a time\n`)
    expect(await webhooks('limit', id, '--concurrency', '1000')).toMatchObject({ code: 2 })
  })

  it('are disabled, enabled, tested and deleted', async () => {
    const { id } = await create()
    expect((await webhooks('disable', id)).stdout).toBe(`webhook endpoint ${id} is disabled\n`)
    expect((await webhooks('list')).stdout).toContain('disabled (by-hand)')
    expect(await webhooks('test', id)).toMatchObject({ code: 4 })
    expect((await webhooks('enable', id)).stdout).toBe(`webhook endpoint ${id} is enabled\n`)
    const delivery = (await webhooks('test', id)).stdout.trim()
    const deliveries = await webhooks('deliveries', id)
    expect(deliveries.stdout).toMatch(new RegExp(`^${delivery} +webhook.test +queued +0 of `, 'm'))
    expect(deliveries.stderr).toBe('1 delivery\n')
    expect((await webhooks('delete', id)).stdout).toBe(`webhook endpoint ${id} is deleted\n`)
    expect(await webhooks('deliveries', id)).toMatchObject({ code: 3 })
  })

  it('get a new secret', async () => {
    const { id, secret } = await create()
    const { stdout } = await webhooks('rotate-secret', id)
    expect(stdout).toMatch(/^whsec_/)
    expect(stdout.trim()).not.toBe(secret)
    const [view] = (JSON.parse((await webhooks('list', '--json')).stdout) as { data: { secrets: unknown[] }[] }).data
    expect(view!.secrets).toHaveLength(2)
  })

  it('redrive dead deliveries', async () => {
    const { id } = await create()
    const { code, stderr } = await webhooks('recover', id, '--since', '2026-01-01T00:00:00Z')
    expect(code).toBe(0)
    expect(stderr).toMatch(/^redriving 0 deliveries; follow it with `chronos redrives get \S+ --follow`\n$/)
  })

  it.each([
    [['create', 'https://example.com', '--event', 'job.died'], 2, 'did you mean "job.dead"?'],
    [['create', 'http://10.0.0.1/', '--event', 'job.dead'], 4, 'the egress rules do not allow this address'],
    [['create', 'https://example.com'], 2, "required option '--event <event>' not specified"],
  ])('reject %j', async (argv, code, words) => {
    await create()
    const said = await webhooks(...argv)
    expect(said.code).toBe(code)
    expect(said.stderr).toContain(words)
  })
})
