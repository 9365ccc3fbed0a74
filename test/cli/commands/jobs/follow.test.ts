import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chronos, createChronos, defineJob, PermanentError } from '../../../../src/index.js'
import { createServer } from '../../../../src/server.js'
import { say } from '../../memory-io.js'

const importer = defineJob({
  name: 'import',
  retry: { maxRetries: 1, backoff: { type: 'fixed', delay: 1 }, jitter: 'none' },
  run(_: null, job) {
    job.log('opened the file', { attempt: job.attempt })
    if (job.attempt === 1) throw new Error('locked')
    return { imported: 2 }
  },
})
const refused = defineJob({
  name: 'refused',
  run(_: null) {
    throw new PermanentError('card declined')
  },
})

let chronos: Chronos
let close: () => Promise<void>
let places: Readonly<Record<'store' | 'server', readonly string[]>>

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  const store = `sqlite:${join(folder, 'chronos.db')}`
  chronos = createChronos({ store, log: false })
  chronos.work([importer, refused], { signals: false })
  const server = createServer(chronos, { log: false, dashboard: false })
  const { url } = await server.listen({ port: 0 })
  places = { store: ['--store', store], server: ['--url', url] }
  close = async () => {
    await server.close()
    await chronos.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

afterAll(() => close())

describe.each(['store', 'server'] as const)('jobs follow on a %s', place => {
  it('prints log lines, runs and the result, and exits with 0', async () => {
    const { id } = await chronos.enqueue(importer, null)
    const { code, stdout } = await say(['jobs', 'follow', id, ...places[place]])
    expect(code).toBe(0)
    const lines = stdout.replaceAll(/^[\d:.]+ {2}/gm, '').split('\n')
    expect(lines.slice(0, 5)).toEqual([
      'run 1  opened the file  {"attempt":1}',
      expect.stringMatching(/^run 1 {2}✗ failed {2}Initial, \d+ms: Error: locked → retry in 1ms$/),
      'run 2  opened the file  {"attempt":2}',
      expect.stringMatching(/^run 2 {2}✓ succeeded {2}Retry #1, \d+ms$/),
      '✓ succeeded  {"imported":2}',
    ])
  })

  it('prints one JSON document per line, continues after a cursor, and exits with 7 for a dead job', async () => {
    const { id } = await chronos.enqueue(refused, null)
    const { code, stdout } = await say(['jobs', 'follow', id, '--json', ...places[place]])
    expect(code).toBe(7)
    const updates = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(updates.map(({ type }) => type)).toEqual(['attempt', 'end'])
    expect(updates[1].job).toMatchObject({ id, state: 'dead', reason: 'permanent' })
    const rest = await say(['jobs', 'follow', id, '--cursor', updates[0].cursor, ...places[place]])
    expect(rest).toMatchObject({ code: 7, stdout: '■ dead  permanent: PermanentError: card declined\n' })
  })

  it('exits with 3 if there is no such job', async () => {
    const { code, stderr } = await say(['jobs', 'follow', '01890000-0000-7000-8000-000000000000', ...places[place]])
    expect([code, stderr]).toEqual([3, expect.stringContaining('there is no job')])
  })
})
