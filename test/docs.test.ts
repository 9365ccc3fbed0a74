import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JOB_STATES, PHASES } from '../src/core/job/job.js'
import { ROOT, readFiles } from './support/tree.js'

const PAGES = readFiles(/\.md$/, ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docs', 'deploy', 'bench'])

/** Paths in code marks that begin with a folder of the repository. Generated folders are left out. */
function pathsIn(page: string): readonly string[] {
  return [...page.matchAll(/`((?:src|test|bench|deploy|docs|examples)\/(?!\.cache|node_modules)[\w./@-]*)`/g)].map(
    match => match[1]!,
  )
}

/** Relative links, without their anchors. */
function linksIn(page: string): readonly string[] {
  return [...page.matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)].map(match => match[1]!)
}

describe('documentation', () => {
  it('is found', () => {
    expect(Object.keys(PAGES)).toEqual(expect.arrayContaining(['README.md', 'docs/architecture.md']))
    expect(pathsIn('see `src/core/` and `src/a.ts`, not `src/*.ts`')).toEqual(['src/core/', 'src/a.ts'])
    expect(linksIn('[a](b.md#c) [d](https://e.example) [f](#g)')).toEqual(['b.md'])
  })

  it.each(Object.keys(PAGES))('%s names only files that exist', path => {
    expect(pathsIn(PAGES[path]!).filter(each => !existsSync(join(ROOT, each)))).toEqual([])
  })

  it.each(Object.keys(PAGES))('%s links only to files that exist', path => {
    const broken = linksIn(PAGES[path]!).filter(link => !existsSync(join(ROOT, dirname(path), link)))
    expect(broken).toEqual([])
  })
})

describe('docs/glossary.md', () => {
  const page = PAGES['docs/glossary.md']!

  it.each(['FAILED', 'fatal', 'COMPLETED', 'max attempts', 'visibility timeout', 'stalled', 'discarded', 'DLQ'])(
    'explains "%s"',
    word => expect(page).toMatch(new RegExp(`^\\| [^|]*\\b${word}\\b`, 'm')),
  )

  it.each([...JOB_STATES, ...PHASES])('names our "%s"', word => expect(page).toContain(`\`${word}\``))
})

describe('docs/architecture.md', () => {
  const page = PAGES['docs/architecture.md']!
  const walk = page.slice(page.indexOf('## One job'), page.indexOf('## The store'))

  it('follows one job from enqueue to redrive', () => {
    const steps = [...walk.matchAll(/^\d\. \*\*(\w+)\.\*\*/gm)].map(match => match[1])
    expect(steps).toEqual(['Enqueue', 'Claim', 'Run', 'Fail', 'Retry', 'Dead', 'Redrive'])
  })

  it('names functions that their files have', () => {
    const named = [...walk.matchAll(/`(\w+)(?:\.(\w+))?` \(`(src\/[^`]+)`/g)]
    expect(named.length).toBeGreaterThan(8)
    const missing = named
      .filter(([, first, second, path]) => !readFileSync(join(ROOT, path!), 'utf8').includes(second ?? first!))
      .map(([text]) => text)
    expect(missing).toEqual([])
  })

  it('names every folder of core and of the engine', () => {
    const folders = Object.keys(readFiles(/\.ts$/, ['src/core', 'src/engine'])).map(path => `${dirname(path)}/`)
    expect([...new Set(folders)].filter(folder => !page.includes(`\`${folder}\``))).toEqual([])
  })
})

describe('docs/requirements.md', () => {
  const page = PAGES['docs/requirements.md']!
  const [required = '', promised = '', attacked = '', shown = '', limited = ''] = page.split(
    /^## (?:Promises of the README|Under attack|The dashboard|Limits and order)$/m,
  )

  /** The requirements that exist. */
  const numbers = [
    [1, 17],
    [20, 24],
    [30, 34],
    [40, 46],
    [50, 56],
  ].flatMap(([from, to]) => Array.from({ length: to! - from! + 1 }, (_, i) => `R${from! + i}`))

  /** The cells of each row, without the heads of the tables. */
  const rowsOf = (text: string): readonly (readonly string[])[] =>
    [...text.matchAll(/^\| (.+) \|$/gm)]
      .map(match => match[1]!.split(' | '))
      .filter(([first]) => !/^(#|Promise)$/.test(first!))

  const testsIn = (cell: string): readonly (readonly [path: string, title: string])[] =>
    cell.split('<br>').map(one => {
      const [, path = '', title = ''] = /^`(test\/[^`]+)` › (.+)$/.exec(one) ?? []
      return [path, title]
    })

  /** The first arguments of calls that are texts: among them the titles of tests. */
  const titlesIn = (text: string): readonly string[] =>
    [...text.matchAll(/(?<!\.(?:skip|todo))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1(?=\s*,)/g)].map(match =>
      match[2]!.replaceAll(/\\(['"`])/g, '$1'),
    )

  const missingIn = (cell: string): readonly string[] =>
    testsIn(cell).flatMap(([path, title]) => {
      const exists = path !== '' && existsSync(join(ROOT, path))
      return exists && titlesIn(readFileSync(join(ROOT, path), 'utf8')).includes(title) ? [] : [`${path} › ${title}`]
    })

  it('finds titles, except those of tests that are skipped', () => {
    expect(titlesIn(`it('a', f) it.each(b)(\n  "c's", f) it.skip('d', f) test('e\\'s', f) expect('f')`)).toEqual([
      'a',
      "c's",
      "e's",
    ])
    expect(missingIn('`test/docs.test.ts` › is found')).toEqual([])
    expect(missingIn('`test/docs.test.ts` › is lost')).toEqual(['test/docs.test.ts › is lost'])
    expect(missingIn('no test')).toHaveLength(1)
  })

  it('lists every requirement once, in groups', () => {
    const listed = rowsOf(required).map(([number]) => number!)
    expect([...listed].sort()).toEqual([...numbers].sort())
  })

  it.each(rowsOf(required))('%s (%s) names tests that exist', (_number, _words, cell) => {
    expect(missingIn(cell!)).toEqual([])
  })

  it('lists every promise of the README', () => {
    const readme = PAGES['README.md']!
    const section = readme.slice(readme.indexOf('## What you can rely on'), readme.indexOf('## Documentation'))
    const promises = [...section.matchAll(/^- (.+)$/gm)].flatMap(match => match[1]!.split(/(?<=\.) /))
    expect(promises.length).toBeGreaterThan(5)
    expect(rowsOf(promised).map(([words]) => words)).toEqual(promises)
  })

  it('lists what attacks must not achieve', () => {
    expect(rowsOf(attacked).length).toBeGreaterThan(20)
  })

  it('lists what an operator can rely on in the dashboard', () => {
    expect(rowsOf(shown).length).toBeGreaterThan(12)
  })

  it('lists what limits promise', () => {
    expect(rowsOf(limited).length).toBeGreaterThan(12)
  })

  it.each([...rowsOf(promised), ...rowsOf(attacked), ...rowsOf(shown), ...rowsOf(limited)])(
    '%s names tests that exist',
    (_words, cell) => {
      expect(missingIn(cell!)).toEqual([])
    },
  )
})
