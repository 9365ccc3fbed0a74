import { buildVariant, variantUrl } from '../variant.js'

/**
 * A drain with the statistics that Chronos keeps, and without them. The package is built when the file is filled, in a
 * process of its own.
 *
 * @typedef {{ figures: boolean }} Kept
 * @param {Kept & { file: string, jobs: number }} options
 */
export async function fill({ figures, ...options }) {
  await buildVariant(figures)
  await (await import('./chronos.js')).fill(options)
}

/** @param {Kept & { file: string, jobs: number, concurrency: number }} options */
export async function drain({ figures, ...options }) {
  process.env['CHRONOS_BENCH_PACKAGE'] = variantUrl(figures)
  return (await import('./chronos.js')).drainCounted(options)
}
