import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  functionsOf,
  importsOf,
  lineAt,
  readFiles,
  readTree,
  resolveImport,
  type Tree,
  under,
} from './support/tree.js'

/** A house rule: what it asks for, why, who may break it, and small trees that break and keep it. */
interface Rule {
  readonly says: string
  readonly because: string
  /** Files that may do what is forbidden, each with its reason. */
  readonly except?: Readonly<Record<string, string>>
  readonly check: (tree: Tree) => readonly Finding[]
  /** The files to check; our text files if absent. */
  readonly files?: () => Tree
  /** Each must be found fault with: a rule that can't fail keeps nothing. */
  readonly breaks: readonly Tree[]
  readonly keeps: Tree
}

interface Finding {
  readonly path: string
  readonly line?: number
  readonly what: string
}

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 70
const FOLDER_FILES_MAX = 20
const ROOT_VALUES_MAX = 12

const RULES: readonly Rule[] = [
  {
    says: 'imports point one way: core ← store ← engine ← server ← cli, and the dashboard needs core alone',
    because:
      'Core is pure and runs in a browser, a store decides nothing, and the engine knows no database. One wrong import ends that.',
    check: wrongImports,
    breaks: [
      { 'src/core/policy/retry.ts': "import { fetcher } from '../../engine/worker/fetcher.js'" },
      { 'src/core/job/payload.ts': "import { createHash } from 'node:crypto'" },
      { 'src/core/schedule/schedule.ts': "import { Cron } from 'croner'" },
      { 'src/core/values/standard-schema.ts': "import { validate } from '@standard-schema/spec'" },
      { 'src/store/cursor.ts': "import { memory } from './memory/tables.js'" },
      { 'src/store/memory.ts': "import type { Worker } from '../engine/worker.js'" },
      { 'src/store/memory.ts': "import { open } from './sqlite/driver.js'" },
      { 'src/store/memory/tables.ts': "import { DatabaseSync } from 'node:sqlite'" },
      { 'src/store/sqlite/store.ts': "export { rows } from '../memory.js'" },
      { 'src/store/sqlite/store.ts': "import { pino } from 'pino'" },
      { 'src/store/sqlite/store.ts': "import { Pool } from 'pg'" },
      { 'src/store/postgres/store.ts': "import { toText } from '../sqlite/rows.js'" },
      { 'src/engine/client/chronos.ts': "const { openSqlite } = await import('../../store/sqlite/store.js')" },
      { 'src/engine/client/chronos.ts': "import { readFileSync } from 'node:fs'" },
      { 'src/engine/client/chronos.ts': "import '../../cli/main.js'" },
      { 'src/engine/client/chronos.ts': "import { Hono } from 'hono'" },
      { 'src/server/http/router.ts': "import { openSqlite } from '../../store/sqlite/store.js'" },
      { 'src/server/http/router.ts': "import { Agent } from 'undici'" },
      { 'src/dashboard/data/api.ts': "import { Jobs } from '../../engine/jobs/jobs.js'" },
      { 'src/engine/http/http-job.ts': "import { Agent } from 'undici'" },
      { 'src/engine/webhooks/webhooks.ts': "import { connect } from 'node:net'" },
      { 'src/engine/egress/egress.ts': "import { Worker } from '../worker.js'" },
      { 'src/engine/worker/runner.ts': "import { Worker } from 'node:worker_threads'" },
      { 'src/client/rest.ts': "import { createHash } from 'node:crypto'" },
      { 'src/client/calls.ts': "import { ENDPOINTS } from '../server/routes/all.js'" },
      { 'src/plugins/first.ts': '' },
    ],
    keeps: {
      'src/core/schedule/cron.ts': "import { Cron } from 'croner'",
      'src/core/values/standard-schema.ts':
        "import type { StandardSchemaV1 } from '@standard-schema/spec'\nimport { a } from './a.js'",
      'src/store/memory.ts': "import type { Job } from '../core/job.js'\nimport { tables } from './memory/tables.js'",
      'src/store/memory/tables.ts': "import { cursor } from '../cursor.js'",
      'src/store/sqlite/file/driver.ts':
        "import { a } from '../../store.js'\nconst driver = await import('node:sqlite')",
      'src/engine/worker/worker.ts': "import { pino } from 'pino'\nimport type { Store } from '../../store/store.js'",
      'src/engine/words.ts': "const text = `import { no } from '../cli/main.js'` // import '../cli/main.js'",
      'src/engine/egress/egress.ts': "import { Agent } from 'undici'\nimport type { Log } from '../client/log.js'",
      'src/cli/main.ts': "import { openSqlite } from '../store/sqlite/store.js'",
      'src/index.ts': "export { createChronos } from './engine/chronos.js'",
      'src/server/http/router.ts': "import { Hono } from 'hono'\nimport { Batcher } from '../../engine/batcher.js'",
      'src/dashboard/data/api.ts':
        "import { simulate } from '../../core/simulation/simulate.js'\nimport type { Jobs } from '../../engine/jobs/jobs.js'",
    },
  },
  {
    says: 'time and dice come from src/engine/time/system.ts',
    because: 'Everything else is given a clock and dice, so that tests and simulations can replay any moment.',
    except: {
      'src/engine/time/system.ts': 'the one place that has them',
      'src/client/system.ts': 'a browser or an edge runtime can not load the one place',
      'src/server/metrics/process.ts': 'measures the process itself: start time, event loop and garbage collection',
      'src/store/postgres/connection/thread.js': 'stands in for a thread that may not answer, and measures its silence',
      'src/engine/threads/thread.js': 'runs in a thread, which gets the difference to the clock of the store',
      'src/store/sqlite/file/thread.js': 'stands in for a thread that may not answer, and measures its silence',
    },
    check: timeAndDice,
    breaks: [
      'Date.now()',
      'new Date()',
      'new Date',
      'performance.now()',
      'Math.random()',
      'setTimeout(run, 5)',
      'setInterval(run, 5)',
      'setImmediate(run)',
      "import { randomUUID } from 'node:crypto'",
      'crypto.randomBytes(16)',
      'process.hrtime.bigint()',
      'AbortSignal.timeout(5)',
      "import { wait } from 'node:timers/promises'",
    ].map(code => ({ 'src/cli/main.ts': code })),
    keeps: {
      'src/core/job/job.ts': 'new Date(0); clock.timer(5, run); // Date.now()',
      'src/cli/output/print.ts': "const text = 'Math.random()'; request.setTimeout(5)",
    },
  },
  {
    says: 'nothing is any',
    because: 'One of them silences the compiler for everything it touches; unknown asks for a check instead.',
    check: anyTypes,
    breaks: ['const a = b as any', 'function f(a: any) {}', 'const a: any[] = []', 'type A = Map<string, any>'].map(
      code => ({ 'src/core/a.ts': code }),
    ),
    keeps: { 'src/core/a.ts': 'await Promise.any(all) // any\nconst company = `any`' },
  },
  {
    says: 'values are not imported in a circle',
    because: 'A circle has no first file: its load order is arbitrary, and no part of it can be read alone.',
    check: importCircles,
    breaks: [
      {
        'src/core/a.ts': "import { b } from './b.js'",
        'src/core/b.ts': "export { c } from './c.js'",
        'src/core/c.ts': "await import('./a.js')",
      },
    ],
    keeps: {
      'src/core/a.ts': "import { b } from './b.js'\nimport { c } from './c.js'",
      'src/core/b.ts': "import { c } from './c.js'\nimport type { A } from './a.js'\ntype T = import('./a.js').T",
      'src/core/c.ts': '',
    },
  },
  {
    says: `a file has at most ${FILE_LINES_MAX} lines`,
    because: 'Beyond that it is two things. If it really is one, make it an exception and say why.',
    check: longFiles,
    breaks: [{ 'src/core/a.ts': 'work()\n'.repeat(FILE_LINES_MAX + 1) }],
    keeps: { 'src/core/a.ts': 'work()\n'.repeat(FILE_LINES_MAX) },
  },
  {
    says: `a function has at most ${FUNCTION_LINES_MAX} lines`,
    because: 'A function is read at one glance. If it really is one thing, make its file an exception and say why.',
    check: longFunctions,
    breaks: [
      long('function work(a: number): void'),
      long('export async function work(): Promise<{ a: string }>'),
      long('const work = (a: number): { a: 1 } | undefined =>'),
      long('const work = a =>'),
      long('class A { async work<T>({ a }: B = {}): Promise<T[]>'),
      long(`const text = \`\${a({ b })}{\`; function work()`),
      long("const brace = /[{}']/; function work()"),
      long('function work(a: unknown): (b: unknown) => boolean'),
    ].map(code => ({ 'src/core/a.ts': code })),
    keeps: {
      'src/core/a.ts': long('if (a)'),
      'src/core/b.ts': long('class A'),
      'src/core/d.ts': long('const a = b ? c() : d\nif (a)'),
      'src/core/c.ts': 'function work() {\n  run()\n}\n'.repeat(FUNCTION_LINES_MAX),
    },
  },
  {
    says: `a folder has at most ${FOLDER_FILES_MAX} files`,
    because: 'Its name no longer says what is in it. Split it by domain, into folders whose names answer a question.',
    files: () => readFiles(/./, ['src', 'test']),
    check: fullFolders,
    breaks: [folder('src/core/job', FOLDER_FILES_MAX + 1), folder('test/core/job', FOLDER_FILES_MAX + 1)],
    keeps: { ...folder('src/core', FOLDER_FILES_MAX), ...folder('src/core/job', FOLDER_FILES_MAX) },
  },
  {
    says: `the root entry point exports at most ${ROOT_VALUES_MAX} values`,
    because: 'A newcomer has to know all of them. Export further values from a sub-path.',
    check: rootValues,
    breaks: [
      { 'src/index.ts': "export { a, b, c, d, e, f, g, h, i, j, k, l, m } from './a.js'" },
      { 'src/index.ts': 'abcdefghijklm'.replace(/./g, name => `export const ${name} = 1\n`) },
      { 'src/index.ts': "export * from './engine/chronos.js'" },
    ],
    keeps: {
      'src/index.ts':
        "export { a, b, c, d, e, f, g, h, i, j, k, l, type M } from './a.js'\nexport type { D } from './d.js'",
    },
  },
  {
    says: 'files are named for things of the domain',
    because: 'The names utils, helpers, types, common and misc do not say what belongs there, so everything does.',
    check: vagueNames,
    breaks: [{ 'src/core/utils.ts': '' }, { 'src/types/job.ts': '' }, { 'test/support/helpers.test.ts': '' }],
    keeps: { 'src/core/job/job.ts': '', 'src/core/typesetting.ts': '' },
  },
  {
    says: 'nothing is left for later in a comment',
    because: 'A note in the code is easily forgotten. Open an issue, or do it.',
    except: { 'test/tidy.test.ts': 'names what it looks for' },
    check: loose,
    breaks: [{ 'src/core/job/job.ts': '// TODO: more' }, { 'README.md': 'FIXME' }, { 'bench/run.js': '/* XXX */' }],
    keeps: { 'src/core/job/job.ts': '// todos are jobs too' },
  },
  {
    says: 'every test runs',
    because: 'A suite with .only or .skip is green about something else.',
    check: testsLeftOut,
    breaks: ["it.only('a', run)", "describe.skip('a', run)", "test.concurrent.skip('a', run)", "it.todo('a')"].map(
      code => ({ 'test/core/job.test.ts': code }),
    ),
    keeps: { 'test/core/job.test.ts': "it.each([1])('skips', run)\nlist.skip(1)" },
  },
  {
    says: 'tests do not sleep',
    because:
      'A test that waits for a while is slow when it passes and flaky when it fails: use virtual time, or wait for an event.',
    except: {
      'test/chaos/pause.ts': 'chance decides when a process is killed or frozen, and for how long',
      'test/chaos/processes/client.js': 'enqueues at a pace, in a real process',
      'test/chaos/processes/jobs.js': 'jobs that take a while, in a real process',
      'test/chaos/processes/partitions.js': 'jobs that take a while, in a real process',
      'test/chaos/processes/poison.js': 'jobs that take a while, in a real process',
      'test/chaos/processes/puller.js': 'jobs that take a while, in a real process',
      'test/chaos/workers/poison.test.ts': 'looks at real processes from time to time until they are done',
      'test/chaos/workers/limit.test.ts': 'looks at real processes from time to time until they are done',
      'test/chaos/workers/poison-worker.js': 'jobs that take a while, in a real process',
      'test/chaos/workers/worker.js': 'a job that takes a while, in a real process',
      'test/browser/screenshots.js': 'no test: it lets a demo live for a while before it takes pictures',
      'test/store/guarded.ts': 'blocks its thread on purpose: another thread must keep the leases meanwhile',
    },
    check: sleeps,
    breaks: [
      'await new Promise(resolve => setTimeout(resolve, 50))',
      'await sleep(50)',
      "import { setTimeout as wait } from 'node:timers/promises'",
    ].map(code => ({ 'test/engine/worker/worker.test.ts': code })),
    keeps: { 'test/engine/worker/worker.test.ts': "await t.advance('1m') // sleep(1)" },
  },
  {
    says: 'the title of a test is a sentence about its subject',
    because:
      'A title that begins with "of" or "and" is half a sentence: it reads only together with the line before it.',
    check: halfTitles,
    breaks: [
      "it('of another tenant are hidden', () => {})",
      "it.each([1, 2])('but %i is refused', () => {})",
      'it.concurrent(`and keeps the others`, () => {})',
    ].map(code => ({ 'test/engine/worker/worker.test.ts': code })),
    keeps: {
      'test/engine/worker/worker.test.ts': "it('offers one job', () => {})\nit.each([1])('ends %i of them', () => {})",
    },
  },
  {
    says: 'relative imports end with .js',
    because: 'Node resolves exactly what is written; without the ending the built package does not load.',
    check: importEndings,
    breaks: [
      { 'src/core/a.ts': "import { b } from './b'" },
      { 'src/core/a.ts': "import { b } from './b.ts'" },
      { 'test/a.ts': "await import('../src/b')" },
      { 'test/a.ts': "export * from '.'" },
    ],
    keeps: { 'src/core/a.ts': "import { b } from './b.js'\nimport c from './c.json'\nimport d from 'd'" },
  },
  {
    says: 'decisions are numbered from 0001 without gaps',
    because: 'They are cited by number, and a gap looks like a page that was removed.',
    check: decisionNumbers,
    breaks: [
      { 'docs/decisions/0002-one-table.md': '' },
      { 'docs/decisions/0001-one-table.md': '', 'docs/decisions/0003-leases.md': '' },
      { 'docs/decisions/0001-a.md': '', 'docs/decisions/0001-b.md': '' },
      { 'docs/decisions/one-table.md': '' },
    ],
    keeps: {
      'docs/decisions/0001-one-table.md': '',
      'docs/decisions/0002-leases.md': '',
      'docs/decisions/README.md': '',
    },
  },
  {
    says: 'test/support/postgres-server.ts imports only packages and JavaScript',
    because:
      'bench/server.js loads it without a build, so what it imports must exist under the name that it is imported by.',
    check: unbuiltImports,
    breaks: [{ 'test/support/postgres-server.ts': "import { freePort } from './port.js'", 'test/support/port.ts': '' }],
    keeps: {
      'test/support/postgres-server.ts': "import { once } from 'node:events'\nimport { freePort } from './port.js'",
      'test/support/port.js': '',
    },
  },
]

