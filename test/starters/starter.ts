import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { ROOT } from '../support/tree.js'

const STARTERS = join(ROOT, 'examples', 'starters')
/** Where the packages of this repository have another name. */
const LINKED: Readonly<Record<string, string>> = { 'express4/express': 'express4' }

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/**
 * A copy of a starter with its packages: linked from here, or installed with npm from this tarball of Chronos.
 * `nest@11` is the starter of Nest with that version of it.
 */
export function installed(starter: string, tarball?: string): string {
  const [name = '', version] = starter.split('@')
  const folder = mkdtempSync(join(tmpdir(), `chronos-${name}-`))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(STARTERS, name), folder, { recursive: true, filter: path => !path.includes('node_modules') })
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  if (tarball === undefined) link(folder, name, manifest)
  else {
    const own = Object.entries(manifest.dependencies).map(([of, range]) => [
      of,
      version !== undefined && of.startsWith('@nestjs/') ? `^${version}.0.0` : range,
    ])
    const dependencies = { ...Object.fromEntries(own), 'chronos-jobs': `file:${tarball}` }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, dependencies }))
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel', 'error'], { cwd: folder })
  }
  if (manifest.scripts['build'] !== undefined) execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder })
  return folder
}

function link(folder: string, starter: string, { dependencies, devDependencies }: Manifest): void {
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(name === 'chronos-jobs' ? ROOT : packageOf(LINKED[`${starter}/${name}`] ?? name), place)
  }
  mkdirSync(join(folder, 'node_modules', '.bin'))
  symlinkSync(join(packageOf('typescript'), 'bin', 'tsc'), join(folder, 'node_modules', '.bin', 'tsc'))
}

function packageOf(name: string): string {
  const place = join(ROOT, 'node_modules', name)
  if (!existsSync(place)) throw new Error(`${name} is not installed; add it to devDependencies`)
  return place
}

export interface Started {
  readonly url: string
  /** Ends it with SIGTERM; resolves to its exit code, or to the signal that ended it. */
  stop(): Promise<unknown>
}

/** Runs its `start` script as a process, beside its `worker` script if it has one. */
export async function started(folder: string): Promise<Started> {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const worker = scripts['worker'] === undefined ? undefined : run(folder, scripts['worker'])
  const server = run(folder, scripts['start']!)
  for await (const line of createInterface(server.child.stdout)) {
    const [, url] = /(?:listening on|Local:) +(http:\S+)/.exec(line) ?? []
    if (url === undefined) continue
    const stop = async (): Promise<unknown> => {
      const code = await worker?.stop()
      return code || (await server.stop())
    }
    return { url: url.replace('[::1]', 'localhost'), stop }
  }
  throw new Error(`${folder} never listened`)
}

function run(folder: string, script: string) {
  const [command = '', ...args] = script.split(' ')
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(command === 'node' ? process.execPath : join(folder, 'node_modules', '.bin', command), args, {
    cwd: folder,
    env: { ...env, PORT: '0', CHRONOS_STORE: `sqlite:${join(folder, 'chronos.db')}`, CHRONOS_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const stop = async (): Promise<unknown> => {
    child.kill('SIGTERM')
    const [code, signal] = await ended
    return code ?? signal
  }
  return { child, stop }
}
