import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RULES } from '../../src/core/alert/rules.js'
import { DEFAULT_RULES, viewRule } from '../../src/core/alert/settings.js'
import { partialPolicy } from '../../src/core/policy/form.js'
import { ENDPOINTS } from '../../src/server/routes/all.js'
import { readFiles } from '../support/tree.js'
import { say } from './memory-io.js'

// The worked examples of CONTRIBUTING.md.

const pageOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const CONTRIBUTING = pageOf('CONTRIBUTING.md')

const isComment = (line: string): boolean => /^\s*(\/\/|\/\*|\*)/.test(line)

/** The files that have a line of code that matches. */
function filesWith(pattern: RegExp, ...folders: readonly string[]): readonly string[] {
  return Object.entries(readFiles(/\.tsx?$/, folders))
    .filter(([, text]) => text.split('\n').some(line => !isComment(line) && pattern.test(line)))
    .map(([path]) => path)
}

describe('a REST action with its CLI command', () => {
  const FILES = [
    'src/engine/webhooks/webhooks.ts',
    'src/server/routes/webhooks.ts',
    'src/cli/commands/webhooks/command.ts',
  ]

  it('is named in three files: the method, the endpoint and the command', () => {
    expect(filesWith(/rotateSecret|rotate-secret/, 'src/engine', 'src/server', 'src/cli')).toEqual(FILES)
  })

  it('declares the method in its endpoint, from which the CLI makes the request', () => {
    const rotate = ENDPOINTS.find(({ path }) => path === '/webhooks/{id}/rotate-secret')
    expect(rotate?.call).toBe('webhooks.rotateSecret(id)')
  })

  it('has its files listed in CONTRIBUTING.md', () => {
    for (const path of FILES) expect(CONTRIBUTING).toContain(`\`${path}\``)
  })
})

describe('a policy setting', () => {
  const FILES = ['src/core/policy/form.ts', 'src/core/policy/lint.ts', 'src/core/policy/retry.ts']

  it('is named in three files', () => {
    // Its schema, and where the policy is read: as a property, or with its other settings.
    const named = /\bpolicy\??\.retryAfter\b|\bretryAfter: about\(|\bretryAfter\b.*\}(: Policy| = policy)/
    expect(filesWith(named, 'src/core', 'src/store', 'src/engine', 'src/cli', 'src/dashboard')).toEqual(FILES)
  })

  it('has a flag wherever its schema has one', async () => {
    const { stdout } = await say(['policy', 'preview', '--help'])
    const flags = Object.values(partialPolicy.fields).flatMap(({ about }) => about.flag ?? [])
    expect(flags.length).toBeGreaterThan(3)
    for (const flag of flags) expect(stdout).toContain(flag)
  })

  it('has its files listed in CONTRIBUTING.md', () => {
    for (const path of FILES) expect(CONTRIBUTING).toContain(`\`${path}\``)
  })
})

describe('an alert rule', () => {
  const FILE = 'src/core/alert/rules.ts'
  const page = pageOf('docs/alerts.md')

  it('is named in one file', () => {
    expect(filesWith(/exhausted-?burst/i, 'src')).toEqual([FILE])
  })

  it('has a row in docs/alerts.md with its words and defaults', () => {
    const rows = page.split('\n').filter(line => line.startsWith('| `'))
    expect(rows.slice(0, RULES.length)).toEqual(DEFAULT_RULES.map(rowOf))
  })

  it('has its details in docs/alerts.md', () => {
    const details = RULES.flatMap(({ name, details }) => (details === undefined ? [] : [`- \`${name}\`: ${details}`]))
    expect(page.split('\n').filter(line => /^- `[a-z-]+`: /.test(line))).toEqual(details)
  })

  it('has its file listed in CONTRIBUTING.md', () => {
    expect(CONTRIBUTING).toContain(`1. \`${FILE}\``)
    expect(CONTRIBUTING).toContain('| an alert rule | 1 |')
  })

  function rowOf(rule: (typeof DEFAULT_RULES)[number]): string {
    const { name, about, unit, fire, clear, critical, keep, window, ...rest } = viewRule(rule)
    const { urgentIf } = RULES.find(each => each.name === name)!
    const severe = [
      ...(critical === undefined ? [] : [critical === fire ? 'always' : `above ${critical}`]),
      ...(urgentIf === undefined ? [] : [`if ${urgentIf}`]),
    ]
    const span = (given: unknown): unknown => (given === undefined || given === '0ms' ? '–' : given)
    const [above, at] = unit === 'flag' ? ['–', '–'] : [fire, clear]
    const cells = [`\`${name}\``, about, span(window), above, at, span(rest.for), span(keep), severe.join(', or ')]
    return `| ${cells.join(' | ')} |`.replace(/\| {2}\|/g, '| |')
  }
})
