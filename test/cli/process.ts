import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves once this much was written to stdout; rejects if the process ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>
}

/** `chronos …` as a shell would run it, without a terminal. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  const { NO_COLOR: _, FORCE_COLOR: __, ...clean } = process.env
  return startProgram(process.execPath, [MAIN, ...args], { env: { ...clean, ...env } })
}

/** Any program, in this environment and no other. */
export function startProgram(
  program: string,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
): Running {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(stdout)
        if (found) resolve(found)
      }
      child.stdout.on('data', look)
      look()
      ended.then(({ code }) => reject(new Error(`ended with ${code} and never said ${pattern}:\n${stderr}`)), reject)
    })
  return { child, ended, said }
}

export const run = (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended> => start(args, env).ended

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
