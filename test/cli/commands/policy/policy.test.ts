import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { widthOf } from '../../../../src/cli/output/width.js'
import { PRESETS } from '../../../../src/core/policy/presets.js'
import { say } from '../../memory-io.js'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-policy-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const policy = (...argv: readonly string[]) => say(['policy', ...argv])

/** The JSON of a command that must succeed. */
async function json(...argv: readonly string[]): Promise<Record<string, never>> {
  const { code, stdout, stderr } = await policy(...argv, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Record<string, never>
}

describe('policy list', () => {
  it('shows every preset with the outage that it survives', async () => {
    const { code, stdout, stderr } = await policy('list')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(1 + Object.keys(PRESETS).length)
    expect(lines[0]).toMatch(/^Preset +Retries +Backoff +Jitter +Cap +Survives +Good for$/)
    expect(lines.find(line => line.startsWith('http'))).toMatch(/^http +3 +exponential 1s ×2 +none +5m +7s +HTTP jobs/)
    expect(lines.find(line => line.startsWith('webhook'))).toMatch(/after 30s, 1m, 2m +none +– +3m 30s/)
  })

  it('prints JSON with --json', async () => {
    const rows = (await json('list')) as unknown as { name: string; outageSurvivedMs: number; policy: unknown }[]
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(PRESETS))
    expect(rows.find(({ name }) => name === 'http')).toMatchObject({ outageSurvivedMs: 7_000, policy: PRESETS.http })
  })
})

