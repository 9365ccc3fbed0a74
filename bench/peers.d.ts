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

declare module 'graphile-worker' {
  export class Logger {
    constructor(factory: () => () => void)
  }
  export const WorkerPreset: object
  export interface Runner {
    stop(): Promise<void>
  }
  export interface WorkerUtils {
    migrate(): Promise<void>
    addJob(identifier: string, payload: object): Promise<unknown>
    addJobs(specs: { identifier: string; payload: object; maxAttempts: number }[]): Promise<unknown>
    release(): Promise<void>
  }
  export function makeWorkerUtils(options: {
    connectionString: string
    maxPoolSize: number
    logger: Logger
  }): Promise<WorkerUtils>
  export function run(options: {
    preset: object
    taskList: Record<string, () => Promise<void>>
    noHandleSignals: boolean
  }): Promise<Runner>
}

declare module 'pg-boss' {
  export interface Job {
    readonly id: string
  }
  export interface WorkOptions {
    readonly batchSize?: number
    readonly localConcurrency?: number
    readonly burstWhenBatchFull?: boolean
    readonly pollingIntervalSeconds?: number
    readonly perJobResults?: boolean
  }
  export class PgBoss {
    constructor(options: { connectionString: string; max: number; useListenNotify: boolean })
    on(event: 'error', listener: (error: Error) => void): this
    start(): Promise<this>
    stop(): Promise<void>
    createQueue(name: string, options: { notify: boolean; retryLimit: number; retryDelay: number }): Promise<void>
    send(name: string, data: object): Promise<string | null>
    insert(name: string, jobs: { data: object }[]): Promise<unknown>
    work(name: string, options: WorkOptions, handler: (jobs: Job[]) => Promise<unknown>): Promise<string>
  }
}

declare module 'bullmq' {
  export interface Job {
    readonly attemptsMade: number
  }
  export interface Queue {
    waitUntilReady(): Promise<unknown>
    add(name: string, data: object): Promise<unknown>
    addBulk(jobs: { name: string; data: object; opts: { attempts: number } }[]): Promise<unknown>
    getJobCountByTypes(...types: ('waiting' | 'active' | 'delayed')[]): Promise<number>
    close(): Promise<void>
  }
  export interface Worker {
    waitUntilReady(): Promise<unknown>
    close(): Promise<void>
  }
  interface Connected {
    connection: { connectionString: string; max: number; migrate: boolean }
  }
  interface ConnectedToRedis {
    connection: { host: string; port: number; maxRetriesPerRequest: null }
  }
  export const Queue: new (name: string, options: ConnectedToRedis) => Queue
  export const Worker: new (
    name: string,
    run: (job: Job) => Promise<void>,
    options: ConnectedToRedis & { concurrency: number },
  ) => Worker
  interface Backend {
    readonly kind: 'postgres'
  }
  const bullmq: {
    readonly createPostgresBackend: Backend
    withBackend(backend: Backend): {
      Queue: new (name: string, options: Connected) => Queue
      Worker: new (
        name: string,
        run: (job: Job) => Promise<void>,
        options: Connected & { concurrency: number },
      ) => Worker
    }
  }
  export default bullmq
}

declare module 'bee-queue' {
  export interface Job {
    readonly options: { readonly retries: number }
    retries(count: number): this
    save(): Promise<this>
  }
  export default class BeeQueue {
    constructor(
      name: string,
      options: {
        redis: { host: string; port: number }
        isWorker: boolean
        getEvents: boolean
        sendEvents: boolean
        storeJobs: boolean
      },
    )
    ready(): Promise<this>
    createJob(data: object): Job
    saveAll(jobs: Job[]): Promise<unknown>
    process(concurrency: number, run: (job: Job) => Promise<void>): void
    checkHealth(): Promise<{ waiting: number; active: number; delayed: number }>
    close(): Promise<void>
  }
}
