import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { connected, type McpClient } from '../../server/mcp/client.js'
import { type Lives, live } from '../lives.js'
import { say } from '../memory-io.js'
import { MAIN, start } from '../process.js'

let folder: string
let store: string
let lives: Lives
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-mcp-'))
  lives = await live(join(folder, 'lives.db'))
})
beforeEach(() => {
  copyFileSync(join(folder, 'lives.db'), join(folder, 'chronos.db'))
  store = `sqlite:${join(folder, 'chronos.db')}`
})
afterEach(() => {
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `chronos.db${end}`), { force: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** `chronos mcp` in a process of its own, as an assistant starts it. */
function mcp(...args: readonly string[]): Promise<McpClient> {
  return connected(new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp', ...args], cwd: folder }))
}

describe('chronos mcp', () => {
  it('reads a store, and changes nothing without --allow-writes', async () => {
    const client = await mcp('--store', store)
    expect((await client.call('explain_job', { id: lives.dead })).text).toContain('warehouse said')
    expect((await client.call('verify_jobs')).data()).toMatchObject({ isSound: true })
    expect((await client.call('redrive_dead_letters', { filter: {}, dryRun: true })).data()).toMatchObject({
      count: { value: 1 },
    })
    expect((await client.call('redrive_dead_letters', { filter: {}, atMost: 1 })).text).toContain('--allow-writes')
    expect(await client.names()).not.toContain('pause_queue')
    expect((await client.call('pause_queue', { name: 'default' })).text).toContain('--allow-writes')
  })

  it('redrives after a dry run with --allow-writes, and names who did it', async () => {
    const client = await mcp('--store', store, '--allow-writes')
    expect((await client.call('redrive_dead_letters', { filter: {}, atMost: 2 })).text).toContain('counts 1 jobs now')
    const started = (await client.call('redrive_dead_letters', { filter: {}, atMost: 1 })).data()
    expect(started).toMatchObject({ state: 'canary', total: { value: 1 } })
    await client.close()
    const chronos = createChronos({ store, log: false })
    onTestFinished(() => chronos.close())
    expect(await chronos.redrives.list()).toMatchObject({ data: [{ id: started['id'] }] })
    const records = await (await chronos.store()).records('audit-log', { limit: 10 })
    expect(records.map(({ body }) => body).join()).toContain('(MCP)')
  })

  it('uses a server with the rights of its token', async () => {
    const token = 'the-token-of-the-admin'
    const viewer = 'the-token-of-a-viewer'
    const server = start(['serve', '--port', '0'], {
      CHRONOS_STORE: store,
      CHRONOS_TOKEN: token,
      CHRONOS_VIEWER_TOKEN: viewer,
    })
    onTestFinished(async () => {
      server.child.kill()
      await server.ended
    })
    const [, url = ''] = await server.said(/serving (\S+)/)
    const admin = await mcp('--url', url, '--token', token, '--allow-writes')
    expect((await admin.call('pause_queue', { name: 'payments' })).data()).toMatchObject({ paused: true })
    const reader = await mcp('--url', url, '--token', viewer, '--allow-writes')
    expect((await reader.call('get_job', { id: lives.dead })).data()).toMatchObject({ id: lives.dead, state: 'dead' })
    expect((await reader.call('resume_queue', { name: 'payments' })).text).toContain('role operator required')
  })

  it('ends when the client closes stdin', async () => {
    expect(await say(['mcp', '--store', store])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('ends on a signal', async () => {
    const child = spawn(process.execPath, [MAIN, 'mcp', '--store', store], { stdio: ['pipe', 'pipe', 'inherit'] })
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    expect(String(await once(child.stdout, 'data'))).toContain('"name":"chronos"')
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  })

  it('says what is missing without a store', async () => {
    const { code, stderr } = await say(['mcp', '--store', `sqlite:${join(folder, 'none.db')}`])
    expect([code, stderr]).toEqual([6, expect.stringContaining('no Chronos store')])
  })
})
