/** A destination of text, such as `process.stdout`. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A terminal with a keyboard. */
export interface Terminal {
  readonly rows?: number | undefined
  /** Delivers single keys without echo until the returned function is called. */
  capture(hear: { readonly onKey: (key: string) => void; readonly onResize: () => void }): () => void
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Everything outside the program that a command uses. Data goes to stdout, messages to stderr. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
  /** The folder of the configuration file. Default: the current folder of the process. */
  readonly folder?: string
  /** Read only by a command that is asked to. */
  readonly stdin?: () => AsyncIterable<string | Uint8Array>
  /** Absent if there is no interactive terminal. */
  readonly terminal?: Terminal
  /** Aborts with an `Interruption` on a signal: the command cleans up and throws the reason. */
  readonly interrupted: AbortSignal
}

/** Not an error of the command: a signal, or a closed pipe. */
export class Interruption extends Error {
  override readonly name: string = 'Interruption'
  readonly exitCode: number

  constructor(why: string, exitCode: number) {
    super(why)
    this.exitCode = exitCode
  }
}

/** The result of the work; rejects at once when the command is interrupted. */
export function unlessInterrupted<T>(work: Promise<T>, interrupted: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(interrupted.reason)
    if (interrupted.aborted) stop()
    interrupted.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', stop))
  })
}