/** A function of one line too many. */
function long(header: string): string {
  return `${header} {\n${'  work()\n'.repeat(FUNCTION_LINES_MAX - 1)}}\n`
}

/** A folder with this many files. */
function folder(path: string, files: number): Tree {
  return Object.fromEntries(Array.from({ length: files }, (_, i) => [`${path}/${i}.tsx`, '']))
}

const FOLDERS = ['src', 'test', 'build', 'bench', 'examples', 'deploy', 'docs']
const OUR_FILES = [...FOLDERS, 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
const repository = readTree(...OUR_FILES)

describe('house rules', () => {
  it('read the repository', () => {
    expect(Object.keys(repository)).toEqual(expect.arrayContaining(['src/core/job/job.ts', 'test/tidy.test.ts']))
  })

  for (const { says, because, check, files = () => repository, except = {}, breaks, keeps } of RULES) {
    describe(says, () => {
      it('holds', () => {
        const found = check(files()).filter(({ path }) => !(path in except))
        expect(found.map(inWords), because).toEqual([])
      })

      it('can fail', () => {
        for (const tree of breaks) expect(check(tree), JSON.stringify(tree)).not.toEqual([])
      })

      it('can be kept', () => {
        expect(check(keeps).map(inWords)).toEqual([])
      })

      it('needs each of its exceptions', () => {
        const breaking = new Set(check(files()).map(({ path }) => path))
        const spare = Object.keys(except).filter(path => !breaking.has(path))
        expect(spare, 'Take them off the list: they keep the rule now, or are gone.').toEqual([])
      })
    })
  }
})

function inWords({ path, line, what }: Finding): string {
  return `${path}${line === undefined ? '' : `:${line}`} ${what}`
}

/** What a layer may import: paths in src, and packages. `types` are packages of which only types may be used. */
interface Layer {
  readonly at: RegExp
  readonly paths: RegExp
  /** Paths of which only types may be used. */
  readonly shapes?: RegExp
  readonly packages: RegExp
  readonly types?: RegExp
}

const NONE = /^(?!)/
const ALL = /^/
const SCHEMA = /^@standard-schema\/spec$/

/** The driver belongs to its store. */
const STORES: Readonly<Record<string, RegExp>> = {
  memory: NONE,
  sqlite: /^(node:|@photostructure\/sqlite$)/,
  postgres: /^(node:|pg$)/,
}

/** A store is `store/NAME.ts`, `store/NAME/`, or both. It may use what lies beside it, but knows no other store. */
function storeLayer(name: string, packages: RegExp): Layer {
  const others = Object.keys(STORES).filter(other => other !== name)
  return {
    at: new RegExp(`^src/store/${name}(\\.ts$|/)`),
    paths: new RegExp(`^src/(core/|store/(?!(${others.join('|')})\\b)(reads/)?[^/]+$|store/${name}/)`),
    packages,
  }
}

/** The first that fits counts. */
const LAYERS: readonly Layer[] = [
  // It reads cron expressions, and is pure itself.
  { at: /^src\/core\/schedule\/cron\.ts$/, paths: /^src\/core\//, packages: /^croner$/ },
  { at: /^src\/core\//, paths: /^src\/core\//, packages: NONE, types: SCHEMA },
  ...Object.entries(STORES).map(([name, packages]) => storeLayer(name, packages)),
  {
    at: /^src\/store\/(reads\/)?[^/]+$/,
    paths: new RegExp(`^src/(core/|store/(?!(${Object.keys(STORES).join('|')})\\b)(reads/)?[^/]+$)`),
    packages: NONE,
  },
  {
    at: /^src\/engine\/egress\//,
    paths: /^src\/(core\/|engine\/(egress\/|client\/log\.ts$))/,
    packages: /^(undici|ipaddr\.js|node:(diagnostics_channel|net|dns\/promises))$/,
  },
  {
    at: /^src\/engine\/threads\//,
    paths: /^src\/(core\/|engine\/(threads\/|client\/definition\.ts$|time\/system\.ts$))/,
    packages: /^node:(async_hooks|worker_threads)$/,
  },
  {
    at: /^src\/engine\//,
    paths: /^src\/(core\/|engine\/|store\/(store|run|record|fold|integrity|id-xor)\.ts$)/,
    packages: /^(pino|node:(async_hooks|crypto|events|os|util))$/,
    types: SCHEMA,
  },
  {
    at: /^src\/server\//,
    paths: /^src\/(core\/|engine\/|server\/|store\/(store|run|record|fold)\.ts$)/,
    packages: /^(hono(\/.+)?|@hono\/node-server(\/.+)?|@modelcontextprotocol\/sdk\/.+|node:.+)$/,
  },
  {
    at: /^src\/dashboard\/vite\.config\.js$/,
    paths: NONE,
    packages: /^(vite|node:url)$/,
  },
  {
    at: /^src\/dashboard\//,
    paths: /^src\/(core|dashboard)\//,
    shapes: /^src\/(store|engine|server)\//,
    packages: /^(preact(\/.+)?|@preact\/signals|uplot(\/.+)?)$/,
  },
  {
    at: /^src\/client\//,
    paths: /^src\/(core|client)\//,
    shapes: /^src\/(store|engine|server)\//,
    packages: NONE,
  },
  { at: /^src\/cli\//, paths: ALL, packages: ALL },
  { at: /^src\/[^/]+$/, paths: ALL, packages: ALL },
]

function wrongImports(tree: Tree): Finding[] {
  return Object.entries(under(tree, 'src')).flatMap(([path, text]) => {
    const layer = LAYERS.find(each => each.at.test(path))
    if (!layer) return [{ path, what: 'is in no layer; say in LAYERS what its folder may import' }]
    return importFindings(path, text, ({ specifier, typeOnly }) => {
      if (specifier.startsWith('.')) {
        const target = posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
        return !layer.paths.test(target) && !(typeOnly && layer.shapes?.test(target))
      }
      return !layer.packages.test(specifier) && !(typeOnly && layer.types?.test(specifier))
    })
  })
}

const TIME_OR_DICE = [
  /\bDate\.now\b/g,
  /\bnew Date(?:\(\s*\)|(?!\s*[(\w]))/g,
  /(?<![.\w$])performance\b/g,
  /\bMath\.random\b/g,
  /(?<![.\w$])set(?:Timeout|Interval|Immediate)\b/g,
  /\brandom(?:UUID|Bytes|Int|Fill|FillSync)\b/g,
  /\bgetRandomValues\b/g,
  /\bprocess\.(?:hrtime|uptime)\b/g,
  /\bAbortSignal\.timeout\b/g,
  /\bAtomics\.wait(?:Async)?\b/g,
]
const TIMER_MODULES = /^(node:)?(timers|timers\/promises|perf_hooks)$/

/** A browser has its own time; nothing is replayed there. */
function timeAndDice(tree: Tree): Finding[] {
  const ours = Object.entries(under(tree, 'src')).filter(([path]) => !path.startsWith('src/dashboard/'))
  return ours.flatMap(([path, text]) => [
    ...TIME_OR_DICE.flatMap(pattern => places(path, codeOf(text), pattern)),
    ...importFindings(path, text, ({ specifier }) => TIMER_MODULES.test(specifier)),
  ])
}

function anyTypes(tree: Tree): Finding[] {
  return Object.entries(tree)
    .filter(([path]) => path.endsWith('.ts'))
    .flatMap(([path, text]) => places(path, codeOf(text), /(?<![.\w$])any(?![\w$(:])/g))
}

function importCircles(tree: Tree): Finding[] {
  const found: Finding[] = []
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      found.push({ path, what: [...trail.slice(trail.indexOf(path)), path].join(' → ') })
      return
    }
    if (finished.has(path)) return
    for (const { specifier, typeOnly } of importsOf(tree[path] ?? '')) {
      const target = typeOnly ? undefined : resolveImport(tree, path, specifier)
      if (target) visit(target, [...trail, path])
    }
    finished.add(path)
  }
  for (const path of Object.keys(under(tree, 'src'))) visit(path, [])
  return found
}

function longFiles(tree: Tree): Finding[] {
  return Object.entries(under(tree, 'src'))
    .map(([path, text]) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > FILE_LINES_MAX)
    .map(({ path, lines }) => ({ path, what: `has ${lines} lines` }))
}

function longFunctions(tree: Tree): Finding[] {
  return Object.entries(under(tree, 'src')).flatMap(([path, text]) =>
    functionsOf(text)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ line, lines }) => ({ path, line, what: `has ${lines} lines` })),
  )
}

function fullFolders(tree: Tree): Finding[] {
  const sizes = new Map<string, number>()
  for (const path of Object.keys(tree)) sizes.set(posix.dirname(path), (sizes.get(posix.dirname(path)) ?? 0) + 1)
  return [...sizes]
    .filter(([, size]) => size > FOLDER_FILES_MAX)
    .map(([path, size]) => ({ path, what: `has ${size} files` }))
}

function rootValues(tree: Tree): Finding[] {
  const path = 'src/index.ts'
  const code = codeOf(tree[path] ?? '')
  const listed = [...code.matchAll(/\bexport\s*\{([^}]*)\}/g)]
    .flatMap(match => match[1]?.split(',') ?? [])
    .map(each => each.trim())
    .filter(each => each !== '' && !each.startsWith('type '))
  const declared = [...code.matchAll(/\bexport\s+(?:default|async|abstract|const|let|function|class|enum)\b\s*\w*/g)]
  const count = listed.length + declared.length
  return [
    ...places(path, code, /\bexport\s*\*/g),
    ...(count > ROOT_VALUES_MAX ? [{ path, what: `exports ${count} values` }] : []),
  ]
}

