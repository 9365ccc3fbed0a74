import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEATH_REASONS } from '../../src/core/job/job.js'
import { ROOT, readFiles } from '../support/tree.js'
import { blocksOf } from './code-blocks.js'
import { commandsPage, everyCommand } from './reference/commands.js'
import { eventsPage, optionsPage } from './reference/declarations.js'
import { errorsPage } from './reference/errors.js'

// npm run docs:reference writes these pages anew.

describe('the reference', () => {
  it.each([
    ['commands', commandsPage],
    ['errors', errorsPage],
    ['events', eventsPage],
    ['options', optionsPage],
  ])('lists %s as the code has them', async (name, make) => {
    await expect(make()).toMatchFileSnapshot(join(ROOT, 'docs', 'reference', `${name}.md`))
  })

  it('explains every reason of a death', () => {
    const page = readFiles(/retries\.md$/, ['docs'])['docs/retries.md']!
    const section = page.slice(page.indexOf('## How a job ends'))
    for (const reason of DEATH_REASONS) expect(section).toContain(`\`${reason}\``)
  })
})

describe('commands in the documentation', () => {
  const pages = readFiles(/\.md$/, ['README.md', 'docs', 'deploy'])
  const commands = new Map(everyCommand())

  /** `chronos …` of a block, without what the shell does with it. */
  const linesOf = (code: string): readonly string[] =>
    code
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .flatMap(line => /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npx )?chronos((?: .*)?)$/.exec(line)?.[1] ?? [])
      .map(rest => rest.replace(/ #.*$| [|>&].*$/, '').trim())

  const problemOf = (line: string): string | undefined => {
    const words = line.split(/\s+/)
    const name = [words.slice(0, 2).join(' '), words[0]!].find(each => commands.has(each))
    if (line === '' || /^(help|--help|--version)/.test(line)) return undefined
    const isGroup = name !== undefined && commands.get(name)!.commands.length > 0
    if (name === undefined || (isGroup && words.length > 1))
      return `there is no command "${words.slice(0, 2).join(' ')}"`
    const known = new Set(commands.get(name)!.options.flatMap(({ long, short }) => [long, short]))
    const unquoted = line.replaceAll(/'[^']*'|"[^"]*"/g, "''")
    const flags = [...unquoted.matchAll(/(?<= )(--?[a-z][\w-]*)/g)].map(match => match[1]!)
    const unknown = flags.find(flag => !known.has(flag) && flag !== '--help')
    return unknown === undefined ? undefined : `chronos ${name} has no flag ${unknown}`
  }

  it('exist, with their flags', () => {
    expect(problemOf('jobs lst')).toBe('there is no command "jobs lst"')
    expect(problemOf("jobs list --stat 'x --y'")).toBe('chronos jobs list has no flag --stat')
    const blocks = blocksOf(pages).filter(({ language }) => ['', 'sh', 'bash', 'text'].includes(language))
    const lines = blocks.flatMap(({ page, line, code }) => linesOf(code).map(text => ({ page, line, text })))
    expect(lines.length).toBeGreaterThan(40)
    const problems = lines.flatMap(({ page, line, text }) => {
      const problem = problemOf(text)
      return problem === undefined ? [] : [`${page}:${line} ${problem}`]
    })
    expect(problems).toEqual([])
  })
})
