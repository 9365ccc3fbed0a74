import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Backend } from '../../../src/cli/backend/backend.js'
import { frame, type Snapshot } from '../../../src/cli/commands/top/frame.js'
import { Top } from '../../../src/cli/commands/top/screen.js'
import type { Terminal } from '../../../src/cli/io.js'
import { styleOf } from '../../../src/cli/output/print.js'
import { keysIn } from '../../../src/cli/output/terminal.js'
import { VirtualClock } from '../../../src/testing.js'
import { live } from '../lives.js'
import { say } from '../memory-io.js'

const count = (value: number) => ({ value, relation: 'exact' }) as const
const PHASES = { scheduled: 1, queued: 12, retrying: 3, blocked: 0, running: 4, succeeded: 900, dead: 7, cancelled: 0 }
const ACTIVITY = { enqueued: 50, started: 60, retries: 10, succeeded: 45, failed: 9, dead: 2, cancelled: 0 }

function queue(name: string, more: object = {}): Snapshot['queues'][number] {
  return {
    name,
    paused: false,
    counts: Object.fromEntries(Object.entries(PHASES).map(([phase, value]) => [phase, count(value)])),
    workers: 1,
    concurrency: 10,
    hasWorkers: true,
    running: 4,
    lastHour: ACTIVITY,
    spark: { succeeded: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4], failed: new Array(15).fill(0) },
    ...more,
  } as unknown as Snapshot['queues'][number]
}

const SNAPSHOT = {
  location: '/var/lib/chronos.db',
  stats: {
    at: '2026-03-01T09:00:00.000Z',
    jobs: Object.fromEntries(Object.entries(PHASES).map(([phase, value]) => [phase, count(value)])),
    since: '2026-02-01T00:00:00.000Z',
    totalRetries: 100,
    successfulRetries: 90,
    retrySuccessRate: 90,
    failedRuns: 110,
    failedJobs: 7,
    retryRate: 0.2,
    deadLetters: count(7),
    oldestDueAgeMs: 4_000,
    workers: { alive: 2, silent: 1, concurrency: 20, running: 4 },
    last5m: ACTIVITY,
    lastHour: ACTIVITY,
  },
  queues: [queue('default'), queue('mail', { hasWorkers: false }), queue('payments', { paused: true })],
  failures: [
    {
      fingerprint: 'a',
      lastSeen: '2026-03-01T08:59:57.000Z',
      title: 'bank answered <n> \u001b[31m',
      names: ['charge-card'],
      dead: 3,
    },
    { fingerprint: 'b', lastSeen: '2026-03-01T08:58:00.000Z', title: 'mailbox is full', names: ['send-mail'], dead: 0 },
  ],
  workers: [
    { state: 'alive', host: 'web-1', pid: 17, running: 4, concurrency: 10, queues: ['default', 'mail'] },
    { state: 'silent', host: 'web-2', pid: 18, running: 0, concurrency: 10, queues: ['payments'] },
  ],
} as unknown as Snapshot

const VIEW = { rows: 30, isPaused: false, everyMs: 2_000, hasKeys: true }
const STYLE = { ...styleOf({ write: () => undefined }, { NO_COLOR: '1' }), columns: 100 }

