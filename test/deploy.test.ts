import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { SETTINGS } from '../src/cli/config/settings.js'
import { CATALOG, type MetricFacts, PREFIX } from '../src/server/metrics/catalog.js'
import { PROCESS_CATALOG } from '../src/server/metrics/process.js'
import { say } from './cli/memory-io.js'

const FILES = readdirSync('deploy', { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => join(entry.parentPath, entry.name))
const read = (path: string): string => readFileSync(path, 'utf8')
const YAML_FILES = FILES.filter(path => /\.ya?ml$/.test(path))
const JSON_FILES = FILES.filter(path => path.endsWith('.json'))

type Yaml = string | number | boolean | null | readonly Yaml[] | Fields
type Fields = { readonly [key: string]: Yaml }
const fieldsOf = (value: Yaml | undefined): Fields => value as Fields
const listOf = (value: Yaml | undefined): readonly Yaml[] => (value ?? []) as readonly Yaml[]

/** The documents of a file. Warnings count as errors: what the reader is unsure about, another tool may refuse. */
function yamlOf(path: string): readonly Yaml[] {
  return parseAllDocuments(read(path), { merge: true }).map(document => {
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) throw problem
    return document.toJS() as Yaml
  })
}

/** Every value under this key, however deep. */
function all(value: Yaml, key: string): readonly Yaml[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(each => all(each as Yaml, key))
  return Object.entries(value as Fields).flatMap(([name, each]) => (name === key ? [each] : all(each, key)))
}

describe('files', () => {
  it('exist', () => {
    expect(FILES).toEqual(
      expect.arrayContaining(['deploy/Dockerfile', 'deploy/compose.yml', 'deploy/grafana/queue.json']),
    )
    expect(YAML_FILES.length).toBeGreaterThan(8)
  })

  it.each(YAML_FILES)('%s is YAML', path => {
    expect(yamlOf(path)).not.toContain(null)
  })

  it.each(JSON_FILES)('%s is JSON', path => {
    expect(JSON.parse(read(path))).toBeTypeOf('object')
  })

  it('pin the version of every image', () => {
    const dockerfile = read('deploy/Dockerfile')
    const images = [
      ...YAML_FILES.flatMap(path => yamlOf(path).flatMap(document => all(document, 'image'))),
      ...[...dockerfile.matchAll(/^ARG NODE_IMAGE=(\S+)$/gm)].map(match => match[1]!),
    ]
    expect(images.length).toBeGreaterThan(6)
    for (const image of images) {
      expect(String(image)).toMatch(/^[a-z][a-z0-9/-]*:[\w.-]*\d[\w.-]*$/)
      expect(String(image)).not.toMatch(/latest/)
    }
    for (const [, from] of dockerfile.matchAll(/^FROM (\S+)/gm)) expect(from).toBe(`\${NODE_IMAGE}`)
  })

  it('use the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    const ours = FILES.flatMap(path =>
      [...read(path).matchAll(/chronos-jobs[:@-](\d[\d.]*\d)/g)].map(match => match[1]),
    )
    expect(new Set(ours)).toEqual(new Set([version]))
  })

  it('copy and mount only what exists', () => {
    const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(match =>
      match[1]!.split(' '),
    )
    expect(copied).toContain('Dockerfile')
    // A build of one's own is beside the file, or not.
    expect(copied.filter(path => path !== '*.tgz' && !existsSync(join('deploy', path)))).toEqual([])
    const ignored = read('deploy/Dockerfile.dockerignore').split('\n')
    expect(copied.filter(path => !ignored.includes(`!${path}`))).toEqual([])
    const mounted = ['deploy/compose.yml', 'deploy/compose.postgres.yml'].flatMap(path =>
      yamlOf(path)
        .flatMap(document => all(document, 'volumes'))
        .flatMap(each => (Array.isArray(each) ? (each as string[]) : []))
        .filter(volume => volume.startsWith('.'))
        .map(volume => resolve(dirname(path), volume.split(':')[0]!)),
    )
    expect(mounted.length).toBeGreaterThan(3)
    expect(mounted.filter(path => !existsSync(path))).toEqual([])
  })
})

