import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ChronosError } from './error.js'

const ISSUES_SHOWN = 10

/** Validates with a schema of any Standard Schema library; synchronous unless the schema is asynchronous. */
export function parseWith<S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
  what: string,
): StandardSchemaV1.InferOutput<S> | Promise<StandardSchemaV1.InferOutput<S>> {
  type Output = StandardSchemaV1.InferOutput<S>
  const read = (result: StandardSchemaV1.Result<unknown>) => outputOf(result, what) as Output
  let result: ReturnType<StandardSchemaV1['~standard']['validate']>
  try {
    result = schema['~standard'].validate(value)
  } catch (error) {
    throw broken(what, error)
  }
  if (!('then' in result)) return read(result)
  return result.then(read, error => {
    throw broken(what, error)
  })
}

function outputOf(result: StandardSchemaV1.Result<unknown>, what: string): unknown {
  if (!result.issues) return result.value
  const issues = result.issues.map(issue => ({ path: what + pathOf(issue), message: issue.message }))
  const lines = issues.slice(0, ISSUES_SHOWN).map(issue => `${issue.path}: ${issue.message}`)
  if (issues.length > ISSUES_SHOWN) lines.push(`and ${issues.length - ISSUES_SHOWN} more`)
  throw new ChronosError('INVALID_PAYLOAD', lines.join('; ') || `${what}: refused by its schema`, {
    details: { issues },
  })
}

function pathOf(issue: StandardSchemaV1.Issue): string {
  return (issue.path ?? [])
    .map(segment => (typeof segment === 'object' ? segment.key : segment))
    .map(key => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
}

function broken(what: string, cause: unknown): ChronosError {
  return new ChronosError('INVALID_PAYLOAD', `${what}: its schema threw instead of answering; fix the schema`, {
    cause,
  })
}
