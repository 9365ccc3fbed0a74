/** Where text goes. `process.stdout` is one. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A terminal with a keyboard. */
export interface Terminal {
  readonly rows?: number | undefined
  /** Keys come one by one, and are not shown, until it is released. */
  capture(hear: { readonly onKey: (key: string) => void; readonly onResize: () => void }): () => void
}

export type Environment = Readonly<Record<string, string | undefined>>

/** All that a command may touch of the world around it. Data goes to stdout, words to stderr. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
  /** Where a configuration file is looked for. Default: the process's own. */
  readonly folder?: string
  /** What is piped in; asked for only by a command that is told to read it. */
  readonly stdin?: () => AsyncIterable<string | Uint8Array>
  /** Absent where nobody sits. */
  readonly terminal?: Terminal
  /** Aborts, with an `Interruption`, when somebody wants the command to stop: it cleans up and throws the reason. */
  readonly interrupted: AbortSignal
}

/** Not an error of the command: it was told to stop, or nobody reads what it writes. */
export class Interruption extends Error {
  override readonly name: string = 'Interruption'
  readonly exitCode: number

  constructor(why: string, exitCode: number) {
    super(why)
    this.exitCode = exitCode
  }
}

/** What the work gives; whoever wants the command to stop does not wait for it. */
export function unlessInterrupted<T>(work: Promise<T>, interrupted: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(interrupted.reason)
    if (interrupted.aborted) stop()
    interrupted.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', stop))
  })
}
