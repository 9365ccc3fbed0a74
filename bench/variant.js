import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { beside } from '../build/beside.js'
import { isInstalled, root, STARTED } from '../build/entries.js'

/**
 * What keeps no figures does instead: it counts jobs for the integrity check, as ever, and no events, times or errors.
 * Users have no such option; the benchmark measures what they pay.
 */
const NO_FIGURES = `
Object.assign(DeltaDraft.prototype, {
  enqueued(job) { this.found(job) },
  settled() {},
  ended() {},
  leftDead() {},
})
`

/** @param {boolean} figures */
const folderOf = figures => `${root}.cache/bench/package-${figures ? 'with' : 'without'}-figures/`

/**
 * The URL of a package that `buildVariant` has made.
 *
 * @param {boolean} figures
 */
export const variantUrl = figures => pathToFileURL(`${folderOf(figures)}index.js`).href

/**
 * Makes the package from its sources, as it is or without figures. Both are made in the same way, so that they differ in
 * nothing else.
 *
 * @param {boolean} figures
 */
export async function buildVariant(figures) {
  const build = await rolldown({
    cwd: root,
    input: { index: 'src/index.ts', 'sqlite-thread': /** @type {string} */ (STARTED['sqlite-thread']) },
    platform: 'node',
    external: isInstalled,
    experimental: { nativeMagicString: true },
    plugins: [
      beside(),
      {
        name: 'figures',
        transform: (code, id) => (!figures && id === `${root}src/store/delta.ts` ? code + NO_FIGURES : undefined),
      },
    ],
  })
  await build.write({ dir: folderOf(figures), format: 'esm' })
  await build.close()
}
