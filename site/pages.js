import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MENU } from './menu.js'

export const ROOT = fileURLToPath(new URL('../', import.meta.url))
const REPOSITORY = 'https://github.com/chronos-jobs/chronos/blob/main'

/** Pages that live outside of docs/, by the path that they have on the site. */
const OUTSIDE = new Map([
  ['CHANGELOG.md', 'changelog.md'],
  ['deploy/README.md', 'deploying.md'],
  ['bench/README.md', 'benchmarking.md'],
])

/** @param {string} path */
const readRoot = path => readFileSync(posix.join(ROOT, path), 'utf8')

/**
 * Every Markdown file below a folder.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function markdownIn(folder) {
  return readdirSync(posix.join(ROOT, folder), { recursive: true })
    .map(path => posix.join(folder, String(path).replaceAll('\\', '/')))
    .filter(path => path.endsWith('.md'))
}

/** Where a file of the repository is on the site, or undefined. @param {string} path */
function placeOf(path) {
  return path.startsWith('docs/') ? path.slice('docs/'.length) : OUTSIDE.get(path)
}

/**
 * Links to files that are not pages lead to the repository.
 *
 * @param {string} source
 * @param {string} text
 */
function withLinks(source, text) {
  const place = posix.dirname(placeOf(source) ?? source)
  return text.replaceAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)/g, (_, link, anchor = '') => {
    const path = posix.join(posix.dirname(source), link)
    const target = path.endsWith('.md') ? placeOf(path) : undefined
    if (target === undefined) return `](${REPOSITORY}/${path}${anchor})`
    return `](${posix.relative(place, target) || posix.basename(target)}${anchor})`
  })
}

/**
 * The pages of the site by their path. Throws if the menu and docs/ differ.
 *
 * @returns {ReadonlyMap<string, string>}
 */
export function pages() {
  const sources = [...markdownIn('docs'), ...OUTSIDE.keys()]
  checkMenu(sources.map(path => placeOf(path) ?? path))
  return new Map(sources.map(path => [placeOf(path) ?? path, withLinks(path, readRoot(path))]))
}

/** @param {readonly string[]} places */
function checkMenu(places) {
  const listed = new Set(MENU.flatMap(({ pages: names }) => names.map(name => `${name}.md`)))
  const missing = places.filter(place => !place.includes('/') && !isOutside(place) && !listed.has(place))
  const spare = [...listed].filter(place => !places.includes(place))
  if (missing.length > 0) throw new Error(`site/menu.js does not list ${missing.join(', ')}`)
  if (spare.length > 0) throw new Error(`site/menu.js lists ${spare.join(', ')}, which do not exist in docs/`)
}

/** @param {string} place */
const isOutside = place => [...OUTSIDE.values()].includes(place)

/** @param {string} text */
export function titleOf(text) {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}

/** The first sentence after the title. @param {string} text */
function summaryOf(text) {
  const paragraph = text.replace(/^# .+\n+/, '').split('\n\n')[0] ?? ''
  const plain = paragraph.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('\n', ' ')
  return /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain
}

/** A table of contents for language models: https://llmstxt.org. @param {ReadonlyMap<string, string>} all */
export function llmsText(all) {
  const sections = MENU.map(({ text, pages: names }) => {
    const lines = names.map(name => {
      const page = all.get(`${name}.md`) ?? ''
      return `- [${titleOf(page)}](${name}.md): ${summaryOf(page)}`
    })
    return `## ${text}\n\n${lines.join('\n')}`
  })
  const readme = readRoot('README.md')
  return `# Chronos\n\n> ${summaryOf(readme)}\n\n${sections.join('\n\n')}\n`
}
