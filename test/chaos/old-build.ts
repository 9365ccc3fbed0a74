import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/tree.js'

/**
 * The commit that last changed the migrations of PostgreSQL, so that it has the schema of today: its processes may run
 * beside those of today. Empty without the history.
 */
export const PREVIOUS = spawnSync('git', ['log', '--format=%h', '-1', '--', 'src/store/postgres/migrations.ts'], {
  cwd: ROOT,
  encoding: 'utf8',
}).stdout.trim()
/** A commit with an earlier schema. */
export const EARLIER = '6f93ed1~1'

/** Why an older version can't be built here. */
export function historyMissing(): string | undefined {
  const { status } = spawnSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`], { cwd: ROOT })
  return status === 0 ? undefined : 'the history of the repository is not here'
}

/** Versions from the bundled build on have it in this folder; before, the compiler wrote `dist` itself. */
const BUILD = 'build'

/** Builds the library of an older commit, with the processes of today. Resolves to its folder. */
export function oldBuild(commit: string): string {
  const folder = join(ROOT, '.cache', 'chaos', commit.replace(/\W/g, '-'))
  const library = join(folder, 'dist', 'index.js')
  if (!existsSync(library)) {
    unpack(commit, folder)
    // Its types were checked at its time, with the packages of its time, and so only the code that results counts.
    const failures = [
      run(folder, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'),
      ...(existsSync(join(folder, BUILD)) ? [run(folder, join(BUILD, 'run.js'))] : []),
    ]
    if (!existsSync(library)) throw new Error(`version ${commit} could not be built:\n${failures.join('\n')}`)
  }
  const processes = join('test', 'chaos', 'processes')
  cpSync(join(ROOT, processes), join(folder, processes), { recursive: true })
  return folder
}

function unpack(commit: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-xf', '-'], { cwd: folder, input: archive })
  if (!existsSync(join(folder, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
}

/** Runs a script and returns what it printed. */
function run(folder: string, ...script: readonly string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, script, { cwd: folder, encoding: 'utf8' })
  return stdout + stderr
}
