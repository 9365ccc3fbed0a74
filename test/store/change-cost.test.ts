import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readTree } from '../support/tree.js'

/** The worked example of CONTRIBUTING.md: where a nullable field of a job is named in core and in the three stores. */
const PLACES: Readonly<Record<string, number>> = {
  'src/core/job/job.ts': 1,
  'src/store/job-columns.ts': 1,
  'src/store/sqlite/migrations.ts': 1,
  // The second place is the list of columns without statistics, which an old migration needs.
  'src/store/postgres/migrations.ts': 2,
}

const isComment = (line: string): boolean => /^\s*(\/\/|\/\*|\*|--)/.test(line)

describe('a nullable job field', () => {
  it('is named in four files, for all three stores', () => {
    const tree = readTree('src/core', 'src/store')
    const found = Object.entries(tree).flatMap(([path, text]) => {
      const lines = text.split('\n').filter(line => /\btrace\b/.test(line) && !isComment(line))
      return lines.length > 0 ? [[path, lines.length] as const] : []
    })
    expect(Object.fromEntries(found)).toEqual(PLACES)
  })

  it('has its places listed in CONTRIBUTING.md', () => {
    const text = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
    for (const path of Object.keys(PLACES)) expect(text).toContain(`\`${path}\``)
  })
})
