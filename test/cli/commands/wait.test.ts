import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chronos, createChronos, defineJob, PermanentError } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'
import { say } from '../memory-io.js'

let chronos: Chronos
let url: string
let close: () => Promise<void>

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  chronos = createChronos({ store: `sqlite:${join(folder, 'chronos.db')}`, log: false })
  chronos.work(
    [
      defineJob({ name: 'total', run: ({ cents }: { cents: number }) => cents * 2 }),
      defineJob({
        name: 'refused',
        run() {
          throw new PermanentError('card declined')
        },
      }),
    ],
    { signals: false },
  )
  const server = createServer(chronos, { log: false, dashboard: false })
  url = (await server.listen({ port: 0 })).url
  close = async () => {
    await server.close()
    await chronos.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

afterAll(() => close())

describe('enqueue --wait --url', () => {
  it('prints the ended job, whose result came through the server', async () => {
    const { code, stdout } = await say([
      'enqueue',
      'total',
      '--payload',
      '{"cents": 4}',
      '--wait',
      '--json',
      '--url',
      url,
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'job', state: 'succeeded', result: 8 })
    expect(JSON.parse(stdout)).not.toHaveProperty('attempts')
  })

  it('exits with 7 if the job died, and with 1 if the time is over', async () => {
    const dead = await say(['enqueue', 'refused', '--wait=20s', '--url', url])
    expect([dead.code, dead.stderr]).toEqual([7, expect.stringContaining('died (permanent): PermanentError: card')])
    const late = await say(['enqueue', 'total', '--delay', '1h', '--wait=1ms', '--url', url])
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('has not ended within 1ms; it goes on')])
    expect((await chronos.jobs.get(late.stdout.trim()))?.state ?? 'waiting').toBe('waiting')
  })
})