describe('a frame of top', () => {
  it('shows queues, failures and workers', () => {
    expect(frame(SNAPSHOT, { ...VIEW, selected: 'mail' }, STYLE)).toEqual([
      'chronos top  /var/lib/chronos.db · 09:00:00 UTC · every 2s',
      'Jobs     ○ queued 12   ↻ retrying 3   ‖ blocked 0   ▸ running 4   ■ dead 7   ◷ scheduled 1',
      'Last 5m  50 enqueued   45 succeeded   9 failed runs   2 died   20 % retries   retry success 90 %',
      'Workers  2 alive, 4 of 20 slots busy   1 silent   oldest due job: 4s',
      '',
      '  Queue              Queued  Retrying  Running  Dead  Oldest  Workers  Last 15 min',
      '· default                12         3        4     7       -        1  ·▁▂▃▄▅▆▇███▇▆▅▄',
      '▸ mail                   12         3        4     7       -     none  ·▁▂▃▄▅▆▇███▇▆▅▄',
      '· payments (paused)      12         3        4     7       -        1  ·▁▂▃▄▅▆▇███▇▆▅▄',
      '',
      'Newest failures',
      '  3s ago   charge-card          bank answered <n> (3 dead)',
      '  2m ago   send-mail            mailbox is full',
      '',
      'Workers',
      '  alive  4/10    web-1:17  default, mail',
      '  silent 0/10    web-2:18  payments',
      ...new Array(11).fill(''),
      '',
      'q quit   j/k select a queue   P pause or resume it   space freeze   +/- slower, faster',
    ])
  })

  it.each([
    [24, 80],
    [12, 60],
    [8, 40],
    [60, 200],
  ])('fits %i rows and %i columns', (rows, columns) => {
    const many = { ...SNAPSHOT, queues: Array.from({ length: 50 }, (_, i) => queue(`queue-${i}`)) }
    for (const selected of ['queue-0', 'queue-30', 'queue-49']) {
      const lines = frame(many, { ...VIEW, rows, selected }, { ...STYLE, columns })
      expect(lines).toHaveLength(rows)
      if (rows >= 24) expect(lines.join('\n')).toContain(`▸ ${selected}`)
      if (columns >= 80) expect(lines.filter(line => line.length > columns)).toEqual([])
    }
  })

  it('shows that its data is old, and why', () => {
    const [head] = frame(SNAPSHOT, { ...VIEW, problem: 'the store is gone' }, STYLE)
    expect(head).toContain('the store is gone')
    expect(frame(SNAPSHOT, { ...VIEW, isPaused: true }, STYLE)[0]).toContain('frozen')
  })

  it('reports an empty store', () => {
    const empty = { ...SNAPSHOT, queues: [], failures: [], workers: [] }
    const text = frame(empty, { ...VIEW, hasKeys: false }, STYLE).join('\n')
    expect(text).toContain('No queues yet.')
    expect(text).toContain('Newest failures\n  none')
  })
})

/** A terminal that records its output. */
class FakeTerminal implements Terminal {
  rows = 24
  written = ''
  isCaptured = false
  press: (key: string) => void = () => undefined
  resize: () => void = () => undefined
  readonly isTTY = true
  readonly columns = 100

  capture({ onKey, onResize }: Parameters<Terminal['capture']>[0]): () => void {
    this.isCaptured = true
    this.press = onKey
    this.resize = onResize
    return () => {
      this.isCaptured = false
    }
  }

  write(text: string): void {
    this.written += text
  }

  /** The output since the last call. */
  shown(): string {
    const { written } = this
    this.written = ''
    return written
  }
}

class World {
  readonly clock = new VirtualClock()
  readonly terminal = new FakeTerminal()
  readonly stopping = new AbortController()
  looks = 0
  trouble: Error | undefined
  readonly changes: string[] = []
  readonly running: Promise<void>

  constructor() {
    const backend = {
      stats: async () => {
        this.looks++
        if (this.trouble) throw this.trouble
        return SNAPSHOT.stats
      },
      queues: {
        report: async () => ({ data: SNAPSHOT.queues, page: {} }),
        pause: async (name: string) => this.changes.push(`pause ${name}`),
        resume: async (name: string) => this.changes.push(`resume ${name}`),
      },
      dead: { groups: async () => ({ data: SNAPSHOT.failures, page: {} }) },
      workers: async () => SNAPSHOT.workers,
      info: async () => ({ location: SNAPSHOT.location }),
    } as unknown as Backend
    const { clock, terminal } = this
    const env = { NO_COLOR: '1' }
    this.running = new Top({ backend, terminal, output: terminal, env, clock, everyMs: 2_000 }).run(
      this.stopping.signal,
    )
  }

  async press(...keys: readonly string[]): Promise<string> {
    for (const key of keys) this.terminal.press(key)
    await this.clock.settle()
    return this.terminal.shown()
  }
}

