import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SCHEMA_VERSION as POSTGRES_VERSION } from '../../../src/store/postgres/migrations.js'
import { loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { SCHEMA_VERSION as SQLITE_VERSION } from '../../../src/store/sqlite/migrations.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../support/postgres.js'
import { type Said, say } from '../memory-io.js'
import { run } from '../process.js'

interface Place {
  readonly url: string
  readonly known: number
  exists(): Promise<boolean>
  /** Runs SQL outside the store. */
  alter(statement: string): Promise<void>
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
afterAll(dropSchemas)

async function file(): Promise<Place> {
  const path = join(folder, 'chronos.db')
  return {
    url: `sqlite:${path}`,
    known: SQLITE_VERSION,
    exists: async () => existsSync(path),
    async alter(statement) {
      const database = (await loadDriver()).open(path)
      database.exec(statement)
      database.close()
    },
  }
}

async function server(): Promise<Place> {
  const schema = freshSchema()
  const url = await postgresUrl()
  return {
    url: `${url}${url.includes('?') ? '&' : '?'}schema=${schema}`,
    known: POSTGRES_VERSION,
    exists: async () => (await sql('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length > 0,
    async alter(statement) {
      await sql(statement.replace('migrations', `${schema}.migrations`))
    },
  }
}

const migrate = ({ url }: Place, ...argv: string[]): Promise<Said> => say(['migrate', ...argv, '--store', url])

describe.each([
  ['an SQLite file', file],
  ['a PostgreSQL schema', server],
])('migrate on %s', (_, make) => {
  let place: Place
  beforeEach(async () => {
    place = await make()
  })

  it('creates the tables, and does nothing the second time', async () => {
    const first = await migrate(place)
    expect(first.code).toBe(0)
    expect(first.stdout).toContain(`: created with schema ${place.known}\n`)
    expect((await migrate(place)).stdout).toContain(`: schema ${place.known}, nothing to do\n`)
    const { stdout } = await migrate(place, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ from: place.known, to: place.known, engine: expect.any(String) })
  })

  it('is safe when ten processes run it concurrently', async () => {
    const ended = await Promise.all(Array.from({ length: 10 }, () => run(['migrate', '--store', place.url, '--json'])))
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(Array(10).fill([0, '']))
    const from = ended.map(({ stdout }) => (JSON.parse(stdout) as { from: number }).from)
    expect(from.filter(version => version === 0)).toHaveLength(1)
    expect(from.filter(version => version === place.known)).toHaveLength(9)
  })

  it('status changes nothing, and exits with 8 if a migration is needed', async () => {
    const { code, stdout } = await migrate(place, 'status')
    expect(code).toBe(8)
    expect(stdout).toContain('no tables yet; `chronos migrate` creates them\n')
    expect(await place.exists()).toBe(false)
    expect((await say(['jobs', 'list', '--store', place.url])).stderr).toMatch(
      /^error: no Chronos store at .*; create one with `chronos migrate`.* \(STORE_UNAVAILABLE\)\n$/,
    )
    expect(await place.exists()).toBe(false)
  })

  it('status exits with 0 if the schema is up to date', async () => {
    await migrate(place)
    const { code, stdout } = await migrate(place, 'status', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ version: place.known, known: place.known, needed: false })
  })

  it('an older schema is rejected by other commands, and reported by status', async () => {
    await migrate(place)
    await place.alter(`DELETE FROM migrations WHERE version = ${place.known}`)
    const { code, stderr } = await say(['jobs', 'list', '--store', place.url])
    expect(code).toBe(6)
    const older = place.known - 1
    expect(stderr).toContain(`has schema ${older}, but this chronos needs schema ${place.known}; upgrade it`)
    const status = await migrate(place, 'status')
    expect(status.code).toBe(8)
    expect(status.stdout).toContain(`schema ${older}, this chronos needs ${place.known}; \`chronos migrate\` upgrades`)
  })

  it('a newer schema is rejected by every command, with its version', async () => {
    await migrate(place)
    await place.alter(`INSERT INTO migrations (version, applied_at) VALUES (${place.known + 1}, 0)`)
    for (const argv of [
      ['migrate'],
      ['migrate', 'status'],
      ['jobs', 'list'],
      ['enqueue', 'hello'],
      ['queues', 'list'],
    ]) {
      const { code, stderr } = await say([...argv, '--store', place.url])
      expect([argv, code]).toEqual([argv, 6])
      expect(stderr).toMatch(/newer Chronos.*\(STORE_NEWER\)/)
    }
  })
})
