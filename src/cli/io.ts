/** Where text goes. `process.stdout` is one. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/** All that a command may touch of the world around it. Data goes to stdout, words to stderr. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
  /** What is piped in; asked for only by a command that is told to read it. */
  readonly stdin?: () => AsyncIterable<string | Uint8Array>
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
