/** The parts of the peers that the benchmark calls; their packages are installed in bench/ only. */

declare module 'better-sqlite3' {
  export default class Database {
    constructor(file: string)
  }
}

declare module 'plainjob' {
  import type Database from 'better-sqlite3'

  export interface Connection {
    readonly driver: string
  }
  export interface Logger {
    error(message: string): void
    warn(message: string): void
    info(message: string): void
    debug(message: string): void
  }
  export interface Queue {
    add(type: string, data: unknown): { id: number }
    addMany(type: string, data: unknown[]): { ids: number[] }
    countJobs(filter: { status: number }): number
    close(): void
  }
  export interface Worker {
    start(): Promise<void>
    stop(): Promise<void>
  }

  export const JobStatus: { readonly Pending: 0; readonly Processing: 1; readonly Done: 2; readonly Failed: 3 }
  export function better(database: Database): Connection
  export function defineQueue(options: { connection: Connection; logger: Logger }): Queue
  export function defineWorker(
    type: string,
    run: () => Promise<void>,
    options: { queue: Queue; logger: Logger; pollIntervall: number; onCompleted?: () => void },
  ): Worker
}
