import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { defineJob, fixed } from '../../../src/index.js'
import { parseExposition } from '../../support/prometheus.js'
import { startServer } from '../server.js'

const VIEWER = 'the-token-of-prometheus'
const mail = defineJob({
  name: 'mail',
  retry: fixed({ delay: 1, maxRetries: 1, jitter: 'none' }),
  async run(_: unknown, job) {
    if (job.attempt === 1) throw new Error('no')
  },
})

/** The text of `/metrics` after some jobs, scraped as Prometheus does. */
async function scrape(): Promise<string> {
  await using t = await startServer({ token: 'the-token-of-an-admin', viewerToken: VIEWER })
  t.chronos.work([mail], { signals: false })
  const done = new Promise<void>(resolve => void t.chronos.on('job.succeeded', () => resolve()))
  await t.chronos.enqueue('mail', 1)
  await done
  const response = await fetch(new URL('metrics', t.url), { headers: { Authorization: `Bearer ${VIEWER}` } })
  expect(response.status).toBe(200)
  return response.text()
}

/** The rules of `promtool check metrics`. */
function flawsOf({ name, type, help, labels }: Metric): readonly string[] {
  const parts = name.split('_')
  return [
    ...(help.trim() === '' ? ['no help text'] : []),
    ...(type === 'counter' && !name.endsWith('_total') ? ['a counter ends with _total'] : []),
    ...(type !== 'counter' && name.endsWith('_total') ? ['only a counter ends with _total'] : []),
    ...(type !== 'histogram' && /_(?:count|sum|bucket)$/.test(name) ? ['a suffix of histograms'] : []),
    ...(type !== 'histogram' && labels.includes('le') ? ['a label of histograms'] : []),
    ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : ['not in snake case']),
    ...parts.filter(part => UNITS.has(part)).map(part => `the abbreviated or derived unit ${part}`),
    ...parts.filter(part => TYPES.has(part)).map(part => `the type ${part}`),
    ...labels.filter(label => !/^[a-z][a-z0-9_]*$/.test(label)).map(label => `the label ${label}`),
  ]
}

interface Metric {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly labels: readonly string[]
}

const TYPES = new Set(['gauge', 'counter', 'histogram', 'summary'])
const UNITS = new Set(
  's ms us ns sec b kb mb gb tb pb m h d millisecond milliseconds microseconds nanoseconds minutes hours days kilobytes'.split(
    ' ',
  ),
)

describe('/metrics', () => {
  it('follows the rules of promtool', async () => {
    const families = [...parseExposition(await scrape()).values()]
    expect(families.length).toBeGreaterThan(40)
    const flaws = families.flatMap(({ samples, ...family }) => {
      const labels = [...new Set(samples.flatMap(sample => Object.keys(sample.labels)))]
      const own = family.type === 'histogram' ? labels.filter(label => label !== 'le') : labels
      return flawsOf({ ...family, labels: own }).map(flaw => `${family.name}: ${flaw}`)
    })
    expect(flaws).toEqual([])
  })

  it('passes promtool check metrics, where it is installed', async () => {
    if (spawnSync('promtool', ['--version']).status !== 0) {
      console.log('not run: promtool is not installed')
      expect(spawnSync('promtool', ['--version']).error).toMatchObject({ code: 'ENOENT' })
      return
    }
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await scrape(),
      encoding: 'utf8',
    })
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
  })
})

describe('a viewer token', () => {
  it('only reads, also after it has signed in', async () => {
    await using t = await startServer({ viewerToken: VIEWER })
    const bearer = { Authorization: `Bearer ${VIEWER}` }
    expect((await t.api('GET', '/jobs')).status).toBe(401)
    expect((await t.api('GET', '/jobs', undefined, bearer)).status).toBe(200)
    expect((await t.api('POST', '/jobs', { name: 'mail' }, bearer)).status).toBe(403)
    const signedIn = await t.api('POST', '/session', { token: VIEWER })
    const Cookie = signedIn.headers.get('Set-Cookie')!.split(';')[0]!
    expect((await t.api('GET', '/session', undefined, { Cookie })).body).toMatchObject({
      name: 'viewer',
      role: 'viewer',
    })
  })
})
