import { describe, expect, it } from 'vitest'
import { classify } from '../../../src/core/failure/classify.js'
import { nextHop } from '../../../src/engine/egress/redirect.js'
import { type Heard, hear, startReceiver } from '../../support/receiver.js'
import { failureOf, sender, textOf } from './sending.js'

const STATUSES = [301, 302, 303, 307, 308]

describe('redirects', () => {
  it('are returned like any other response by default', async () => {
    await using receiver = await startReceiver((_, response) => response.writeHead(302, { location: '/b' }).end())
    await using egress = sender()
    const answer = await egress.send(receiver.origin)
    expect(answer).toMatchObject({ status: 302, redirects: 0, headers: { location: '/b' } })
  })

  it.each<[status: number, method: 'POST' | 'PUT' | 'GET' | 'HEAD', becomes: string]>([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [301, 'PUT', 'PUT'],
    [303, 'PUT', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [302, 'GET', 'GET'],
  ])('after %i a %s becomes a %s', async (status, method, becomes) => {
    const heard: Heard[] = []
    await using receiver = await startReceiver(async (request, response) => {
      heard.push(await hear(request))
      if (request.url === '/a') response.writeHead(status, { location: '/b' }).end()
      else response.end('done')
    })
    await using egress = sender()
    const body = method === 'POST' || method === 'PUT' ? { body: 'x=1' } : {}
    const headers = { 'content-type': 'text/plain', 'idempotency-key': '"k"', accept: '*/*' }
    const answer = await egress.send(`${receiver.origin}/a`, { method, headers, ...body, redirectsMax: 3 })
    expect(answer).toMatchObject({ status: 200, redirects: 1 })
    const [, second] = heard
    const keeps = becomes === method
    expect(second).toMatchObject({ method: becomes, path: '/b', body: keeps && 'body' in body ? 'x=1' : '' })
    expect(second!.headers['content-type']).toBe(keeps ? 'text/plain' : undefined)
    expect(second!.headers.accept).toBe('*/*')
  })

  it('send no secrets to another origin', async () => {
    const heard: Heard[] = []
    await using there = await startReceiver(async (request, response) => {
      heard.push(await hear(request))
      response.end()
    })
    await using here = await startReceiver((_, response) =>
      response.writeHead(307, { location: `${there.origin}/in` }).end(),
    )
    await using egress = sender()
    const secrets = {
      authorization: 'Bearer s3cret',
      cookie: 'a=s3cret',
      'x-api-key': 's3cret',
      'x-auth-token': 's3cret',
    }
    await egress.send(here.origin, { headers: { ...secrets, accept: 'text/css' }, redirectsMax: 1 })
    expect(heard[0]!.headers.accept).toBe('text/css')
    expect(JSON.stringify(heard[0])).not.toContain('s3cret')
  })

  it.each(
    STATUSES.flatMap(status =>
      [
        'http://169.254.169.254/latest',
        '//169.254.169.254/',
        'http://10.0.0.1/',
        'http://[::ffff:169.254.169.254]/',
        'http://2852039166/',
        'http://metadata.google.internal/',
        'file:///etc/passwd',
        'http://example.com:25/',
      ].map(location => [status, location] as const),
    ),
  )('with %i to %s are refused', async (status, location) => {
    await using receiver = await startReceiver((_, response) => response.writeHead(status, { location }).end('body'))
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { redirectsMax: 3 }))
    expect(error).toMatchObject({ code: 'ESSRFBLOCKED' })
    expect(classify(error, [], 0).kind).toBe('blocked')
  })

  it('end after the given maximum', async () => {
    let asked = 0
    await using receiver = await startReceiver((_, response) => {
      response.writeHead(302, { location: `/${++asked}` }).end()
    })
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { redirectsMax: 3 }))
    expect(error.message).toMatch(/answered 302: it redirects for more than 3 times, which is not followed$/)
    expect(classify(error, [], 0).kind).toBe('permanent')
    expect(asked).toBe(4)
  })

  it('share one timeout', async () => {
    await using receiver = await startReceiver((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/silent' }).end()
    })
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { redirectsMax: 1, timeoutMs: 200 }))
    expect(error).toMatchObject({ name: 'TimeoutError', code: 'ETIMEDOUT' })
  })

  it('are not made by a Refresh header', async () => {
    await using receiver = await startReceiver((_, response) => {
      response.writeHead(200, { refresh: '0; url=http://169.254.169.254/' }).end('stays')
    })
    await using egress = sender()
    expect(textOf(await egress.send(receiver.origin, { redirectsMax: 3 }))).toBe('stays')
  })

  it('never go from https to http, nor to an invalid URL', () => {
    const hop = { url: new URL('https://example.com/a'), method: 'GET', headers: {} } as const
    const answer = { body: new Uint8Array(), truncated: false, timing: { firstByteMs: 0, totalMs: 0 }, status: 301 }
    const to = (location: string) => nextHop(hop, { ...answer, headers: { location } })
    expect(() => to('http://example.com/')).toThrow(/redirects from https to http/)
    expect(() => to('https://')).toThrow(/redirects to an invalid URL/)
    expect(to('//other.example/b')?.url.href).toBe('https://other.example/b')
    expect(nextHop(hop, { ...answer, headers: {} })).toBeUndefined()
    expect(nextHop(hop, { ...answer, status: 304, headers: { location: '/b' } })).toBeUndefined()
  })
})
