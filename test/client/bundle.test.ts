import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { type ChronosClient, defineJob } from '../../src/client.js'
import { startServer } from '../server/server.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The files that a built file loads, and the packages that it imports. */
function graphOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  if (!file.startsWith('/')) return seen
  const code = readFileSync(file, 'utf8')
  for (const [, specifier] of code.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)) {
    graphOf(specifier!.startsWith('.') ? fileURLToPath(new URL(specifier!, `file://${file}`)) : specifier!, seen)
  }
  return seen
}

/** The client as one script for a browser. */
async function bundled(): Promise<string> {
  const { build } = await import('vite')
  const made = await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      write: false,
      minify: true,
      lib: { entry: `${root}src/client.ts`, formats: ['iife'], name: 'chronos' },
    },
  })
  const [{ output }] = made as unknown as [{ output: [{ code: string }] }]
  return output[0].code
}

describe('the client', () => {
  it('loads no module of Node, no store and no engine', () => {
    const names = [...graphOf(`${root}dist/client.js`)].map(name =>
      name.replace(/^.*\/dist\//, '').replace(/-[\w-]{8}\.js$/, ''),
    )
    expect(names.sort()).toEqual(['chunks/client', 'chunks/core', 'chunks/define', 'client.js', 'croner'])
  })

  it('runs as one small script with what every browser has, and nothing of Node', async () => {
    const code = await bundled()
    expect(code).not.toMatch(/node:|\brequire\(|\bprocess\.|\bBuffer\b/)
    await using t = await startServer()
    t.chronos.work([defineJob({ name: 'total', run: ({ cents }: { cents: number }) => cents * 2 })], { signals: false })
    const web = { fetch, URL, URLSearchParams, AbortController, AbortSignal, TextDecoder, TextEncoder, crypto, Headers }
    const browser = createContext({ ...web, setTimeout, clearTimeout })
    const { createClient } = runInContext(`${code}; chronos`, browser) as {
      createClient: (options: { url: string }) => ChronosClient
    }
    const client = createClient({ url: t.url })
    const { id } = await client.enqueue('total', { cents: 4 })
    expect(await client.jobs.result('total', id, { within: '20s' })).toBe(8)
    const types: string[] = []
    for await (const { type } of client.jobs.follow(id)) types.push(type)
    expect(types).toEqual(['attempt', 'end'])
  })
})
