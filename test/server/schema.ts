import type { z } from 'zod'
import { ENDPOINTS } from '../../src/server/routes/all.js'

/** The schema that the document declares for this endpoint and status. */
export function successSchema(method: string, path: string, status: number): z.ZodType | undefined {
  const plain = path.replace(/\?.*$/, '')
  const fitting = ENDPOINTS.filter(
    endpoint => endpoint.method.toUpperCase() === method && patternOf(endpoint.path).test(plain),
  )
  // Two paths may match, such as `/jobs/{id}` and `/jobs/x`; the one with fewer parameters is meant.
  const [endpoint] = fitting.sort((a, b) => blanks(a.path) - blanks(b.path))
  if (!endpoint) throw new Error(`no endpoint is at ${method} ${plain}`)
  const said = endpoint.answers[status]
  if (!said) throw new Error(`${method} ${endpoint.path} answered ${status}, and does not say that it may`)
  return said.schema
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
const blanks = (path: string): number => path.split('{').length
