import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Modules of core have no side effects, so unused ones are left out with their schemas. */
const treeshake = { moduleSideEffects: (/** @type {string} */ id) => !/src.core./.test(id) }

const FOR_OTHERS = /\bflag: '--[^'\n]*',?|\bexample: (?:'[^'\n]*'|\{(?:[^{}\n]|\{[^{}\n]*\})*\}),?/g
const DESCRIPTIONS = /(\babout\(\s*[^'`]*?,\s*)'[^'\n]*'/g

/** @type {import('vite').Plugin} */
const withoutWords = {
  name: 'without-words-for-others',
  enforce: 'pre',
  transform: {
    filter: { id: /src.core.*\.ts$/ },
    // The flags of the command line and the examples of the API document are of no use in a browser, nor are the
    // descriptions of settings whose forms have words of their own, or that no form has.
    handler: (code, id) => {
      const shorter = code.replace(FOR_OTHERS, '')
      return /core.(partition.limits|job.unique|redrive.redrive|simulation.*)\.ts$/.test(id)
        ? shorter.replace(DESCRIPTIONS, "$1''")
        : shorter
    },
  },
}

/** URLs are relative to the page's `<base>`, which the server fills in, so one build serves any base path. */
export default defineConfig({
  root: here,
  base: './',
  plugins: [
    {
      name: 'base-path',
      apply: 'serve',
      transformIndexHtml: page => page.replaceAll('__CHRONOS_BASE__', '/'),
    },
    withoutWords,
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../../dist/dashboard/', import.meta.url)),
    emptyOutDir: true,
    // The content security policy refuses inlined assets (data: URLs).
    assetsInlineLimit: 0,
    // With one style sheet and few scripts, preloading code is not needed.
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: {
      treeshake,
      output: {
        // Two files, the frame and the screens: one file compresses better than one per screen, and the frame is
        // painted while the screens load.
        codeSplitting: {
          groups: [
            {
              name: 'frame',
              test: /node_modules.(preact|@preact)|dashboard.((parts|shell|data|styles).|[^/\\\\]+$)/,
              priority: 2,
            },
            {
              name: 'screens',
              test: /dashboard.(charts|policy|simulator|timeline|screens.(?!system.(sign-in|store-down)))|src.core.(?!values.(duration|error))/,
            },
          ],
        },
      },
    },
  },
  worker: { plugins: () => [withoutWords], rolldownOptions: { treeshake } },
  // During development, pages come from here and data from a running `chronos dev`.
  server: { proxy: { '/api': 'http://127.0.0.1:4100', '/healthz': 'http://127.0.0.1:4100' } },
})
