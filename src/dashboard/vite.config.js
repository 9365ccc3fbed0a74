import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Modules of core have no side effects, so unused ones are left out with their schemas. */
const treeshake = {
  propertyReadSideEffects: /** @type {const} */ (false),
  unknownGlobalSideEffects: false,
  moduleSideEffects: (/** @type {string} */ id) => !/src.core./.test(id),
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
    },
  },
  worker: { rolldownOptions: { treeshake } },
  // During development, pages come from here and data from a running `chronos dev`.
  server: { proxy: { '/api': 'http://127.0.0.1:4100', '/healthz': 'http://127.0.0.1:4100' } },
})
