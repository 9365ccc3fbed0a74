import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOT } from '../support/tree.js'

/** Optional peers that an entry point imports when it is loaded. */
const PEERS = ['pg', '@nestjs/common', '@nestjs/core']

export interface Packed {
  /** The content of the tarball that npm would publish. */
  readonly tarball: Buffer
  /** The folder of an application that has only this package installed. */
  readonly app: string
  /** The folder of the installed package. */
  readonly installed: string
  remove(): void
}

/** Installs the packed package into an empty folder, without a network: what it depends on is linked from here. */
export function packed(): Packed {
  const app = mkdtempSync(join(tmpdir(), 'chronos-packed-'))
  // The build is up to date: `npm test` begins with it.
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', app]
  const name = execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }).trim()
  execFileSync('tar', ['-xf', name], { cwd: app })
  const installed = join(app, 'node_modules', 'chronos-jobs')
  mkdirSync(dirname(installed))
  cpSync(join(app, 'package'), installed, { recursive: true })
  rmSync(join(app, 'package'), { recursive: true })
  for (const dependency of [...dependenciesOf(installed), ...PEERS, '@types/node', '@types/pg']) link(app, dependency)
  const tarball = readFileSync(join(app, name))
  return { tarball, app, installed, remove: () => rmSync(app, { recursive: true, force: true }) }
}

export function dependenciesOf(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, object>
  return Object.keys({ ...manifest['dependencies'], ...manifest['optionalDependencies'] })
}

function link(app: string, dependency: string): void {
  const place = join(app, 'node_modules', dependency)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', dependency), place)
}

/** Every file below a folder, by its path from there. */
export function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
