import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'
import { say } from '../memory-io.js'

const COMMANDS = [
  [['enqueue', 'mail', '--retry', '{"maxRetries":"x"}'], 'maxRetries: expected a whole number from 0 to 1000, got "x"'],
  [['enqueue', 'mail', '--retry', '{"backoff":{"type":"nope"}}'], 'backoff.type: expected one of "exponential"'],
  [['enqueue', 'mail', '--priority', '12'], 'priority: expected a whole number from 0 to 9, got 12'],
  [['queues', 'set', 'mail', '--retry', '{"maxRetries":"x"}'], 'maxRetries: expected a whole number from 0 to 1000'],
  [['jobs', 'get', 'nosuch'], 'there is no job "nosuch"'],
] as const

it.each(COMMANDS)('%j reports the same error on a store and on a server', async (argv, says) => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-errors-'))
  const store = `sqlite:${join(folder, 'chronos.db')}`
  const chronos = createChronos({ store, log: false })
  await chronos.enqueue('mail', 1, { queue: 'mail' })
  const server = createServer(chronos, { log: false, dashboard: false, maintenance: false })
  const { url } = await server.listen({ port: 0 })
  onTestFinished(async () => {
    await server.close()
    await chronos.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const here = await say([...argv, '--store', store])
  const there = await say([...argv, '--url', url])
  // The server names the place in the request, as a JSON pointer.
  const dotted = there.stderr.replace(/(?<=[/\w])\/(?=\w)/g, '.')
  expect([here.code, here.stderr]).toEqual([there.code, expect.stringContaining(says)])
  expect(dotted).toContain(says)
})

it('jobs list leaves webhook deliveries out unless they are asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-internal-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${join(folder, 'chronos.db')}`
  const chronos = createChronos({ store, log: false, egress: { allow: ['loopback'] } })
  const { id } = await chronos.enqueue('mail', 1, { webhook: 'http://127.0.0.1:9/hook' })
  await chronos.jobs.cancel(id)
  await chronos.close()
  const listed = async (...more: string[]): Promise<number> =>
    JSON.parse((await say(['jobs', 'list', '--json', '--store', store, ...more])).stdout).data.length
  expect(await listed()).toBe(1)
  expect(await listed('--internal')).toBe(2)
  expect(await listed('--queue', 'chronos:deliveries')).toBe(1)
})
