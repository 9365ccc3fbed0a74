import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startServer, type TestServer } from '../../../server/server.js'
import { type Said, say } from '../../memory-io.js'

let server: TestServer
beforeEach(async () => {
  server = await startServer({ chronos: { store: 'memory:' } })
})
afterEach(() => server[Symbol.asyncDispose]())

const run = (...argv: string[]): Promise<Said> => say([...argv, '--url', server.url], { columns: 140 })
const limits = (...argv: string[]): Promise<Said> => run('queues', 'limits', 'crm', ...argv)

describe('queues limits', () => {
  it('sets, shows and removes them', async () => {
    expect(await limits('--queue', 'concurrency=40', '--partitions', 'concurrency=2,rate=500/m,burst=20')).toEqual({
      code: 0,
      stdout:
        'queue crm: at most 40 jobs at a time (set by an operator)\n' +
        'each partition: at most 2 jobs at a time, 500/m (20 at once)\n',
      stderr: '',
    })
    await run('enqueue', 'sync', '--queue', 'crm', '--partition', 'acme', '--unit', 'tokens=1200', '--unit', 'calls=1')
    const shown = await limits()
    expect(shown.stdout.split('\n').slice(3)).toEqual([
      'Partition  Running  Waiting  Limit                                         Learned  Next  Waits for',
      'acme             0        1  at most 2 jobs at a time, 500/m (20 at once)        -     -  -',
      '',
    ])
    expect(shown.stderr).toBe('1 partition\n')
    expect((await limits('--stopped')).stderr).toBe('no stopped partitions\n')
    expect(JSON.parse((await limits('--json')).stdout)).toMatchObject({
      name: 'crm',
      limits: { limit: { concurrency: 40 }, from: 'operator' },
      data: [{ name: 'acme', waiting: { value: 1 } }],
    })
    expect((await limits('--queue', 'none')).stdout).toContain('queue crm: no limit of its own')
    expect((await limits('--clear')).stdout).toBe('queue crm has no limits\n')
    expect(await limits()).toEqual({ code: 0, stdout: '', stderr: 'queue crm has no limits\n' })
    const [job] = (await server.chronos.jobs.list({ queue: 'crm' })).data
    expect(job).toMatchObject({ partition: 'acme', units: { tokens: 1200, calls: 1 } })
  })

  it('takes JSON and words', async () => {
    const json = '{"units": {"tokens": "90000/m"}, "override": {"a": {"concurrency": 1}}}'
    expect((await limits('--partitions', json)).stdout).toContain(
      'each partition: 90,000/m tokens; 1 with a limit of its own\n',
    )
    expect((await limits('--partitions', 'order=fifo,onDead=stop')).stdout).toContain(
      'each partition: one by one in order, stopped by a dead letter\n',
    )
    expect((await limits('--partitions', 'fair')).stdout).toContain('each partition: they take turns\n')
  })

  it('refuses what it can not read', async () => {
    expect((await limits('--clear', '--queue', 'none')).stderr).toContain('give --clear, or --queue and --partitions')
    expect((await limits('--queue', '{concurrency')).stderr).toContain(
      'expected settings such as concurrency=40,rate=500/m, JSON, or none',
    )
    expect((await limits('--queue', 'concurrency=many')).stderr).toContain('concurrency: expected a whole number')
    expect((await run('enqueue', 'sync', '--unit', 'tokens=many')).stderr).toContain('/units/tokens: expected a number')
    expect((await run('enqueue', 'sync', '--unit', 'tokens')).stderr).toContain('/units/tokens: expected a number')
  })
})
