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
