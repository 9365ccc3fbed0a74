import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generate } from 'openapi-typescript-codegen'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApiDocument } from '../../src/server/openapi.js'
import { ENDPOINTS } from '../../src/server/routes/all.js'
import { ROOT } from '../support/tree.js'
import { startServer } from './server.js'

const run = promisify(execFile)
/** Inside the repository, so that the generated client is compiled like our own code. Two runs may take place at once. */
const FOLDER = join(ROOT, 'test', 'server', '.client', `${process.pid}`)
const DOCUMENT = join(FOLDER, 'openapi.json')

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}

/** What a user of the generated client might write; a wrong type in it does not compile. */
const LIFE = `
import { AccessService, ApiError, JobsService, OpenAPI } from './client'

export async function live(base: string): Promise<string[]> {
  OpenAPI.BASE = base
  const session = await AccessService.getSession()
  const made = await JobsService.postJobs({
    requestBody: { name: 'mail', payload: { to: 'ann' }, delay: '1h', retry: { maxRetries: 2 } },
  })
  const id: string = made.id
  const list = await JobsService.getJobs({ queue: 'default', limit: 10 })
  const listed: string[] = list.data.map(job => job.id)
  const cancelled = await JobsService.postJobCancel({ id })
  const missing: string = await JobsService.getJob({ id: 'nope' }).then(
    () => 'found',
    (error: unknown) => (error instanceof ApiError ? (error.body as { code: string }).code : 'other'),
  )
  return [session.role, String(listed.includes(id)), cancelled.state, missing]
}
`

let document: Document

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  await using t = await startServer()
  const response = await fetch(new URL('api/openapi.json', t.url))
  document = (await response.json()) as Document
  await writeFile(DOCUMENT, JSON.stringify(document))
})

afterAll(() => rm(FOLDER, { recursive: true, force: true }))

describe('the OpenAPI document', () => {
  it('is 3.1, and has every route and no other', () => {
    expect(document.openapi).toBe('3.1.0')
    const said = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method} ${path}`),
    )
    expect(said.sort()).toEqual(ENDPOINTS.map(({ method, path }) => `${method} ${path}`).sort())
  })

  it('tells a job from a schedule by one field', () => {
    const json = JSON.stringify(document.paths['/jobs/{id}'])
    const mapping = '"discriminator":{"propertyName":"kind","mapping":{"job":"#/components/schemas/'
    expect(json).toContain(`${mapping}JobWithAttempts","schedule":"#/components/schemas/ScheduleWithAttempts"}}`)
    expect(json).toContain(`${mapping}Job","schedule":"#/components/schemas/JobSchedule"}}`)
    expect(json).not.toContain('anyOf')
  })

  it('lints clean', async () => {
    const cli = join(ROOT, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js')
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const { stdout } = await run(process.execPath, [cli, 'lint', DOCUMENT, '--format=json'], {
      env,
      cwd: FOLDER,
    }).catch((error: { stdout: string }) => error)
    const report = JSON.parse(stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1)) as {
      readonly totals: { readonly errors: number; readonly warnings: number }
      readonly problems: readonly { readonly message: string }[]
    }
    expect(report.problems.map(({ message }) => message)).toEqual([])
    expect(report.totals).toMatchObject({ errors: 0, warnings: 0 })
  })

  it('makes a typed client that compiles and works', async () => {
    await generate({ input: DOCUMENT, output: join(FOLDER, 'client'), httpClient: 'fetch', useOptions: true })
    const life = join(FOLDER, 'life.ts')
    await writeFile(life, LIFE)
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig']
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022', '--lib', 'es2022,dom']
    const compiled = await run(process.execPath, [tsc, ...flags, ...modules, life], { cwd: ROOT }).catch(
      (error: { stdout: string }) => error,
    )
    expect(compiled.stdout).toBe('')
    await using t = await startServer()
    const { live } = (await import(life)) as { live(base: string): Promise<string[]> }
    expect(await live(new URL('api/v1', t.url).href)).toEqual(['admin', 'true', 'cancelled', 'NOT_FOUND'])
  })
})

describe('the document about versions', () => {
  type Operation = {
    readonly parameters?: readonly { readonly name: string }[]
    readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>
  }
  const { paths, components } = openApiDocument(ENDPOINTS, '') as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
    readonly components: { readonly schemas: Readonly<Record<string, { readonly description?: string }>> }
  }

  it.each([
    ['/jobs/{id}', 'patch'],
    ['/queues/{name}', 'put'],
    ['/schedules/{id}', 'put'],
  ])('ETag and If-Match are declared for %s', (path, method) => {
    expect(paths[path]!['get']!.responses['200']!.headers).toHaveProperty('ETag')
    expect(paths[path]![method]!.parameters!.map(({ name }) => name)).toContain('if-match')
    expect(paths[path]!['get']!.parameters!.map(({ name }) => name)).not.toContain('if-match')
  })

  it('decisions are described', () => {
    expect(components.schemas['Decision']!.description).toMatch(/^Why a run was followed by/)
  })
})
