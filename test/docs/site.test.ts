import { describe, expect, it } from 'vitest'
import { MENU } from '../../site/menu.js'
import { llmsText, pages } from '../../site/pages.js'

describe('the documentation site', () => {
  it('has every page of docs/ in its menu', () => {
    expect(() => pages()).not.toThrow()
    expect(MENU.flatMap(({ pages: names }) => names)).toContain('tutorial')
  })

  it('leads from pages to pages, and otherwise to the repository', () => {
    const all = pages()
    expect(all.get('tutorial.md')).toContain('](retries.md)')
    expect(all.get('comparison.md')).toContain('](benchmarking.md)')
    expect(all.get('changelog.md')).toContain('](glossary.md)')
    const relative = [...all.values()].join('\n').matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)
    expect([...relative].map(match => match[1]!).filter(link => !/\.(md|png)$/.test(link))).toEqual([])
  })

  it('has a table of contents for language models', () => {
    const text = llmsText(pages())
    expect(text).toMatch(/^# Chronos\n\n> Chronos is a durable job system/)
    expect(text).toContain('- [Retries](retries.md): A retry policy is data.')
    for (const name of MENU.flatMap(({ pages: names }) => names)) expect(text).toContain(`](${name}.md): `)
  })
})
