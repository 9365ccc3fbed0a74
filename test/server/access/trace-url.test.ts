import { expect, it } from 'vitest'
import { traceLink } from '../../../src/core/values/trace-url.js'
import { tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

const traceUrl = 'https://tempo.example/trace/{traceId}?org=1'

it('tells the dashboard where traces are, but not the token of a tenant', async () => {
  await using t = await startServer({ asAdmin: true, traceUrl })
  const session = async (tenant?: string): Promise<unknown> =>
    (await t.api('GET', '/session', undefined, await tokenOf(t, 'viewer', tenant))).body
  expect(await session()).toMatchObject({ traceUrl })
  expect(await session('acme')).not.toHaveProperty('traceUrl')
})

it('puts the trace into the address', () => {
  expect(traceLink(traceUrl, '4bf92f35')).toBe('https://tempo.example/trace/4bf92f35?org=1')
  expect(traceLink(traceUrl, 'a/b')).toContain('/trace/a%2Fb?')
})

it.each(['https://tempo.example/trace', 'javascript:alert("{traceId}")', 'tempo.example/{traceId}', 5])(
  'refuses %j as the address of traces',
  async given => {
    await expect(startServer({ traceUrl: given as string })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('traceUrl: expected an http or https address with {traceId}'),
    })
  },
)
