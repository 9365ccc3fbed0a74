import type { Environment, Io } from '../../src/cli/io.js'
import { main } from '../../src/cli/main.js'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  readonly env?: Environment
  /** The folder of the configuration file. */
  readonly folder?: string
  readonly isTTY?: boolean
  readonly columns?: number
  readonly stdin?: readonly (string | Uint8Array)[]
  readonly interrupted?: AbortSignal
  /** Called with each text as it is written. */
  readonly onStderr?: (text: string) => void
}

/** Runs a command line with input and output in memory. */
export async function say(argv: readonly string[], around: Surroundings = {}): Promise<Said> {
  const { env = {}, isTTY = false, columns = 80, stdin = [], interrupted = new AbortController().signal } = around
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
        around.onStderr?.(text)
      },
      isTTY,
      columns,
    },
    env,
    ...(around.folder !== undefined && { folder: around.folder }),
    async *stdin() {
      yield* stdin
    },
    interrupted,
  }
  const code = await main(argv, io)
  return { code, stdout, stderr }
}
