import { ANY_TEXTS, type Bench, died, leaseOf, retry, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function effectCases(bench: Bench, { describe, expect, it }: Suite): void {
  const { begin, end } = {
    begin: (job: Parameters<typeof leaseOf>[0], name = 'charge') => bench.store.beginEffect(leaseOf(job), name),
    end: (job: Parameters<typeof leaseOf>[0], result = '"r"', name = 'charge') =>
      bench.store.endEffect(leaseOf(job), name, result),
  }

  describe('effects', () => {
    it('are new the first time', async () => {
      expect(await begin(await bench.running())).toEqual({ status: 'new' })
    })

    it('are still new to the lease that began them, after a lost response', async () => {
      const job = await bench.running()
      await begin(job)
      expect(await begin(job)).toEqual({ status: 'new' })
    })

    it('are done with their result, in the same run and in later ones', async () => {
      const job = await bench.running()
      await begin(job)
      expect(await end(job, '{"id":1}')).toBe('done')
      expect(await begin(job)).toEqual({ status: 'done', result: '{"id":1}' })
      await bench.settle(job, retry(0))
      expect(await begin(await bench.claimOne())).toEqual({ status: 'done', result: '{"id":1}' })
    })

    it('are unknown when an earlier run did not record their end', async () => {
      const job = await bench.running()
      await begin(job)
      await bench.settle(job, retry(0))
      const second = await bench.claimOne()
      expect(await begin(second)).toEqual({ status: 'begun' })
      expect(await begin(second)).toEqual({ status: 'begun' })
      expect(await end(second, '2')).toBe('done')
      expect(await begin(second)).toEqual({ status: 'done', result: '2' })
    })

    it('keep their first result', async () => {
      const job = await bench.running()
      await begin(job)
      await end(job, '1')
      expect(await end(job, '2')).toBe('done')
      expect(await begin(job)).toEqual({ status: 'done', result: '1' })
    })

    it('can be done without having begun', async () => {
      const job = await bench.running()
      expect(await end(job, '1')).toBe('done')
      expect(await begin(job)).toEqual({ status: 'done', result: '1' })
    })

    it('are distinguished by name and job', async () => {
      await bench.addMany(2)
      const [one, two] = await bench.claim()
      await begin(one!)
      await end(one!)
      expect(await begin(one!, 'other')).toEqual({ status: 'new' })
      expect(await begin(two!)).toEqual({ status: 'new' })
    })

    it('are kept across generations', async () => {
      const job = await bench.running()
      await begin(job)
      await end(job, '1')
      await bench.settle(job, died())
      await bench.redrive([job.id])
      expect(await begin(await bench.claimOne())).toEqual({ status: 'done', result: '1' })
    })

    it('are lost to another token, and not written', async () => {
      const job = await bench.running()
      const forged = { ...job, token: bench.token() }
      expect(await begin(forged)).toEqual({ status: 'lost' })
      expect(await end(forged)).toBe('lost')
      expect(await begin(job)).toEqual({ status: 'new' })
    })

    it('are lost to a worker whose lease was lost', async () => {
      const job = await bench.running()
      await begin(job)
      await bench.settle(job, retry(0))
      expect(await end(job)).toBe('lost')
      const second = await bench.claimOne()
      expect(await end(job)).toBe('lost')
      expect(await begin(job)).toEqual({ status: 'lost' })
      expect(await begin(second)).toEqual({ status: 'begun' })
    })

    it('are removed with their job', async () => {
      const job = bench.job()
      await bench.store.enqueue([job])
      const first = await bench.claimOne()
      await begin(first)
      await end(first)
      await bench.settle(first, succeeded())
      await bench.store.remove([job.id])
      await bench.store.enqueue([job])
      expect(await begin(await bench.claimOne())).toEqual({ status: 'new' })
    })

    it.each(ANY_TEXTS)('give every text back exactly: %s', async (_name, text) => {
      const job = await bench.running()
      await begin(job, text)
      await end(job, text, text)
      expect(await begin(job, text)).toEqual({ status: 'done', result: text })
      expect(await begin(job, `${text}!`)).toEqual({ status: 'new' })
    })
  })
}
