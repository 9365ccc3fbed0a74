import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/server/endpoint.js'
import { ENDPOINTS } from '../../src/server/routes/all.js'
import { ROOT } from '../support/tree.js'

const text = readFileSync(join(ROOT, 'docs', 'api.md'), 'utf8')
const rows = text.slice(text.indexOf('## Routes')).split('\n')
const nameOf = ({ method, path }: Endpoint): string => `\`${method.toUpperCase()} ${path}\``
const rowsOf = (endpoint: Endpoint): readonly string[] => rows.filter(row => row.includes(nameOf(endpoint)))

/** The last cell of a row names the permissions; calls of two roles in one row name both. */
function saysRole({ role }: Endpoint, row: string): boolean {
  return row.split('|').at(-2)!.includes(role)
}

describe('docs/api.md', () => {
  it('names every call once, and no other', () => {
    const named = [...rows.join('\n').matchAll(/`(GET|POST|PUT|PATCH|DELETE) \/[^`]*`/g)].map(([name]) => name)
    expect(named.sort()).toEqual(ENDPOINTS.map(nameOf).sort())
  })

  it('says who may make it, whether a tenant may, and what can be repeated', () => {
    const wrong = ENDPOINTS.filter(endpoint => {
      const [row = ''] = rowsOf(endpoint)
      const marks = row.split('|').at(-2)!.trim().split(' ')
      const isRight =
        saysRole(endpoint, row) &&
        marks.includes('T') === (endpoint.tenants === 'own') &&
        marks.includes('K') === (endpoint.creates !== undefined)
      return !isRight
    })
    expect(wrong.map(nameOf)).toEqual([])
  })
})
