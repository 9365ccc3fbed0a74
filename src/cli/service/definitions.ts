import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ChronosError } from '../../core/values/error.js'
import type { JobDefinition } from '../../engine/client/definition.js'

type Definition = JobDefinition<never>

/** All definitions that these modules export: by name, as default, or in arrays. */
export async function loadDefinitions(paths: readonly string[], folder: string): Promise<readonly Definition[]> {
  const found = new Set<Definition>()
  for (const path of paths) {
    const definitions = Object.values(await moduleAt(path, folder)).flatMap(definitionsIn)
    if (definitions.length === 0) {
      throw problem(`${path} exports no job definition; export one: \`export const greet = defineJob({ … })\``)
    }
    for (const definition of definitions) found.add(definition)
  }
  return [...found]
}

function definitionsIn(value: unknown): readonly Definition[] {
  if (Array.isArray(value)) return value.filter(isDefinition)
  return isDefinition(value) ? [value] : []
}

/** Checks the fields, because the module may use another copy of this package. */
function isDefinition(value: unknown): value is Definition {
  if (typeof value !== 'object' || value === null) return false
  const { name, queue, delivery, handler } = value as Partial<Record<keyof Definition, unknown>>
  return [name, queue, delivery].every(field => typeof field === 'string') && typeof handler === 'function'
}

async function moduleAt(path: string, folder: string): Promise<Readonly<Record<string, unknown>>> {
  const location = resolve(folder, path)
  if (!existsSync(location)) throw problem(`no file ${path}`)
  try {
    return (await import(pathToFileURL(location).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    throw problem(`cannot load ${path}: ${whyNot(error, location)}`, error)
  }
}

function whyNot(error: unknown, location: string): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?$/.test(location)) {
    return `Node ${process.version} cannot run TypeScript; compile it first, or use Node 22.18 or newer`
  }
  const line = error instanceof SyntaxError ? lineOf(location) : undefined
  return line === undefined ? error.message : `${error.message} (${line})`
}

const CHECK_MS = 10_000

/** Node says where a syntax error is only in `node --check`. */
function lineOf(location: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', location], { encoding: 'utf8', timeout: CHECK_MS })
  return /^(?:file:\/\/)?(\S+:\d+)$/m.exec(stderr ?? '')?.[1]
}

function problem(words: string, cause?: unknown): ChronosError {
  return new ChronosError('INVALID_OPTION', `--jobs: ${words}`, cause === undefined ? {} : { cause })
}
