import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sign, verifyWebhook } from '../../../src/engine/webhooks/signature.js'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

interface Request {
  readonly headers: IncomingMessage['headers']
  body: unknown
}
interface Response {
  sendStatus(status: number): void
}
type Handler = (request: Request, response: Response) => unknown

/** Runs the receiver of the documentation as Express 4 does: the promise of a handler is dropped. */
async function receiver(handled: unknown[]): Promise<string> {
  const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')
  const code = /## Receive messages\n\n```js\nimport [^\n]+\n([\s\S]+?)```/.exec(page)![1]!
  let handler: Handler = () => undefined
  const app = {
    post(_path: string, _raw: unknown, given: Handler) {
      handler = given
    },
  }
  const surroundings = {
    app,
    express: { raw: () => undefined },
    verifyWebhook,
    secret: SECRET,
    isNew: async () => true,
    handle: async (...message: unknown[]) => handled.push(message),
  }
  new Function(...Object.keys(surroundings), code)(...Object.values(surroundings))
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = chunks.length === 0 ? {} : Buffer.concat(chunks)
    void handler({ headers: incoming.headers, body }, { sendStatus: status => outgoing.writeHead(status).end() })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the receiver of the documentation', () => {
  // An unhandled rejection would fail this test, as it would end the process.
  it('answers a bad request with 401, a request without a body with 500, and takes a signed message', async () => {
    const handled: unknown[] = []
    const url = await receiver(handled)
    const body = JSON.stringify({ type: 'job.dead', timestamp: '2026-11-16T07:08:23.120Z', data: { jobId: '1' } })
    const post = async (init: RequestInit): Promise<number> => (await fetch(url, { method: 'POST', ...init })).status
    expect(await post({ body })).toBe(401)
    expect(await post({ body: 'x', headers: { ...sign('msg_1', Date.now(), body, [SECRET]) } })).toBe(401)
    expect(await post({})).toBe(500)
    expect(handled).toEqual([])
    expect(await post({ body, headers: { ...sign('msg_1', Date.now(), body, [SECRET]) } })).toBe(204)
    expect(handled).toEqual([['job.dead', { jobId: '1' }]])
  })
})

describe('verifyWebhook', () => {
  it.each([[{ type: 'job.dead' }], [undefined], [null], [42]])('refuses a body that is not bytes: %j', body => {
    const headers = { ...sign('msg_1', Date.now(), '{}', [SECRET]) }
    expect(() => verifyWebhook({ body: body as never, headers, secret: SECRET })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('express.raw') }),
    )
  })

  it('reports a request without headers as unsigned', () => {
    expect(() => verifyWebhook({ body: '', headers: undefined as never, secret: SECRET })).toThrow(
      expect.objectContaining({ code: 'SIGNATURE_MISSING' }),
    )
  })
})
