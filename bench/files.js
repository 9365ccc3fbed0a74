import { copyFile, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** @typedef {import('./measure.js').Place} Place */

/** Measurements on files: each on a fresh one, or on a copy of a prepared one. */
export class Files {
  /**
   * @param {string} dir
   * @param {Place} [template]
   * @returns {Promise<Place>}
   */
  async place(dir, template) {
    if (template) await copyToDisk(template.dir, dir)
    return { dir, options: { file: join(dir, 'jobs.db') } }
  }

  async keep() {}

  /** @param {Place} place */
  async remove({ dir }) {
    await rm(dir, { recursive: true, force: true })
  }

  async close() {}
}

/**
 * Copies and waits for the disk, so that the copy is not still being written during the measurement.
 *
 * @param {string} from
 * @param {string} to
 */
async function copyToDisk(from, to) {
  for (const name of await readdir(from)) {
    await copyFile(join(from, name), join(to, name))
    const copy = await open(join(to, name), 'r+')
    await copy.sync()
    await copy.close()
  }
}
