import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { checkResponse } from './schema.js'
import { startServer } from './server.js'

describe('the check of responses in these tests', () => {
  const answered = (body: unknown, status = 200): Response => Response.json(body, { status })

  it('finds an undocumented field, a missing one, a wrong type and an undocumented status', async () => {
    await using t = await startServer()
    const { body: job } = await t.api<{ id: string }>('POST', '/jobs', { name: 'mail' })
    const path = `/jobs/${job.id}/cancel`
    const { status: _, ...plain } = job as { id: string; status: string }
    const { id: _id, ...anonymous } = plain
    await checkResponse('POST', path, answered(plain))
    await expect(checkResponse('POST', path, answered({ ...plain, colour: 'red' }))).rejects.toThrow(
      '/colour: unknown key "colour"',
    )
    await expect(checkResponse('POST', path, answered({ ...plain, error: { name: 'E' } }))).rejects.toThrow(
      '/error/message: expected a text',
    )
    await expect(checkResponse('POST', path, answered(anonymous))).rejects.toThrow('/id: expected a text')
    await expect(checkResponse('POST', path, answered({ ...plain, runAt: 5 }))).rejects.toThrow('/runAt: expected')
    await expect(checkResponse('POST', path, answered(plain, 202))).rejects.toThrow('does not say that it may')
  })

  it('also covers requests that a test makes itself', async () => {
    await using t = await startServer({ open: true })
    const url = new URL('api/v1/workers', t.url)
    expect((await fetch(url)).status).toBe(200)
    const inner = t.server.fetch(new Request(url, { headers: { Host: 'localhost' } }))
    expect((await inner).status).toBe(200)
  })

  it('ends with the server: another one that gets its port may answer what it wants', async () => {
    const { port } = await (async () => {
      await using t = await startServer({ open: true })
      return new URL(t.url)
    })()
    const other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"colour":"red"}')
    }).listen(Number(port), '127.0.0.1')
    await once(other, 'listening')
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/workers`)
    expect(await response.json()).toEqual({ colour: 'red' })
    other.close()
  })
})