describe('policy preview', () => {
  it('shows the earliest, typical and latest time of each retry', async () => {
    const { code, stdout } = await policy('preview')
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'standard  exponential 1m ×2, ±20 %, cap 1h, 3 retries',
        '',
        'Retry  Waits            Earliest  Typical  Latest',
        '    1  48s … 1m 12s          48s       1m  1m 12s',
        '    2  1m 36s … 2m 24s    2m 24s       3m  3m 36s',
        '    3  3m 12s … 4m 48s    5m 36s       7m  8m 24s',
        '',
        'At most 4 runs; the last starts 5m 36s … 8m 24s after the first failure.',
        'A run that is lost in a crash uses an attempt (crashes: count).',
        '',
        'Outage survived: 5m 55s',
        'The longest outage after which 99 % of the jobs still have a run.',
        '',
        'note     The cap of 1h is never reached: the longest delay is 4m. It would take 7 retries to get there. (cap-never-reached)',
        '',
      ].join('\n'),
    )
  })

  it.each([
    ['a preset', ['http'], 'http', PRESETS.http],
    ['a preset, changed', ['http', '--base', '2s'], 'http, changed', { backoff: { type: 'exponential', base: '2s' } }],
    [
      'flags alone',
      [
        '--strategy',
        'exponential',
        '--base',
        '1m',
        '--factor',
        '3',
        '--cap',
        '1h',
        '--retries',
        '9',
        '--jitter',
        '0.5',
      ],
      'standard, changed',
      { maxRetries: 9, backoff: { type: 'exponential', base: '1m', factor: 3 }, cap: '1h', jitter: 0.5 },
    ],
    ['jitter as a percentage', ['--jitter', '35%'], 'standard, changed', { jitter: 0.35 }],
    ['jitter as a word', ['--jitter', 'full'], 'standard, changed', { jitter: 'full' }],
    [
      'a fixed delay',
      ['--strategy', 'fixed', '--base', '9s'],
      'standard, changed',
      { backoff: { type: 'fixed', delay: '9s' } },
    ],
    [
      'a linear delay',
      ['--strategy', 'linear', '--increment', '5s'],
      'standard, changed',
      { backoff: { type: 'linear', base: '60s', increment: '5s' } },
    ],
    ['Fibonacci', ['--strategy', 'fibonacci'], 'standard, changed', { backoff: { type: 'fibonacci', base: '60s' } }],
    [
      'delays',
      ['--delays', '1s, 5s'],
      'standard, changed',
      { maxRetries: 2, backoff: { type: 'list', delays: ['1s', '5s'] }, jitter: 'none' },
    ],
    [
      'delays with jitter',
      ['--delays', '1s, 5s', '--jitter', '20%'],
      'standard, changed',
      { maxRetries: 2, backoff: { type: 'list', delays: ['1s', '5s'] }, jitter: 0.2 },
    ],
    [
      'delays and more retries than delays',
      ['--delays', '1s,5s', '--retries', '4'],
      'standard, changed',
      { maxRetries: 4, backoff: { type: 'list', delays: ['1s', '5s'], afterEnd: 'repeat-last' } },
    ],
    ['a time limit', ['--max-elapsed', '10m'], 'standard, changed', { maxElapsed: '10m' }],
    ['JSON', ['{"maxRetries":7}'], 'inline', { ...PRESETS.standard, maxRetries: 7 }],
    ['a preset in JSON', ['"patient"'], 'patient', PRESETS.patient],
    ['short names of fields', ['{"retryDelay":500}'], 'inline', { backoff: { type: 'exponential', base: 500 } }],
  ])('accepts %s: %j', async (_, argv, name, expected) => {
    expect(await json('preview', ...argv)).toMatchObject({ name, policy: expected })
  })

  it.each(Object.keys(PRESETS))('shows for %s the cap that policy list shows', async name => {
    const listed = (await json('list')) as unknown as readonly { name: string; policy: object }[]
    expect((await json('preview', name))['policy']).toEqual(listed.find(row => row.name === name)?.policy)
  })

  it('reads a file', async () => {
    const path = file(
      'retry.json',
      '{ "maxRetries": 2, "backoff": { "type": "fixed", "delay": "3s" }, "jitter": "none" }\n',
    )
    expect(await json('preview', '--file', path)).toMatchObject({
      name: 'retry.json',
      policy: { maxRetries: 2, backoff: { type: 'fixed', delay: '3s' } },
      outageSurvivedMs: 6_000,
      rows: [
        {
          retry: 1,
          label: 'Retry #1',
          delayMs: 3_000,
          window: [3_000, 3_000],
          totalMs: [3_000, 3_000],
          typicalMs: 3_000,
        },
        { retry: 2, label: 'Retry #2', totalMs: [6_000, 6_000], typicalMs: 6_000 },
      ],
      findings: [{ code: 'no-jitter', severity: 'warning' }, { code: 'short-window' }],
    })
    expect(await json('preview', '--file', file('name.json', 'patient'))).toMatchObject({ name: 'patient' })
  })

  it('marks retries that the cap or maxElapsed limits', async () => {
    const { stdout } = await policy(
      'preview',
      '--retries',
      '7',
      '--jitter',
      '0.2',
      '--cap',
      '4m',
      '--max-elapsed',
      '15m',
    )
    expect(stdout).toMatch(/^ +2 .* 3m 36s$/m)
    expect(stdout).toMatch(/^ +3 .* {2}cap$/m)
    expect(stdout).toMatch(/^ +5 .* {2}perhaps: maxElapsed$/m)
    expect(stdout).toMatch(/^ +7 .* {2}never: maxElapsed$/m)
    expect(stdout).toContain('no run starts later than 15m after the first.')
  })

  it('does not mark the cap for decorrelated jitter', async () => {
    const { stdout } = await policy('preview', '--jitter', 'decorrelated', '--retries', '9', '--cap', '10m')
    expect(stdout).toMatch(/^ +9 .* 1h 22m$/m)
  })

  it('leaves out the middle of a long table', async () => {
    const { stdout } = await policy('preview', '--retries', '1000')
    expect(stdout).toMatch(/^ {3}19 .*\n +… 977 more\n {2}997 /m)
    expect(stdout).toMatch(/^ 1000 /m)
  })

  it('does not predict a custom backoff', async () => {
    const custom = '{"maxRetries":2,"backoff":{"type":"custom","name":"squares"}}'
    const { code, stdout } = await policy('preview', custom)
    expect(code).toBe(0)
    expect(stdout).toContain('custom "squares"')
    expect(stdout).toContain('(custom-backoff)')
    expect(stdout).not.toContain('Outage survived')
  })

  it('prints one line and a note for a policy without retries', async () => {
    const { stdout } = await policy('preview', 'none')
    const crashes = 'A run that is lost in a crash uses an attempt \\(crashes: count\\)\\.'
    expect(stdout).toMatch(
      new RegExp(`^none {2}no retries\n\nOne run, no retries\\.\n${crashes}\n\nnote .*\\(no-retries\\)\n$`),
    )
  })

  it('says that crashes are forgiven', async () => {
    const { stdout } = await policy('preview', 'none', '--crashes', 'forgive')
    expect(stdout).toContain('none, changed  no retries, crashes forgiven\n')
    expect(stdout).toContain('A run that is lost in a crash is free, up to ten times (crashes: forgive).\n')
  })
})

const HERD = ['simulate', '--jobs', '1000', '--within', '1s', '--outage', '5m', '--capacity', '100/s', '--seed', '7']

