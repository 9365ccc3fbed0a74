import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../support/tree.js'
import { filesOf, type Packed, packed } from './packed.js'

const PROGRAMS = join(ROOT, 'test', 'package', 'programs')
/** As programs see the package that cannot load ES modules with `require`: Jest, and older tools. */
const WITHOUT_REQUIRE_OF_MODULES = '--no-experimental-require-module'

let package_: Packed

beforeAll(() => {
  package_ = packed()
  cpSync(PROGRAMS, package_.app, { recursive: true })
})
afterAll(() => package_.remove())

async function run(...args: readonly string[]): Promise<string> {
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: package_.app, env })
  expect(stderr).toBe('')
  return stdout
}

describe('the package', () => {
  it('has no fault that publint knows', async () => {
    const { messages } = await publint({ pkgDir: package_.installed, pack: false, strict: true })
    expect(messages).toEqual([])
  })

  it('has types for each way to resolve it', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(package_.tarball))
    expect(analysis.types).toEqual({ kind: 'included' })
    expect('problems' in analysis && analysis.problems).toEqual([])
  })

  it('contains the source of everything that its source maps name', () => {
    const maps = filesOf(join(package_.installed, 'dist')).filter(path => path.endsWith('.map'))
    expect(maps.length).toBeGreaterThan(10)
    for (const path of maps) {
      const map = JSON.parse(readFileSync(join(package_.installed, 'dist', path), 'utf8')) as SourceMap
      expect(map.sourcesContent, path).toHaveLength(map.sources.length)
      expect(map.sourcesContent, path).not.toContain(null)
    }
  })

  it('has no character for which V8 would keep two bytes for each of a file', () => {
    const sources = filesOf(join(package_.installed, 'dist')).filter(path => /^(chunks\/)?[^/]+\.c?js$/.test(path))
    expect(sources.length).toBeGreaterThan(50)
    for (const path of sources)
      expect(readFileSync(join(package_.installed, 'dist', path), 'utf8'), path).not.toMatch(/[^\0-\xff]/)
  })

  it('has a declaration for `import` and one for `require` beside each entry point', () => {
    const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      exports: Record<string, string | Record<string, string>>
    }
    const files = filesOf(package_.installed)
    for (const [entryPoint, targets] of Object.entries(exports)) {
      if (typeof targets === 'string') continue
      expect(Object.keys(targets), entryPoint).toEqual(['module-sync', 'require', 'default'])
      for (const [, name = ''] of Object.values(targets).map(target => /^\.\/(.+)\.c?js$/.exec(target) ?? []))
        expect(files).toEqual(expect.arrayContaining([`${name}.js`, `${name}.cjs`, `${name}.d.ts`, `${name}.d.cts`]))
    }
  })
})

describe('package.json', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>
  const versionsOf = (group: string): readonly [string, string][] =>
    Object.entries(manifest[group] as Record<string, string>)

  it('gives users ranges, and pins what only this repository needs', () => {
    for (const [name, range] of [...versionsOf('dependencies'), ...versionsOf('optionalDependencies')])
      expect(range, name).toMatch(/^\^\d+\.\d+\.\d+$/)
    for (const [name, version] of versionsOf('devDependencies'))
      expect(version, name).toMatch(/^(npm:\w+@)?\d+\.\d+\.\d+/)
  })

  it('installs few packages with the library; those of the server and the command line are bundled', () => {
    expect(versionsOf('dependencies').map(([name]) => name)).toEqual([
      '@standard-schema/spec',
      'croner',
      'ipaddr.js',
      'pino',
      'undici',
    ])
    const licenses = readFileSync(join(package_.installed, 'dist', 'LICENSES.md'), 'utf8')
    const bundled = [...licenses.matchAll(/^## (\S+) \S+ \((.+)\)$/gm)].map(([, name, license]) => [name, license])
    expect(bundled).toEqual([
      ['@hono/node-server', 'MIT'],
      ['commander', 'MIT'],
      ['hono', 'MIT'],
    ])
    expect(licenses.match(/Permission is hereby granted/g)).toHaveLength(bundled.length)
  })

  it('says where the source, the issues and the homepage are, and names the command like the package, too', () => {
    const repository = 'https://github.com/chronos-jobs/chronos'
    expect(manifest).toMatchObject({
      repository: { type: 'git', url: `git+${repository}.git` },
      homepage: `${repository}#readme`,
      bugs: { url: `${repository}/issues` },
      funding: repository,
      bin: { chronos: './dist/cli.js', 'chronos-jobs': './dist/cli.js' },
    })
  })

  it('lists every entry point for compilers that do not read exports', () => {
    const { exports, typesVersions } = manifest as {
      exports: Record<string, string | Record<string, string>>
      typesVersions: { '*': Record<string, readonly string[]> }
    }
    const expected = Object.entries(exports).flatMap(([name, targets]) =>
      typeof targets === 'string' || name === '.'
        ? []
        : [[name.slice(2), [targets['require']!.replace(/cjs$/, 'd.cts')]]],
    )
    expect(typesVersions['*']).toEqual(Object.fromEntries(expected))
  })
})

interface SourceMap {
  readonly sources: readonly string[]
  readonly sourcesContent?: readonly (string | null)[]
}

describe('programs', () => {
  const everything = {
    job: { state: 'succeeded', attempt: 3, result: 'done' },
    dashboard: true,
    testing: ['succeeded'],
    postgres: 'STORE_UNAVAILABLE',
    functions: ['function', 'function'],
  }

  it('in CommonJS get the same objects as ES modules in one process', async () => {
    const found = JSON.parse(await run('program.mjs')) as Record<string, object>
    expect(Object.keys(found).length).toBeGreaterThan(6)
    for (const [entryPoint, values] of Object.entries(found))
      expect(values, entryPoint).toEqual({ imported: expect.any(Number), missing: [], twice: [] })
  })

  it('in CommonJS use every entry point', async () => {
    expect(JSON.parse(await run('program.cjs'))).toEqual({ ...everything, format: 'js', sameAsImported: true })
  })

  it('use every entry point where `require` cannot load ES modules', async () => {
    const found = JSON.parse(await run(WITHOUT_REQUIRE_OF_MODULES, 'program.cjs'))
    expect(found).toEqual({ ...everything, format: 'cjs', sameAsImported: false })
  })
})

describe('types', () => {
  const require = createRequire(import.meta.url)
  /** The compiler of today knows neither node10 nor its `typesVersions`; that of the type checker of packages does. */
  const older = createRequire(require.resolve('@arethetypeswrong/core')).resolve('typescript/lib/tsc.js')
  const today = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')

  it.each([
    ['node16', older, ['--module', 'node16', '--skipLibCheck'], ['program.cts', 'program.mts']],
    ['nodenext', today, ['--module', 'nodenext'], ['program.cts', 'program.mts']],
    ['bundler', today, ['--module', 'esnext', '--moduleResolution', 'bundler'], ['program.mts']],
    ['node10', older, ['--module', 'commonjs', '--moduleResolution', 'node10', '--skipLibCheck'], ['program.cts']],
  ])('resolve with %s', async (_name, compiler, options, files) => {
    const source = readFileSync(join(PROGRAMS, 'program.cts'), 'utf8')
    const asModule = source.replace(/^import (\w+) = require\((.+)\)/, 'import * as $1 from $2')
    writeFileSync(join(package_.app, 'program.mts'), asModule)
    const strict = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', ...options]
    expect(await run(compiler, ...strict, ...files)).toBe('')
  })
})
