import type { Environment, Io } from '../../src/cli/io.js'
import { main } from '../../src/cli/main.js'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command line against nothing but memory. */
export async function say(
  argv: readonly string[],
  { env = {}, isTTY = false, columns = 80 }: { env?: Environment; isTTY?: boolean; columns?: number } = {},
): Promise<Said> {
  let [stdout, stderr] = ['', '']
  const io: Io = {
    stdout: {
      write(text) {
        stdout += text
      },
      isTTY,
      columns,
    },
    stderr: {
      write(text) {
        stderr += text
      },
      isTTY,
      columns,
    },
    env,
    interrupted: new AbortController().signal,
  }
  const code = await main(argv, io)
  return { code, stdout, stderr }
}
