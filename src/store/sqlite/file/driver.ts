import { ChronosError } from '../../../core/values/error.js'

/** The part of the `node:sqlite` API that this store uses. */
export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

export interface Statement {
  all(...values: readonly Value[]): unknown[]
  get(...values: readonly Value[]): unknown
  run(...values: readonly Value[]): { changes: number | bigint }
  setReturnArrays(enabled: boolean): void
}

export type Value = string | number | null

export interface Driver {
  /** The module to import; the guard thread loads the same one. */
  readonly specifier: string
  /** The version of SQLite. */
  readonly version: string
  open(path: string): Database
}

interface SqliteModule {
  readonly DatabaseSync: new (path: string) => Database
}

/**
 * Two copies of SQLite that use the same file in one process would release each other's locks, so a process loads only
 * one.
 */
let loaded: Driver | undefined

/** Loads `node:sqlite` if its version is safe for several writers, otherwise the package with the same interface. */
export async function loadDriver(): Promise<Driver> {
  loaded ??= builtIn() ?? (await fromPackage())
  if (loaded) return loaded
  throw new ChronosError(
    'STORE_NOT_SUPPORTED',
    `Node ${process.version} has no built-in SQLite that is safe for several processes; ` +
      'install one with `npm install @photostructure/sqlite`, or use Node 24 or newer',
  )
}

function builtIn(): Driver | undefined {
  const module = withoutSqliteWarning(() => process.getBuiltinModule?.('node:sqlite')) as SqliteModule | undefined
  const driver = module && driverOf('node:sqlite', module)
  return driver && isSafe(driver.version) ? driver : undefined
}

const PACKAGE = '@photostructure/sqlite'

async function fromPackage(): Promise<Driver | undefined> {
  try {
    // The specifier is in a variable because the package is optional and must not be required to compile.
    const specifier: string = PACKAGE
    return driverOf(PACKAGE, (await import(specifier)) as SqliteModule)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw new ChronosError('STORE_NOT_SUPPORTED', `failed to load ${PACKAGE}: ${String(error)}`, { cause: error })
  }
}

function driverOf(specifier: string, { DatabaseSync }: SqliteModule): Driver | undefined {
  const database = new DatabaseSync(':memory:')
  try {
    const statement = database.prepare('SELECT sqlite_version()')
    if (!('setReturnArrays' in statement)) return undefined
    statement.setReturnArrays(true)
    const [version] = statement.get() as [string]
    return { specifier, version, open: path => new DatabaseSync(path) }
  } finally {
    database.close()
  }
}

/**
 * Older versions could lose committed writes when one connection wrote while another one checkpointed (the "WAL-reset"
 * bug), as a worker and the CLI on one file do.
 */
export function isSafe(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3) return major > 3
  if (minor === 44) return patch >= 6
  if (minor === 50) return patch >= 7
  return minor > 51 || (minor === 51 && patch >= 3)
}

/** Node 22 warns that its SQLite is experimental, which does not help users of Chronos. */
function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
