import { type Bench, cancelled, died, retry, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function spawnCases(bench: Bench, { describe, expect, it }: Suite): void {
  describe('jobs that are created with the end of a run', () => {
    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
      ['waits again', retry(1e6)],
      ['was cancelled', cancelled()],
    ])('are created when a job %s', async (_word, end) => {
      const spawn = [bench.job({ queue: 'deliveries', payload: '"hello"' }), bench.job({ runAt: { delayMs: 50 } })]
      const job = await bench.running()
      expect(await bench.settle(job, { ...end, spawn })).toMatchObject({ status: 'settled' })
      expect(await bench.get(spawn[0]!.id)).toMatchObject({ queue: 'deliveries', payload: '"hello"', state: 'waiting' })
      expect(await bench.get(spawn[1]!.id)).toMatchObject({ runAt: bench.now() + 50, createdAt: bench.now() })
      expect((await bench.store.queues()).map(({ name }) => name)).toEqual(['default', 'deliveries'])
    })

    it('are not created when the lease is lost', async () => {
      const job = await bench.running()
      const spawn = [bench.job()]
      expect(await bench.settle({ ...job, token: bench.token() }, { ...succeeded(), spawn })).toEqual({
        status: 'lost',
      })
      expect(await bench.store.get(spawn[0]!.id)).toBeUndefined()
    })

    it('are not created again when a settlement is repeated', async () => {
      const job = await bench.running()
      const spawn = [bench.job()]
      await bench.settle(job, { ...succeeded(), spawn })
      await bench.store.remove([spawn[0]!.id])
      expect(await bench.settle(job, { ...succeeded(), spawn })).toEqual({ status: 'already' })
      expect(await bench.store.get(spawn[0]!.id)).toBeUndefined()
    })

    it('follow the rules of every enqueue', async () => {
      const keyed = { key: 'k', payloadHash: 'h' }
      await bench.add({ ...keyed, queue: 'other' })
      await bench.add({ unique: 'u', queue: 'other' })
      const job = await bench.running()
      const spawn = [
        bench.job(keyed),
        bench.job({ unique: 'u' }),
        bench.job({ key: 'k2', payloadHash: 'h', dependency: 'g' }),
      ]
      expect(await bench.settle(job, { ...succeeded(), spawn })).toMatchObject({ status: 'settled' })
      expect(await bench.store.get(spawn[0]!.id)).toBeUndefined()
      expect(await bench.store.get(spawn[1]!.id)).toBeUndefined()
      expect(await bench.get(spawn[2]!.id)).toMatchObject({ key: 'k2', dependency: 'g' })
      expect(await bench.store.enqueue([bench.job({ key: 'k2', payloadHash: 'h' })])).toEqual([
        { status: 'existing', id: spawn[2]!.id },
      ])
    })

    it('are created only for the settled runs of a batch', async () => {
      const [first, second] = [await bench.running(), await bench.running()]
      const spawn = [bench.job({ queue: 'a' }), bench.job({ queue: 'b' })]
      await bench.store.settle([
        bench.settlement(first, { ...succeeded(), spawn: [spawn[0]!] }),
        bench.settlement({ ...second, token: bench.token() }, { ...succeeded(), spawn: [spawn[1]!] }),
      ])
      expect(await bench.store.get(spawn[0]!.id)).toBeDefined()
      expect(await bench.store.get(spawn[1]!.id)).toBeUndefined()
    })
  })
}
