import { expect, test } from 'vitest'
import { systemClock } from '../../../src/engine/time/system.js'
import { createChronos } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'

const PAGES = 40

test('a small request is answered between the large pages that others asked for before', async () => {
  await using chronos = createChronos({ store: 'memory:', log: false })
  await chronos.enqueueMany(
    'large',
    Array.from({ length: 200 }, () => 'x'.repeat(1_000)),
  )
  const server = createServer(chronos, { log: false, dashboard: false, open: true })
  let made = 0
  const page = async (path: string): Promise<void> => {
    const response = await server.fetch(new Request(`http://localhost/api/v1/jobs${path}`))
    made++
    const { data } = (await response.json()) as { data: readonly unknown[] }
    expect(data).toHaveLength(path === '' ? 50 : 200)
  }
  const pages = Array.from({ length: PAGES }, (_, index) => page(index % 2 === 0 ? '?limit=200' : ''))
  const small = await server.fetch(new Request('http://localhost/api/v1/jobs?limit=1'))
  expect(small.status).toBe(200)
  expect(made).toBeLessThan(PAGES / 4)
  await Promise.all(pages)
  expect(made).toBe(PAGES)
  await server.close()
})

test('a large page is not made for a client that disconnected while it waited for its turn', async () => {
  const store = memoryStore({ clock: systemClock })
  let reads = 0
  const counting: Store = {
    ...store,
    list(...given) {
      reads++
      return store.list(...given)
    },
  }
  const chronos = createChronos({ store: counting, log: false })
  const server = createServer(chronos, { log: false, dashboard: false, open: true })
  const gone = new AbortController()
  const page = async (signal?: AbortSignal): Promise<number> => {
    const request = new Request('http://localhost/api/v1/jobs?limit=200', signal ? { signal } : {})
    return (await server.fetch(request)).status
  }
  const first = [page(), page()]
  const waiting = Array.from({ length: PAGES }, () => page(gone.signal))
  const last = page()
  gone.abort()
  expect(await Promise.all(first)).toEqual([200, 200])
  await Promise.allSettled(waiting)
  expect(await last).toBe(200)
  expect(reads).toBe(3)
  await server.close()
  await chronos.close()
})
