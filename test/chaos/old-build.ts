import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/tree.js'

/**
 * The first commit with the current schema of PostgreSQL, which added this file: its processes may run beside those of
 * today. Empty without the history.
 */
export const PREVIOUS = spawnSync(
  'git',
  ['log', '--diff-filter=A', '--format=%h', '-1', '--', 'src/store/postgres/writes/errors.ts'],
  { cwd: ROOT, encoding: 'utf8' },
).stdout.trim()
/** A commit with an earlier schema. */
export const EARLIER = '6f93ed1~1'

/** Why an older version can't be built here. */
export function historyMissing(): string | undefined {
  const { status } = spawnSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`], { cwd: ROOT })
  return status === 0 ? undefined : 'the history of the repository is not here'
}

/** Builds the library of an older commit, with the processes of today. Resolves to its folder. */
export function oldBuild(commit: string): string {
  const folder = join(ROOT, '.cache', 'chaos', commit.replace(/\W/g, '-'))
  if (!existsSync(join(folder, 'dist', 'index.js'))) {
    mkdirSync(folder, { recursive: true })
    const archive = execFileSync(
      'git',
      ['archive', commit, 'src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'],
      {
        cwd: ROOT,
        maxBuffer: 2 ** 28,
      },
    )
    execFileSync('tar', ['-xf', '-'], { cwd: folder, input: archive })
    if (!existsSync(join(folder, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    // Its types were checked at its time, with the packages of its time.
    spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
      cwd: folder,
    })
  }
  const processes = join('test', 'chaos', 'processes')
  cpSync(join(ROOT, processes), join(folder, processes), { recursive: true })
  return folder
}
