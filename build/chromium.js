import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import packed from '@sparticuz/chromium'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGE = join(createRequire(import.meta.url).resolve('@sparticuz/chromium'), '../../package.json')
/** Runs in a process of its own, because the package unpacks into the temporary folder of its process. */
const UNPACK = `import packed from '@sparticuz/chromium'; await packed.executablePath()`

/**
 * With `--single-process` the browser would exit when the first page is closed. With `--no-zygote` each page would load the
 * program of the browser again.
 */
const UNWANTED =
  /^--(single-process|no-zygote|in-process-gpu|ignore-gpu-blocklist|use-gl|use-angle|enable-unsafe-swiftshader)\b/

/** Without a graphics card, the emulated one is three times slower than software rendering. */
const PLAIN = ['--disable-gpu']

/** How to launch the Chromium of `@sparticuz/chromium`, or the one that `CHRONOS_TEST_CHROMIUM` names. */
export async function launchOptions() {
  const own = process.env['CHRONOS_TEST_CHROMIUM']
  const args = own === undefined ? packed.args.filter(flag => !UNWANTED.test(flag)) : ['--no-sandbox']
  return { executablePath: own ?? (await unpacked()), args: [...args, ...PLAIN], headless: true }
}

/**
 * The path of the unpacked browser. It is unpacked once for each checkout. Processes that ask at the same moment each unpack
 * it in a folder of their own, and one of these takes its place when it is complete, so no test starts a part of a browser.
 *
 * @param {string} folder
 */
export async function unpacked(folder = join(ROOT, '.cache')) {
  const { version } = JSON.parse(await readFile(PACKAGE, 'utf8'))
  const place = join(folder, `chromium-${version}`)
  if (!existsSync(place)) {
    await mkdir(folder, { recursive: true })
    const draft = await mkdtemp(`${place}-`)
    const env = { ...process.env, TMPDIR: draft }
    try {
      await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], { cwd: ROOT, env })
      await rename(draft, place)
    } catch (error) {
      await rm(draft, { recursive: true })
      // Another process may have been faster.
      if (!existsSync(place)) throw error
    }
  }
  return join(place, 'chromium')
}