describe('policy simulate', () => {
  it('shows the outage survived, the verdict, the charts and the figures, in this order', async () => {
    const { code, stdout, stderr } = await policy(...HERD)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const order = [
      'standard  exponential 1m',
      '1,000 jobs within 1s, the dependency is down for 5m, then handles 100/s; seed 7',
      'Outage survived: 5m 55s\n',
      'All 1,000 jobs survive this outage of 5m',
      'Without jitter: attempts per second, at most 1,000/s after recovery\n',
      'With jitter ±20 %: attempts per second, at most 18/s after recovery\n',
      '━━ the dependency is down   ┈┈ capacity 100/s\n',
    ].map(words => stdout.indexOf(words))
    expect(order).not.toContain(-1)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(stdout).toMatch(/^Peak after recovery +1,000\/s +18\/s$/m)
    expect(stdout).toMatch(/^Dead +900 +0$/m)
    expect(stdout).toMatch(/^First retries +1m … 1m 1s +48\.2s … 1m 13s$/m)
  })

  it('draws both charts on the same scale: four spikes, and retries that stay below the capacity', async () => {
    const { stdout } = await policy(...HERD)
    const [, without = '', jittered = ''] = stdout.split(/^With.*$/m)
    const tops = (chart: string) => chart.split('\n').filter(line => line.startsWith('1,000/s │'))
    expect(tops(without)[0]!.match(/█/g)).toHaveLength(4)
    expect(tops(jittered)[0]!.match(/█/g)).toHaveLength(1)
    expect(jittered).toMatch(/^ +100\/s │█┈+▃/m)
    // The axis is heavy for the first 5 m of about 8 m 15 s.
    const axis = /└(━+)(─+)$/m.exec(without)!
    expect(axis[1]!.length / (axis[1]!.length + axis[2]!.length)).toBeCloseTo(300 / 494, 1)
  })

  it('fits terminals of any width, with and without colours', async () => {
    for (const columns of [40, 60, 80, 132]) {
      for (const env of [{}, { NO_COLOR: '1' }, { LANG: 'C' }]) {
        const { stdout } = await say(['policy', ...HERD], { isTTY: true, columns, env })
        const tooWide = stripVTControlCharacters(stdout)
          .split('\n')
          .filter(line => widthOf(line) > Math.max(columns, 57))
        expect(tooWide).toEqual([])
      }
    }
  })

  it('prints the same text with and without colours', async () => {
    const coloured = await say(['policy', ...HERD], { isTTY: true })
    const plain = await say(['policy', ...HERD], { isTTY: true, env: { NO_COLOR: '1' } })
    expect(coloured.stdout).not.toBe(plain.stdout)
    expect(stripVTControlCharacters(coloured.stdout)).toBe(plain.stdout)
  })

  it('can print ASCII only', async () => {
    const { stdout } = await say(['policy', ...HERD], { env: { LANG: 'C' } })
    expect(stdout).toMatch(/^[\n -~]*$/)
    expect(stdout).toContain('With jitter +/-20 %')
    expect(stdout).toMatch(/^1,000\/s \|#/m)
    expect(stdout).toMatch(/^ +0 \+=+-+$/m)
  })

  it('draws one chart and warns if there is no jitter', async () => {
    const { stdout } = await policy('simulate', 'webhook', '--outage', '1m', '--capacity', '50')
    expect(stdout).toContain('Without jitter, as given: ')
    expect(stdout).not.toContain('With jitter')
    expect(stdout).toContain(
      '900 of 1,000 jobs die in this outage of 1m: 900 are rejected until they run out of retries.',
    )
    expect(stdout).toContain('(no-jitter)')
  })

  it('shows how many jobs die before the outage ends', async () => {
    const { stdout } = await policy('simulate', 'http', '--jobs', '10', '--outage', '1h')
    expect(stdout).toContain('10 of 10 jobs die in this outage of 1h: 10 run out of retries before it ends. 0 succeed.')
    expect(stdout).toContain('the dependency is down until 1h')
  })

  it('knows limits: the rate of the queue keeps the burst below the capacity', async () => {
    const burst = 'simulate --jobs 1000 --within 0s --outage 0s --capacity 20 --retries 0'.split(' ')
    expect((await policy(...burst)).stdout).toContain('20 succeed.')
    const { stdout, code } = await policy(...burst, '--limit', 'rate=20/s,burst=1', '--assert', 'wait<=50s')
    expect(code).toBe(0)
    expect(stdout).toContain('limits: the queue starts 20/s (1 at once)\n')
    expect(stdout).toContain('All 1,000 jobs survive this burst; the last is done after 50s.')
    expect(stdout).toMatch(/Longest wait for a limit +50s +50s/)
    expect(stdout).toContain('wait<=50s holds')
  })

  it('spreads the jobs over partitions with limits of their own', async () => {
    const { stdout } = await policy(
      ...['simulate', '--jobs', '100', '--within', '0s', '--outage', '0s', '--takes', '2s'],
      ...['--partitions', 'count=50,concurrency=1'],
    )
    expect(stdout).toContain('limits: each attempt takes 2s; 50 partitions, each at most 1 job at a time\n')
    expect(stdout).toContain('All 100 jobs survive this burst; the last is done after 4s.')
  })

  it('notes that circuit breakers are not simulated', async () => {
    const { stdout } = await policy('simulate', '{"circuit":true}', '--jobs', '10')
    expect(stdout).toMatch(/^note .*\(dependencies-left-out\)$/m)
  })

  it('describes a burst without an outage, and a single job', async () => {
    const { stdout } = await policy('simulate', '--jobs', '1', '--within', '0s', '--outage', '0s', '--capacity', '5')
    expect(stdout).toContain('1 job at once, the dependency is never down and handles 5/s; seed 1')
    expect(stdout).toContain('The job survives this burst; it is done after 0ms.')
    expect(stdout).toContain('capacity 5/s, above the scale')
  })

  it('prints the same JSON for the same seed', async () => {
    const document = await json(...HERD)
    expect(document).toEqual(await json(...HERD))
    expect(document).toMatchObject({
      name: 'standard',
      policy: PRESETS.standard,
      scenario: { jobs: 1_000, withinMs: 1_000, outageMs: 300_000, capacityPerSecond: 100, seed: 7 },
      withJitter: { succeeded: 1_000, dead: 0, attempts: 4_000, amplification: 4, series: { binMs: 1_000 } },
      withoutJitter: { succeeded: 100, dead: 900, peakPerSecond: 1_000, outageSurvivedMs: 420_000 },
      findings: [{ code: 'cap-never-reached' }],
      assertions: [],
    })
  })
})

describe('--assert', () => {
  const holds = [
    'survives>=5m',
    'peak<=18',
    'peak<=18/s',
    'peak<=1x',
    'dead=0',
    'dead<=0%',
    'amplification<=4',
    'attempts<4001',
    'done < 9m',
  ]
  it('exits with 0 and lists the assertions if all hold', async () => {
    const { code, stdout, stderr } = await policy(...HERD, ...holds.flatMap(check => ['--assert', check]))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('✓ survives>=5m holds: 5m 55s\n')
    expect(stdout.match(/^✓ /gm)).toHaveLength(holds.length)
  })

  it.each([
    ['survives>=6m', 'error: --assert survives>=6m does not hold: the value is 5m 55s\n'],
    ['peak<=10', 'error: --assert peak<=10 does not hold: the value is 18/s\n'],
    ['peak<0.1x', 'error: --assert peak<0.1x does not hold: the value is 18/s\n'],
    ['dead>5%', 'error: --assert dead>5% does not hold: the value is 0 of 1,000\n'],
    ['amplification<=3.5x', 'error: --assert amplification<=3.5x does not hold: the value is 4.00×\n'],
    ['done<=5m', 'error: --assert done<=5m does not hold: the value is 8m 13s\n'],
  ])('exits with 8 and names the assertion that does not hold: %s', async (check, words) => {
    const { code, stdout, stderr } = await policy(...HERD, '--assert', 'attempts=4000', '--assert', check)
    expect({ code, stderr }).toEqual({ code: 8, stderr: words })
    expect(stdout).toContain('✓ attempts=4000 holds: 4,000\n')
  })

  it('judges the policy with its jitter', async () => {
    expect((await policy(...HERD, '--assert', 'dead<=0')).code).toBe(0)
    expect((await policy(...HERD, '--jitter', 'none', '--assert', 'dead<=0')).code).toBe(8)
  })

  it('is part of the JSON', async () => {
    const { code, stdout, stderr } = await policy(...HERD, '--assert', 'survives>=6m', '--json')
    expect(code).toBe(8)
    expect(stderr).toContain('survives>=6m')
    expect((JSON.parse(stdout) as { assertions: unknown[] }).assertions).toEqual([
      { assertion: 'survives>=6m', holds: false, actual: 354_513, words: '5m 55s' },
    ])
  })
})

describe('the help of policy', () => {
  it.each([[[]], [['list']], [['preview']], [['simulate']]])('has examples and fits 80 columns: %j', async command => {
    const { code, stdout } = await policy(...command, '--help')
    expect(code).toBe(0)
    if (command.length > 0) expect(stdout).toContain(`$ chronos policy ${command[0]}`)
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([])
  })
})

describe('the guide', () => {
  const guide = readFileSync(new URL('../../../../docs/retries.md', import.meta.url), 'utf8')
  const shown = [...guide.matchAll(/^```text\n\$ chronos (policy .*)\n([^`]*)^```/gm)]

  it('shows the commands', () => {
    expect(shown.map(([, command]) => command?.split(' ')[1])).toEqual(['preview', 'simulate'])
  })

  it.each(shown.map(([, command = '', output = '']) => [command, output]))(
    'shows the exact output of %s',
    async (command, output) => {
      const { stdout } = await say(command.split(' '), { isTTY: true, columns: 80, env: { NO_COLOR: '1' } })
      expect(stdout).toBe(output)
    },
  )
})
