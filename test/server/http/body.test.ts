import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { BodyBudget, readBody } from '../../../src/server/http/body.js'
import { startServer } from '../server.js'

/** A request whose body is sent piece by piece. */
function slowRequest() {
  let send!: (text: string) => void
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = text => controller.enqueue(new TextEncoder().encode(text))
    },
  })
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  return { request: new Request('http://localhost/', init), send }
}

describe('the budget for request bodies', () => {
  it('is shared by all requests: one that exceeds it is refused, and smaller ones go on', () => {
    const budget = new BodyBudget(10)
    budget.take(8)
    expect(() => budget.take(3)).toThrow(expect.objectContaining({ status: 503, code: 'OVERLOADED' }))
    budget.take(2)
    budget.give(8)
    budget.take(8)
  })

  it('is charged for every piece as it arrives', async () => {
    const budget = new BodyBudget(10)
    const { request, send } = slowRequest()
    const reading = readBody(request, 1_000, bytes => budget.take(bytes))
    send('x'.repeat(6))
    send('x'.repeat(6))
    await expect(reading).rejects.toMatchObject({ status: 503, code: 'OVERLOADED' })
  })

  it('is charged by the server: of two large bodies that do not end, one is refused', async () => {
    await using t = await startServer({ maxBody: 64 * 1024 * 1024 })
    let answered!: (status: number | undefined) => void
    const status = new Promise<number | undefined>(resolve => {
      answered = resolve
    })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': 50 * 1024 * 1024 }
    const requests = [1, 2].map(() => {
      const sending = request(new URL('api/v1/jobs', t.url), { method: 'POST', headers }, ({ statusCode }) =>
        answered(statusCode),
      )
      sending.on('error', () => undefined)
      sending.write('x'.repeat(40 * 1024 * 1024))
      return sending
    })
    expect(await status).toBe(503)
    for (const sending of requests) sending.destroy()
  })

  it('is given back when requests are answered', async () => {
    // Two of these bodies exceed the budget, so the second fits only if the first was given back.
    await using t = await startServer({ maxBody: 64 * 1024 * 1024 })
    const body = { payload: 'x'.repeat(40 * 1024 * 1024) }
    for (let time = 0; time < 2; time++) expect((await t.api('POST', '/jobs', body)).status).toBe(422)
  })
})
