import { expect, test } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'

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
