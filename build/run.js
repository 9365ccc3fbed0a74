import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { rolldown } from 'rolldown'
import { beside } from './beside.js'
import { writeDeclarations } from './declarations.js'
import { ENTRY_POINTS, isInstalled, root, STARTED } from './entries.js'
import { writeLicenses } from './licenses.js'
import { oneByte } from './one-byte.js'

// Makes `dist`: one file for each entry point and process, with the code that they share in `chunks`. The entry points
// exist as ES modules and as CommonJS, for programs that cannot load ES modules with `require`, such as Jest. Packages
// that only the server and the command line need are part of it, so that a program that uses the library installs less.

/** The layers, so that the code that several entry points share is in a few large files. Node reads few files faster. */
const LAYERS = [
  { name: 'core', test: /\/src\/core\// },
  // A client has no engine: a browser must not load it with the definitions of jobs.
  {
    name: 'define',
    test: /\/src\/engine\/(batches\/settings|client\/definition|threads\/module|upkeep\/retention)\.ts$/,
  },
  { name: 'client', test: /\/src\/client\// },
  { name: 'postgres', test: /\/src\/store\/postgres\// },
  { name: 'engine', test: /\/src\/(engine|store)\/|\/src\/(index|sqlite)\.ts$/ },
  { name: 'server', test: /\/src\/server\// },
]
const started = new Set(Object.values(STARTED).map(source => root + source))

/** @param {import('./entries.js').Entries} input @param {'esm' | 'cjs'} format @param {string} extension */
async function bundle(input, format, extension) {
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external: isInstalled,
    experimental: { nativeMagicString: true },
    preserveEntrySignatures: 'allow-extension',
    plugins: [beside(), oneByte()],
  })
  const { output } = await build.write({
    dir: 'dist',
    format,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `chunks/[name]-[hash].${extension}`,
    sourcemap: true,
    minify: false,
    dynamicImportInCjs: false,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: LAYERS.map(({ name, test }) => ({ name, test: id => test.test(id) && !started.has(id) })),
    },
  })
  await build.close()
  return output.flatMap(chunk => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

const dist = `${root}dist/`
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) if (name !== 'dashboard') rmSync(dist + name, { recursive: true })
writeLicenses([
  ...(await bundle({ ...ENTRY_POINTS, ...STARTED }, 'esm', 'js')),
  ...(await bundle(ENTRY_POINTS, 'cjs', 'cjs')),
])
writeDeclarations()
