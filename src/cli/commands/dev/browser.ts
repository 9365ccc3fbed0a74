import { spawn } from 'node:child_process'

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Errors are ignored: the URL is in the terminal too. */
export function openInBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command!, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