describe('top', () => {
  it('uses the alternate screen, and restores the terminal', async () => {
    const world = new World()
    await world.clock.settle()
    expect(world.terminal.isCaptured).toBe(true)
    expect(world.terminal.written.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true)
    world.terminal.press('q')
    await world.running
    expect(world.terminal.isCaptured).toBe(false)
    expect(world.terminal.written.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
    expect(world.clock.nextTimerAt()).toBeUndefined()
  })

  it.each(['\u0003', '\u001b', 'q'])('exits on the key %j', async key => {
    const world = new World()
    world.terminal.press(key)
    await world.running
    expect(world.terminal.isCaptured).toBe(false)
  })

  it('exits when the command is interrupted', async () => {
    const world = new World()
    world.stopping.abort(new Error('stop'))
    await world.running
    expect(world.terminal.isCaptured).toBe(false)
  })

  it('refreshes periodically, at the given interval', async () => {
    const world = new World()
    await world.clock.advance(10_000)
    expect(world.looks).toBe(6)
    await world.press('-')
    world.looks = 0
    await world.clock.advance(10_000)
    expect(world.looks).toBe(10)
    await world.press('q')
  })

  it('can be frozen', async () => {
    const world = new World()
    await world.clock.advance(2_000)
    expect(await world.press(' ')).toContain('paused')
    const { looks } = world
    await world.clock.advance(60_000)
    expect(world.looks).toBe(looks)
    expect(await world.press(' ')).toContain('every 2s')
    await world.press('q')
  })

  it('selects a queue, and pauses or resumes it', async () => {
    const world = new World()
    await world.clock.settle()
    expect(await world.press('j')).toContain('▸ mail')
    expect(await world.press('\u001b[B', 'j', 'j')).toContain('▸ payments')
    expect(await world.press('P')).toContain('queue payments is resumed')
    expect(await world.press('k', 'P')).toContain('queue mail is paused')
    expect(world.changes).toEqual(['resume payments', 'pause mail'])
    await world.press('q')
  })

  it('redraws when the terminal is resized', async () => {
    const world = new World()
    await world.clock.settle()
    world.terminal.shown()
    world.terminal.rows = 12
    world.terminal.resize()
    expect(world.terminal.shown().split('\r\n')).toHaveLength(12)
    await world.press('q')
  })

  it('keeps its last data while the store is unavailable', async () => {
    const world = new World()
    await world.clock.settle()
    world.trouble = new Error('the store is away')
    await world.clock.advance(2_000)
    const drawn = world.terminal.shown()
    expect(drawn).toContain('the store is away')
    expect(drawn).toContain('charge-card')
    world.trouble = undefined
    await world.clock.advance(2_000)
    expect(world.terminal.shown()).not.toContain('the store is away')
    await world.press('q')
  })
})

describe('keysIn', () => {
  it('splits keys that arrive together', () => {
    expect(keysIn('jk\u001b[A\u001b[B\u001bqü')).toEqual(['j', 'k', '\u001b[A', '\u001b[B', '\u001b', 'q', 'ü'])
  })
})

describe('top without a terminal', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'chronos-top-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('prints one frame of a real store, or its data as JSON', async () => {
    await live(join(folder, 'chronos.db'))
    const store = ['--store', `sqlite:${join(folder, 'chronos.db')}`]
    const { code, stdout } = await say(['top', '--once', ...store])
    expect(code).toBe(0)
    expect(stdout).toContain('· payments')
    expect(stdout).toContain('sync-inventory')
    expect(stdout).not.toContain('\u001b')
    const facts = JSON.parse((await say(['top', '--json', ...store])).stdout) as Snapshot
    expect(facts.queues.map(({ name }) => name)).toEqual(['default', 'payments'])
    expect((await say(['top', ...store])).stderr).toContain('top: not a terminal; use --once to print one frame')
  })

  it('has no retry rate without first attempts', async () => {
    const store = ['--store', `sqlite:${join(folder, 'chronos.db')}`]
    await say(['migrate', ...store])
    expect((await say(['stats', ...store])).stdout).toContain(
      'retry rate            no first attempts in the last 5m\n',
    )
    expect(JSON.parse((await say(['stats', '--json', ...store])).stdout)).not.toHaveProperty('retryRate')
    expect((await say(['top', '--once', ...store])).stdout).toContain('no retry rate')
  })

  it('has the statistics of the store', async () => {
    await live(join(folder, 'chronos.db'))
    const store = ['--store', `sqlite:${join(folder, 'chronos.db')}`]
    const { stdout } = await say(['stats', ...store])
    expect(stdout).toContain('↻ retrying            1\n')
    expect(stdout).toContain('workers               0 workers alive')
    const stats = JSON.parse((await say(['stats', '--json', ...store])).stdout) as Snapshot['stats']
    expect(stats.jobs).toMatchObject({ succeeded: { value: 1 }, dead: { value: 1 }, cancelled: { value: 1 } })
  })
})
