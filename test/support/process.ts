import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder that goes away with `using`. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'chronos-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

interface ProcessOptions {
  readonly stderr?: 'inherit' | 'ignore'
  /** For Node itself. */
  readonly flags?: readonly string[]
}

/** Starts a script of this folder's neighbours and waits until it says that it is ready. */
export async function startProcess(
  script: string,
  args: readonly string[],
  { stderr = 'inherit', flags = [] }: ProcessOptions = {},
): Promise<ChildProcess> {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url))
  const child = fork(path, [...args], { stdio: ['inherit', 'inherit', stderr, 'ipc'], execArgv: [...flags] })
  await message(child, 'ready')
  return child
}

/** Resolves with the next such message; rejects when the process ends before. */
export async function message(child: ChildProcess, text: string): Promise<void> {
  for (;;) {
    const [heard] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code, signal]) => {
        throw new Error(`the process ended (${code ?? signal}) before it said "${text}"`)
      }),
    ])
    if (heard === text) return
  }
}

export async function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  if (child.exitCode !== null || child.signalCode !== null) return { code: child.exitCode, signal: child.signalCode }
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return { code, signal }
}