/** The flags of a command, from its own help. */
async function flagsOf(command: readonly string[]): Promise<readonly string[] | undefined> {
  const { code, stdout } = await say([...command, '--help'])
  if (code !== 0 || !stdout.startsWith(`Usage: chronos ${command.join(' ')} `)) return undefined
  return [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(match => match[1]!)
}

describe('commands', () => {
  const exec = [...FILES.filter(path => path.endsWith('.service'))].flatMap(path =>
    [...read(path).matchAll(/^ExecStart=\S+\/chronos (.+)$/gm)].map(match => match[1]!.split(' ')),
  )
  const [, cmd] = /^CMD (\[.*\])$/m.exec(read('deploy/Dockerfile')) ?? []
  const containers = YAML_FILES.flatMap(path =>
    yamlOf(path).flatMap(document => [...all(document, 'args'), ...all(document, 'command')]),
  )
  const lines = [JSON.parse(cmd!) as string[], ...exec, ...containers.map(each => listOf(each) as readonly string[])]
  const ours = lines.filter(([command]) => !command!.startsWith('-'))

  it('are found in the files', () => {
    expect(ours.length).toBeGreaterThanOrEqual(8)
    expect(new Set(ours.map(([command]) => command))).toEqual(new Set(['serve', 'worker']))
  })

  it.each(ours.map(line => line.join(' ')))('chronos %s', async line => {
    const [command, ...rest] = line.split(' ')
    const known = await flagsOf([command!])
    expect(rest.filter(word => word.startsWith('--') && !known!.includes(word))).toEqual([])
  })

  it('use only variables that are settings', () => {
    const known = new Set(
      Object.values(SETTINGS).flatMap(setting => [
        setting.env,
        ...('isSecret' in setting ? [`${setting.env}_FILE`] : []),
      ]),
    )
    const used = [...FILES, 'docs/runbook.md'].flatMap(path =>
      [...read(path).matchAll(/\bCHRONOS_[A-Z_]+/g)].map(match => match[0]),
    )
    expect(used.length).toBeGreaterThan(20)
    expect([...new Set(used)].filter(name => !known.has(name))).toEqual([])
  })

  it('in the runbook and the guide exist, with their flags', async () => {
    const written = ['docs/runbook.md', 'deploy/README.md'].flatMap(path =>
      [...read(path).matchAll(/`chronos ([a-z][^`]*)`/g)].map(match => match[1]!),
    )
    expect(written.length).toBeGreaterThan(40)
    const wrong: string[] = []
    for (const line of new Set(written)) {
      const words = line.replace(/'[^']*'/g, 'TEXT').split(/\s+/)
      const firstValue = words.findIndex(word => !/^[a-z][a-z-]*$/.test(word))
      const path = words.slice(0, firstValue < 0 ? words.length : firstValue)
      const known = await flagsOf(path)
      const unknown = words.filter(word => word.startsWith('--') && word !== '--help' && !known?.includes(word))
      if (!known || unknown.length > 0) wrong.push(`${line}: ${unknown.join(' ')}`)
    }
    expect(wrong).toEqual([])
  })
})

/** Labels by full name; a histogram has three names. */
const METRICS = new Map<string, readonly string[]>([
  ['up', ['instance', 'job']],
  ...Object.keys(PROCESS_CATALOG).map((name): [string, readonly string[]] => [name, []]),
  ...Object.entries<MetricFacts>(CATALOG).flatMap(([name, { type, labels }]): [string, readonly string[]][] =>
    type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map(suffix => [
          PREFIX + name + suffix,
          suffix === '_bucket' ? [...labels, 'le'] : labels,
        ])
      : [[PREFIX + name, labels]],
  ),
])

const WORDS = new Set(
  `by on and or unless bool rate increase sum max min avg histogram_quantile predict_linear avg_over_time time`.split(
    ' ',
  ),
)

/** The metrics in an expression. Throws for unknown metrics, labels and functions. */
function metricsIn(expression: string): readonly string[] {
  const texts = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\[[^\]]*\]/g, '')
  const faults: string[] = []
  for (const [, name = '', matchers = ''] of texts.matchAll(/([a-zA-Z_:][\w:]*)\{([^}]*)\}/g)) {
    const labels = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(match => match[1]!)
    const known = [...(METRICS.get(name) ?? []), 'instance', 'job']
    faults.push(...labels.filter(label => !known.includes(label)).map(label => `${name} has no label ${label}`))
  }
  const bare = texts.replace(/\{[^}]*\}/g, '').replace(/\b(by|on)\s*\([^)]*\)/g, '')
  const names = [...bare.matchAll(/(?<![\w$.])[a-zA-Z_:][\w:]*/g)]
    .map(match => match[0])
    .filter(word => !WORDS.has(word))
  faults.push(...names.filter(name => !METRICS.has(name)).map(name => `there is no metric ${name}`))
  const grouped = [...texts.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(match =>
    match[1]!.split(',').map(each => each.trim()),
  )
  const labels = new Set(['instance', 'job', '', ...names.flatMap(name => METRICS.get(name) ?? [])])
  faults.push(...grouped.filter(label => !labels.has(label)).map(label => `nothing has a label ${label}`))
  if ((texts.match(/\(/g) ?? []).length !== (texts.match(/\)/g) ?? []).length) faults.push('parentheses')
  if (faults.length > 0) throw new Error(`${expression}: ${faults.join('; ')}`)
  return names
}

const RULES = listOf(fieldsOf(listOf(fieldsOf(yamlOf('deploy/prometheus/alerts.yml')[0])['groups'])[0])['rules']).map(
  fieldsOf,
)

describe('the reader of expressions', () => {
  it.each([
    ['sum(chronos_no_such_total)', 'there is no metric chronos_no_such_total'],
    ['rate(chronos_jobs{state="dead"}[5m])', 'chronos_jobs has no label state'],
    ['max by (kind) (chronos_jobs)', 'nothing has a label kind'],
    ['summ(chronos_jobs)', 'there is no metric summ'],
    ['sum(chronos_jobs', 'parentheses'],
  ])('rejects %s', (expression, fault) => {
    expect(() => metricsIn(expression)).toThrow(fault)
  })
})

describe('alerts', () => {
  it.each(RULES.map(rule => [String(rule['alert']), rule] as const))(
    '%s uses existing metrics and has a runbook entry',
    (name, rule) => {
      expect(name).toMatch(/^Chronos[A-Z][A-Za-z]+$/)
      expect(metricsIn(String(rule['expr'])).length).toBeGreaterThan(0)
      expect(String(rule['for'])).toMatch(/^\d+m$/)
      expect(['warning', 'critical']).toContain(fieldsOf(rule['labels'])['severity'])
      const { summary, description, runbook_url: runbook } = fieldsOf(rule['annotations'])
      expect(String(summary).length).toBeGreaterThan(10)
      expect(String(description)).toMatch(/\.$/)
      const [path, anchor] = String(runbook).split('#')
      const anchors = [...read(path!).matchAll(/^## (.+)$/gm)].map(match => match[1]!.toLowerCase())
      expect(anchors).toContain(anchor)
      expect(anchor).toBe(name.toLowerCase())
    },
  )

  it('cover R43: dead letters, retry rate, exhausted jobs, retry latency, late retries', () => {
    const names = RULES.map(rule => rule['alert'])
    expect(names).toEqual(
      expect.arrayContaining([
        'ChronosDeadLetters',
        'ChronosRetryRateHigh',
        'ChronosRetriesExhausted',
        'ChronosRetryLatencyHigh',
        'ChronosRetriesLate',
      ]),
    )
  })

  it('have a runbook without entries for removed alerts', () => {
    const pages = [...read('docs/runbook.md').matchAll(/^## (.+)$/gm)].map(match => match[1])
    expect(pages).toEqual(expect.arrayContaining(RULES.map(rule => String(rule['alert']))))
    expect(pages).toHaveLength(RULES.length)
  })

  it('have a test each, with existing series', () => {
    const tests = listOf(fieldsOf(yamlOf('deploy/prometheus/alerts.test.yml')[0])['tests']).map(fieldsOf)
    const tested = tests.flatMap(test => {
      for (const series of listOf(test['input_series'])) metricsIn(String(fieldsOf(series)['series']))
      const [expected] = listOf(test['promql_expr_test']).map(fieldsOf)
      return [...String(expected!['expr']).matchAll(/alertname="(\w+)"/g)].map(match => match[1])
    })
    expect(tested.sort()).toEqual(RULES.map(rule => String(rule['alert'])).sort())
  })

  it('are accepted by promtool, and pass their tests, where it is installed', () => {
    const isThere = spawnSync('promtool', ['--version']).status === 0
    if (!isThere) {
      console.log('not run: promtool is not installed')
      expect(spawnSync('promtool', ['--version']).error).toMatchObject({ code: 'ENOENT' })
      return
    }
    for (const args of [
      ['check', 'rules', 'deploy/prometheus/alerts.yml'],
      ['test', 'rules', 'deploy/prometheus/alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
      expect({ args, status, output: stdout + stderr }).toMatchObject({ status: 0 })
    }
  })
})

describe('dashboards', () => {
  it.each(['overview', 'queue'])('%s uses existing metrics', name => {
    const board = JSON.parse(read(`deploy/grafana/${name}.json`)) as Yaml
    const panels = listOf(fieldsOf(board)['panels']).map(fieldsOf)
    const expressions = all(board, 'expr').map(String)
    expect(expressions.length).toBeGreaterThan(15)
    for (const expression of expressions) expect(metricsIn(expression).length).toBeGreaterThan(0)
    const ids = panels.map(panel => panel['id'])
    expect(new Set(ids).size).toBe(ids.length)
    for (const panel of panels.filter(each => each['type'] !== 'row'))
      expect(String(panel['description'])).toMatch(/\.$/)
  })

  it('show every metric of Chronos', () => {
    const drawn = new Set(
      ['overview', 'queue'].flatMap(name =>
        all(JSON.parse(read(`deploy/grafana/${name}.json`)) as Yaml, 'expr').flatMap(each => metricsIn(String(each))),
      ),
    )
    const left = ['build_info', 'reading_age_seconds', 'webhook_endpoints_disabled']
    const missing = Object.entries<MetricFacts>(CATALOG)
      .filter(([name]) => !left.includes(name))
      .map(([name, { type }]) => PREFIX + name + (type === 'histogram' ? '_bucket' : ''))
      .filter(name => !drawn.has(name))
    expect(missing).toEqual([])
  })
})

describe('docs/metrics.md', () => {
  const facts: Readonly<Record<string, MetricFacts>> = {
    ...Object.fromEntries(Object.entries(CATALOG).map(([name, each]) => [PREFIX + name, each])),
    ...PROCESS_CATALOG,
  }
  const rows = [...read('docs/metrics.md').matchAll(/^\| `((?:chronos|process|nodejs)_\w+)` \|(.*)$/gm)].map(
    match => [match[1]!, match[2]!] as const,
  )

  it('has one line for each metric, and no other', () => {
    expect(rows.map(([name]) => name).sort()).toEqual(Object.keys(facts).sort())
  })

  it.each(rows)('%s has its labels', (name, rest) => {
    const { labels } = facts[name]!
    const [first = '', second = ''] = rest.split('|').map(cell => cell.trim())
    const cell = ['counter', 'gauge', 'histogram'].includes(first) ? second : first
    expect(cell.split(' ').filter(label => label !== '')).toEqual(labels.map(label => `\`${label}\``))
  })
})
