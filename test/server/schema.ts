import { type Schema, tryRead } from '../../src/core/values/schema.js'
import { problemSchema } from '../../src/server/http/problem.js'
import { ENDPOINTS } from '../../src/server/routes/all.js'

const blanks = (path: string): number => path.split('{').length
/** Two paths may match, such as `/jobs/{id}` and `/jobs/x`; the one with fewer parameters is meant, and comes first. */
const PATTERNS = [...ENDPOINTS]
  .sort((a, b) => blanks(a.path) - blanks(b.path))
  .map(endpoint => ({
    endpoint,
    method: endpoint.method.toUpperCase(),
    path: new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))

/** The schema that the OpenAPI document declares for a response; undefined if it has no body. */
function declaredSchema(method: string, path: string, status: number): Schema | undefined {
  const found = PATTERNS.find(pattern => pattern.method === method && pattern.path.test(path))
  if (!found) throw new Error(`no endpoint is at ${method} ${path}`)
  const said = found.endpoint.answers[status]
  if (!said) throw new Error(`${method} ${found.endpoint.path} answered ${status}, and does not say that it may`)
  return said.schema
}

/** Throws if a response of the API has a field that the document lacks, lacks a required one, or has a wrong type. */
export async function checkResponse(method: string, path: string, response: Response): Promise<void> {
  const type = response.headers.get('Content-Type')
  if (type !== 'application/json' && type !== 'application/problem+json') return
  const schema = type === 'application/json' ? declaredSchema(method, path, response.status) : problemSchema
  const body: unknown = await response.clone().json()
  const read = schema ? tryRead(schema, body) : { flaws: [{ path: [], says: 'has no documented body' }] }
  if ('value' in read) return
  const flaws = read.flaws.map(({ path: at, says }) => `/${at.join('/')}: ${says}`)
  throw new Error(
    `${method} ${path} → ${response.status} differs from the OpenAPI document: ${flaws.join('; ')}\n${JSON.stringify(body)}`,
  )
}
