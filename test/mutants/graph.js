import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { ROOT, transpiled } from '../simulation/children.js'

// Modules of the repository that can be loaded many times in one process, each time with another one of them replaced.
// Starting a process for each would take longer than everything else.

/**
 * @typedef {object} Compiled
 * @property {string} code
 * @property {Buffer} [cachedData]
 */

/**
 * @typedef {object} Bug
 * @property {string} file
 * @property {string} find
 * @property {string} replace
 */

/** @type {Map<string, Compiled>} */
const compiled = new Map()

/**
 * @param {string} path
 * @returns {Promise<Compiled>}
 */
async function compiledOf(path) {
  const known = compiled.get(path)
  if (known) return known
  const text = readFileSync(join(ROOT, path), 'utf8')
  const made = { code: path.endsWith('.ts') ? await transpiled(path, text) : text }
  compiled.set(path, made)
  return made
}

export class Graph {
  /** @type {Map<string, Promise<vm.SourceTextModule>>} */
  #modules = new Map()
  /** @type {Map<string, Promise<vm.SyntheticModule>>} */
  #packages = new Map()
  #replaced

  /** @param {{ path: string, code: string }} [replaced] a module with other code */
  constructor(replaced) {
    this.#replaced = replaced
  }

  /** @param {Bug} [bug] */
  static async with(bug) {
    if (!bug) return new Graph()
    const { file, find, replace } = bug
    const text = readFileSync(join(ROOT, file), 'utf8').replace(find, () => replace)
    return new Graph({ path: file, code: await transpiled(file, text) })
  }

  /**
   * The exports of a module of the repository.
   *
   * @param {string} path
   * @returns {Promise<any>}
   */
  async load(path) {
    const module = await this.#module(path)
    if (module.status === 'unlinked') await module.link((specifier, from) => this.#resolve(specifier, from.identifier))
    if (module.status === 'linked') await module.evaluate()
    return module.namespace
  }

  /** @param {string} path */
  #module(path) {
    const known = this.#modules.get(path)
    if (known) return known
    const made = this.#make(path)
    this.#modules.set(path, made)
    return made
  }

  /** @param {string} path */
  async #make(path) {
    const replaced = this.#replaced?.path === path ? this.#replaced : undefined
    const source = await compiledOf(path)
    const module = new vm.SourceTextModule(replaced?.code ?? source.code, {
      identifier: path,
      ...(!replaced && source.cachedData && { cachedData: source.cachedData }),
      initializeImportMeta: meta => {
        meta.url = pathToFileURL(join(ROOT, path)).href
      },
      importModuleDynamically: async specifier => {
        if (!specifier.startsWith('.')) return import(specifier)
        return this.load(sourceOf(specifier, path))
      },
    })
    // Node loses the callback above for a module from a cache.
    if (!replaced && !source.code.includes('import(')) source.cachedData ??= cacheOf(module)
    return module
  }

  /**
   * @param {string} specifier
   * @param {string} from
   */
  #resolve(specifier, from) {
    return specifier.startsWith('.') ? this.#module(sourceOf(specifier, from)) : this.#package(specifier)
  }

  /** @param {string} specifier */
  #package(specifier) {
    const known = this.#packages.get(specifier)
    if (known) return known
    const made = this.#wrap(specifier)
    this.#packages.set(specifier, made)
    return made
  }

  /** @param {string} specifier */
  async #wrap(specifier) {
    const found = await import(specifier)
    const names = Object.keys(found)
    const module = new vm.SyntheticModule(names, () => {
      for (const each of names) module.setExport(each, found[each])
    })
    await module.link(() => {
      throw new Error('a package has no imports here')
    })
    await module.evaluate()
    return module
  }
}

/**
 * @param {string} specifier
 * @param {string} from
 */
function sourceOf(specifier, from) {
  const path = join(dirname(from), specifier)
  const source = path.replace(/\.js$/, '.ts')
  return existsSync(join(ROOT, source)) ? source : path
}

/**
 * @param {vm.SourceTextModule} module
 * @returns {Buffer}
 */
function cacheOf(module) {
  // The types of Node leave it out.
  return /** @type {any} */ (module).createCachedData()
}
