import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder that `using` deletes. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'chronos-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

interface ProcessOptions {
  readonly stderr?: 'inherit' | 'ignore'
  /** Arguments for Node itself. */
  readonly flags?: readonly string[]
}

/** Messages of each process that no test has waited for yet: one may arrive before the test asks for it. */
const inboxes = new WeakMap<ChildProcess, string[]>()

/** Starts a script of a folder beside this one, or any other by its absolute path, and waits until it reports that it is ready. */
export async function startProcess(
  script: string,
  args: readonly string[],
  { stderr = 'inherit', flags = [] }: ProcessOptions = {},
): Promise<ChildProcess> {
  const path = isAbsolute(script) ? script : fileURLToPath(new URL(`../${script}`, import.meta.url))
  const child = fork(path, [...args], { stdio: ['inherit', 'inherit', stderr, 'ipc'], execArgv: [...flags] })
  const inbox: string[] = []
  inboxes.set(child, inbox)
  child.on('message', text => inbox.push(String(text)))
  await message(child, 'ready')
  return child
}

/** Resolves with the next such message; rejects if the process ends before. */
export function message(child: ChildProcess, text: string): Promise<void> {
  const inbox = inboxes.get(child)!
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const at = inbox.indexOf(text)
      if (at < 0) return
      inbox.splice(0, at + 1)
      child.off('message', look).off('exit', end)
      resolve()
    }
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      child.off('message', look)
      reject(new Error(`the process ended (${code ?? signal}) before it said "${text}"`))
    }
    child.on('message', look).once('exit', end)
    look()
    if (child.exitCode !== null || child.signalCode !== null) end(child.exitCode, child.signalCode)
  })
}

export async function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  if (child.exitCode !== null || child.signalCode !== null) return { code: child.exitCode, signal: child.signalCode }
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return { code, signal }
}
