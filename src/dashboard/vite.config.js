import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Core only describes and computes: a module of it that a script does not use is left out, with its schemas. */
const treeshake = { moduleSideEffects: (/** @type {string} */ id) => !/src.core./.test(id) }

/** Addresses are relative to the page's `<base>`, which the server fills in: one build serves any base path. */
export default defineConfig({
  root: here,
  base: './',
  plugins: [
    {
      name: 'base-path',
      apply: 'serve',
      transformIndexHtml: page => page.replaceAll('__CHRONOS_BASE__', '/'),
    },
  ],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../../dist/dashboard/', import.meta.url)),
    emptyOutDir: true,
    // An inlined asset would be a data: address, which the content security policy refuses.
    assetsInlineLimit: 0,
    // One style sheet and few scripts: nothing has to be fetched ahead, so no code is needed that does it.
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: {
      treeshake,
      output: {
        // Two files, the frame and the screens: together they compress better than by the screen, and the frame is
        // painted while the screens are fetched.
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
  worker: { rolldownOptions: { treeshake } },
  // While working on it: the pages from here, the data from a `chronos dev` beside it.
  server: { proxy: { '/api': 'http://127.0.0.1:4100', '/healthz': 'http://127.0.0.1:4100' } },
})