function vagueNames(tree: Tree): Finding[] {
  const vague = /^(utils?|helpers?|types?|commons?|misc)$/
  return Object.keys(tree)
    .filter(path => path.split('/').some(part => vague.test(part.replace(/\..*$/, ''))))
    .map(path => ({ path, what: 'says nothing' }))
}

function loose(tree: Tree): Finding[] {
  return Object.entries(tree).flatMap(([path, text]) => places(path, text, /\b(TODO|FIXME|XXX)\b/g))
}

function testsLeftOut(tree: Tree): Finding[] {
  return testFiles(tree).flatMap(([path, text]) =>
    places(path, codeOf(text), /\b(?:describe|suite|it|test)(?:\.\w+)*\.(?:only|skip|skipIf|todo|fails)\b/g),
  )
}

function sleeps(tree: Tree): Finding[] {
  return testFiles(tree).flatMap(([path, text]) => [
    ...places(path, codeOf(text), /(?<![.\w$])(?:setTimeout|setInterval|sleep)\s*\(|\bAtomics\.wait\b/g),
    ...importFindings(path, text, ({ specifier }) => TIMER_MODULES.test(specifier)),
  ])
}

const HALF_TITLE =
  /\bit(?:\.\w+)*(?:<[^(]*>)?\(\s*['`](?:of|and|but|by|for|or)\b|\]\s*(?:as const)?\)\(\s*['`](?:of|and|but|by|for|or)\b/g

function halfTitles(tree: Tree): Finding[] {
  return testFiles(tree).flatMap(([path, text]) => (path === 'test/tidy.test.ts' ? [] : places(path, text, HALF_TITLE)))
}

function testFiles(tree: Tree): [path: string, text: string][] {
  return Object.entries(under(tree, 'test')).filter(([path]) => /\.(ts|js)$/.test(path))
}

function importEndings(tree: Tree): Finding[] {
  return Object.entries(tree)
    .filter(([path]) => /\.(ts|js|mjs)$/.test(path))
    .flatMap(([path, text]) =>
      importFindings(
        path,
        text,
        ({ specifier }) => /^\.{1,2}(\/|$)/.test(specifier) && !/\.(js|json)$/.test(specifier),
      ),
    )
}

function decisionNumbers(tree: Tree): Finding[] {
  return Object.keys(under(tree, 'docs/decisions'))
    .filter(path => !path.endsWith('/README.md'))
    .sort()
    .map((path, i) => ({ path, expected: i + 1, number: /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] }))
    .filter(({ expected, number }) => Number(number) !== expected)
    .map(({ path, expected }) => ({ path, what: `should begin with ${String(expected).padStart(4, '0')}-` }))
}

function unbuiltImports(tree: Tree): Finding[] {
  const path = 'test/support/postgres-server.ts'
  return importFindings(path, tree[path] ?? '', ({ specifier }) => {
    return specifier.startsWith('.') && !(posix.join(posix.dirname(path), specifier) in tree)
  })
}

function places(path: string, text: string, pattern: RegExp): Finding[] {
  return [...text.matchAll(pattern)].map(match => ({ path, line: lineAt(text, match.index), what: match[0].trim() }))
}

function importFindings(
  path: string,
  text: string,
  isWrong: (each: ReturnType<typeof importsOf>[number]) => boolean,
): Finding[] {
  return importsOf(text)
    .filter(isWrong)
    .map(({ line, specifier }) => ({ path, line, what: `imports ${specifier}` }))
}

describe('the reader behind the rules', () => {
  it.each([
    ["a('b // c') // d", "a('      ')     "],
    [`\`a \${b({ c: \`d\` })} e\``, `\`  \${b({ c: \` \` })}  \``],
    ["x = a / b / c; y = /'[/]/.test(z)", 'x = a / b / c; y = /    /.test(z)'],
    [`'it\\'s' + "a 'b'"`, `'     ' + "     "`],
    ['/* a\nb */ c', '    \n     c'],
  ])('takes comments and the insides of strings out of %j', (text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  it.each([
    ["import a, { type B } from 'x'", false],
    ["import type { A } from 'x'", true],
    ["export type { A } from 'x'", true],
    ["import {\n  a,\n  b,\n} from 'x'", false],
    ["import 'x'", false],
    ["import * as a from 'x'", false],
    ["const a = await import('x')", false],
    ["let a: import('x').A", true],
    ["let a: typeof import('x')", true],
  ])('sees the import in %j', (text, typeOnly) => {
    expect(importsOf(text)).toEqual([{ specifier: 'x', typeOnly, line: 1 }])
  })
})
