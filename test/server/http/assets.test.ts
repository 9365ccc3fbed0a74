import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../support/process.js'
import { startServer } from '../server.js'

const SCRIPT = 'console.log("a script of the dashboard");\n'.repeat(200)

async function files() {
  const folder = temporaryFolder()
  mkdirSync(join(folder.path, 'assets'))
  writeFileSync(join(folder.path, 'index.html'), '<!doctype html><base href="__CHRONOS_BASE__">')
  writeFileSync(join(folder.path, 'assets', 'index-C5LC54T8.js'), SCRIPT)
  writeFileSync(join(folder.path, 'assets', 'logo-D26I9fUc.png'), 'not compressed again')
  const server = await startServer({ dashboard: folder.path })
  // Unlike fetch, it leaves the body as it was sent.
  const get = (name: string, headers: Record<string, string> = {}) => request(new URL(name, server.url), { headers })
  return {
    get,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

const bytesOf = async ({ body }: Awaited<ReturnType<typeof request>>) => Buffer.from(await body.arrayBuffer())

describe('a file of the dashboard', () => {
  it.each(['gzip', 'br, gzip;q=0.5', '*'])('is compressed for a client that accepts %s', async accepted => {
    await using t = await files()
    const response = await t.get('assets/index-C5LC54T8.js', { 'accept-encoding': accepted })
    expect(response.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: expect.stringContaining('Accept-Encoding'),
    })
    const bytes = await bytesOf(response)
    expect(bytes.byteLength).toBeLessThan(SCRIPT.length / 10)
    expect(gunzipSync(bytes).toString()).toBe(SCRIPT)
  })

  it.each([undefined, 'br', 'gzip;q=0', 'identity'])('is sent as it is to a client that accepts %s', async accepted => {
    await using t = await files()
    const response = await t.get(
      'assets/index-C5LC54T8.js',
      accepted === undefined ? {} : { 'accept-encoding': accepted },
    )
    expect(response.headers['content-encoding']).toBeUndefined()
    expect(response.headers['vary']).toContain('Accept-Encoding')
    expect((await bytesOf(response)).toString()).toBe(SCRIPT)
  })

  it('is not compressed if its format is', async () => {
    await using t = await files()
    const response = await t.get('assets/logo-D26I9fUc.png', { 'accept-encoding': 'gzip' })
    expect(response.headers['content-encoding']).toBeUndefined()
    expect((await bytesOf(response)).toString()).toBe('not compressed again')
  })

  it('is not sent again to a client that has this form of it', async () => {
    await using t = await files()
    const tagOf = async (accepted: string): Promise<string> => {
      const response = await t.get('assets/index-C5LC54T8.js', { 'accept-encoding': accepted })
      await bytesOf(response)
      return String(response.headers['etag'])
    }
    const [packed, plain] = [await tagOf('gzip'), await tagOf('identity')]
    expect(packed).not.toBe(plain)
    for (const [accepted, tag] of [
      ['gzip', packed],
      ['identity', plain],
    ] as const) {
      const response = await t.get('assets/index-C5LC54T8.js', { 'accept-encoding': accepted, 'if-none-match': tag })
      expect([response.statusCode, (await bytesOf(response)).byteLength]).toEqual([304, 0])
    }
  })
})
