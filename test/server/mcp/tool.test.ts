import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { integer, text } from '../../../src/core/values/schema.js'
import { object } from '../../../src/core/values/shape.js'
import { endpoint, ok } from '../../../src/server/endpoint.js'
import { loadSdk } from '../../../src/server/mcp/protocol.js'
import { definitionOf, inputOf, isChange, toolsIn } from '../../../src/server/mcp/tool.js'
import { ENDPOINTS } from '../../../src/server/routes/all.js'

const TOOLS = toolsIn(ENDPOINTS)

describe('the tools', () => {
  it('are the endpoints that name one', () => {
    const forecast = endpoint({
      method: 'get',
      path: '/things/{id}/forecast',
      tool: 'forecast_things',
      summary: 'Forecast a thing',
      description: 'It reads only.',
      role: 'viewer',
      tenants: 'own',
      query: object({}, { limit: integer(1, 10) }),
      answers: ok(object({})),
      handle: async () => ({}),
    })
    const [tool, ...others] = toolsIn([forecast, { ...forecast, path: '/other', tool: undefined as never }])
    expect(others).toEqual([])
    expect(definitionOf(tool!, false)).toMatchObject({
      name: 'forecast_things',
      title: 'Forecast a thing',
      description: 'Forecast a thing. It reads only.',
      inputSchema: {
        properties: { id: { type: 'string' }, limit: { type: 'integer', minimum: 1, maximum: 10 } },
        required: ['id'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, destructiveHint: false },
    })
    expect(inputOf(tool!, { id: 'a', limit: 2 })).toEqual({ params: { id: 'a' }, query: { limit: 2 }, body: undefined })
  })

  it('have names of their own', () => {
    const names = TOOLS.map(({ tool }) => tool)
    expect(names.length).toBeGreaterThan(15)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
  })

  it.each(TOOLS.map(tool => [tool.tool, tool] as const))('%s takes fields that have one place each', (_, tool) => {
    const body = tool.body as ReturnType<typeof object> | undefined
    if (body) expect(body).toHaveProperty('fields')
    const fields = [tool.params, tool.query, ...(body ? [body] : [])].flatMap(part => Object.keys(part.fields))
    expect(new Set(fields).size).toBe(fields.length)
    const { inputSchema } = definitionOf(tool, true)
    const refs = [...JSON.stringify(inputSchema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!)
    for (const ref of refs) expect(inputSchema['$defs']).toHaveProperty(ref.replace('#/$defs/', ''))
  })

  it('are listed in the documentation, and no others', () => {
    const page = readFileSync(new URL('../../../docs/mcp.md', import.meta.url), 'utf8')
    const listed = [...page.matchAll(/^\| (`[a-z_`, ]+`) \|/gm)].flatMap(([, names = '']) => names.match(/\w+/g) ?? [])
    expect(listed.sort()).toEqual(TOOLS.map(({ tool }) => tool).sort())
  })

  it('say which of them change something', () => {
    const changing = TOOLS.filter(isChange).map(({ tool }) => tool)
    expect(changing).toEqual(expect.arrayContaining(['redrive_dead_letters', 'pause_queue', 'resume_queue']))
    for (const tool of TOOLS) {
      expect(definitionOf(tool, true).annotations.readOnlyHint).toBe(!changing.includes(tool.tool))
      expect(definitionOf(tool, false).annotations.readOnlyHint).toBe(true)
    }
  })

  it('keep unknown arguments, so that they are refused', () => {
    const tool = TOOLS.find(({ tool: name }) => name === 'redrive_dead_letters')!
    expect(inputOf(tool, { filter: {}, nosuch: text })).toMatchObject({ body: { filter: {}, nosuch: text } })
  })
})

describe('the SDK', () => {
  it('is asked for if it is not installed', async () => {
    const nosuch = '@modelcontextprotocol/nosuch'
    const loading = loadSdk(() => import(/* @vite-ignore */ nosuch))
    await expect(loading).rejects.toThrow('run `npm install @modelcontextprotocol/sdk` beside chronos-jobs')
  })
})
