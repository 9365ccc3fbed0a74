import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/values/clock.js'
import type { Chronos } from '../../src/engine/client/chronos.js'
import type { Store } from '../../src/store/store.js'
import { ROOT } from '../support/tree.js'
import { Bench, leaseOf, succeeded, TestClock } from './conformance/bench.js'

// Inside the repository, so that the modules find its packages.
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.cache/toy-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The page imports the package; the test runs it on the source, so that it needs no build. */
const SOURCES: Readonly<Record<string, string>> = {
  'chronos-jobs/store/conformance': join(ROOT, 'test/store/conformance/index.ts'),
  'chronos-jobs': join(ROOT, 'src/index.ts'),
  'chronos-jobs/store': join(ROOT, 'src/store.ts'),
}

const page = readFileSync(join(ROOT, 'docs/stores.md'), 'utf8')
const blocks = [...page.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name, code]) => ({ name, code }))
for (const { name, code } of blocks) {
  const text = code!.replace(/from '(chronos-jobs[^']*)'/g, (_, specifier: string) => `from '${SOURCES[specifier]}'`)
  writeFileSync(join(folder, name!), text.replace('./jobs.bin', join(folder, 'jobs.bin')))
}

const load = (name: string): Promise<unknown> => import(pathToFileURL(join(folder, name)).href)

const { fileStore } = (await load('file-store.ts')) as {
  fileStore(options: { path: string; clock: Clock }): Promise<Store>
}

describe('docs/stores.md', () => {
  it('has a store, its use and its test', () => {
    expect(blocks.map(({ name }) => name)).toEqual(['file-store.ts', 'app.ts', 'file-store.test.ts'])
  })

  it('names exports of chronos-jobs/store in its table of helpers', async () => {
    const exported = Object.keys(await import('../../src/store.js'))
    const rows = page.split('\n').filter(line => /^\| [^|]+ \| .*`/.test(line))
    const named = rows.flatMap(row => [...row.split('|')[2]!.matchAll(/`(\w+)`/g)].map(match => match[1]!))
    expect(named.length).toBeGreaterThan(30)
    const verbs = ['key', 'unique', 'fold']
    expect(named.filter(name => !exported.includes(name) && !verbs.includes(name))).toEqual([])
  })
})

describe('the store of docs/stores.md', () => {
  it('is used by createChronos', async () => {
    const { chronos } = (await load('app.ts')) as { chronos: Chronos }
    const { id } = await chronos.enqueue('send-mail', {})
    await chronos.close()
    const again = await fileStore({ path: join(folder, 'jobs.bin'), clock: new TestClock() })
    expect(await again.get(id)).toMatchObject({ name: 'send-mail', state: 'waiting' })
    await again.close()
  })

  const path = join(folder, 'reopened.bin')
  const bench = new Bench(clock => fileStore({ path, clock }))

  it('finds jobs, leases and counters again after it was opened again', async () => {
    await bench.open()
    const { clock } = bench
    const waiting = await bench.add({ priority: 1, key: 'k', payloadHash: 'h', unique: 'u' })
    const running = await bench.running({ priority: 9 })
    await bench.close()
    expect(existsSync(path)).toBe(true)

    const again = await fileStore({ path, clock })
    expect(await again.get(waiting)).toMatchObject({ state: 'waiting', key: 'k' })
    expect(await again.enqueue([bench.job({ unique: 'u' })])).toEqual([{ status: 'existing', id: waiting }])
    expect(await again.extend([leaseOf(running)], 30_000)).toEqual(['held'])
    expect(await again.settle([bench.settlement(running, succeeded())])).toMatchObject([{ status: 'settled' }])
    expect((await again.audit()).findings).toEqual([])
    await again.close()
  })
})

// Registers the conformance suite, as it does in a project of its own.
await load('file-store.test.ts')
