import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { root } from './entries.js'

/**
 * Writes the licences of the packages whose code is in the bundles.
 * @param {Iterable<string>} modules paths of the bundled modules
 */
export function writeLicenses(modules) {
  /** @type {Set<string>} */
  const names = new Set()
  for (const id of modules) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id) ?? []
    if (name !== undefined) names.add(name)
  }
  const texts = [...names].sort().map(name => {
    const folder = `${root}node_modules/${name}/`
    const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'))
    const file = readdirSync(folder).find(each => /^licen[cs]e(\.|$)/i.test(each))
    if (file === undefined) throw new Error(`${name} has no licence file; it must not be bundled`)
    return `## ${name} ${version} (${license})\n\n${readFileSync(folder + file, 'utf8').trim()}\n`
  })
  writeFileSync(`${root}dist/LICENSES.md`, `# Licences of the packages in these files\n\n${texts.join('\n')}`)
}
