import type { Fired, Firing, NewJob } from '../../../../src/store/store.js'
import { type Bench, STRANGE_TEXTS, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function scheduleCases(bench: Bench, { describe, expect, it }: Suite): void {
  const firing = (id: string, version: number, body: string, ...jobs: readonly NewJob[]): Firing => ({
    record: { kind: 'schedule', id, body, expect: version },
    jobs,
  })
  const fire = async (...firings: readonly Firing[]): Promise<readonly Fired[]> => bench.store.fire(firings)
  const occurrence = (scheduleId: string, at = '1'): NewJob =>
    bench.job({ scheduleId, key: `schedule:${scheduleId}:${at}`, payloadHash: 'h' })
  const bodyOf = async (id: string) => (await bench.store.records('schedule', { ids: [id] }))[0]?.body
  const live = async (...ids: string[]) =>
    [...(await bench.store.liveSchedules(ids))].sort((a, b) => (a.id < b.id ? -1 : 1))

  describe('fire', () => {
    it('writes the record and enqueues its jobs', async () => {
      const jobs = [occurrence('s', '1'), occurrence('s', '2')]
      expect(await fire(firing('s', 0, '{"n":1}', ...jobs))).toEqual([
        { status: 'written', version: 1, enqueued: jobs.map(({ id }) => ({ status: 'created', id })) },
      ])
      expect(await bodyOf('s')).toBe('{"n":1}')
      expect(await bench.get(jobs[0]!.id)).toMatchObject({ scheduleId: 's', key: 'schedule:s:1', state: 'waiting' })
      expect(await bench.claim()).toHaveLength(2)
    })

    it('does neither after another process has decided', async () => {
      await fire(firing('s', 0, '1'))
      await fire(firing('s', 1, '2'))
      const late = occurrence('s')
      expect(await fire(firing('s', 1, '3', late))).toMatchObject([
        { status: 'conflict', current: { version: 2, body: '2' } },
      ])
      expect(await bench.store.get(late.id)).toBeUndefined()
      expect(await bodyOf('s')).toBe('2')
    })

    it('does neither if the record is gone', async () => {
      const late = occurrence('s')
      expect(await fire(firing('s', 3, '4', late))).toEqual([{ status: 'conflict' }])
      expect(await bench.store.get(late.id)).toBeUndefined()
    })

    it('decides each for itself, in the order of the batch', async () => {
      await fire(firing('b', 0, '1'))
      const [a, b, c, d] = ['a', 'b', 'c', 'a'].map((id, n) => occurrence(id, String(n)))
      const answers = await fire(
        firing('c', 0, '1', c!),
        firing('b', 0, '1', b!),
        firing('a', 0, '1', a!),
        firing('a', 1, '2', d!),
        firing('e', 0, '1'),
      )
      expect(answers).toMatchObject([
        { status: 'written', version: 1, enqueued: [{ id: c!.id }] },
        { status: 'conflict', current: { version: 1 } },
        { status: 'written', version: 1, enqueued: [{ id: a!.id }] },
        { status: 'written', version: 2, enqueued: [{ id: d!.id }] },
        { status: 'written', version: 1, enqueued: [] },
      ])
      expect(await bench.listed({ state: 'waiting' }, { order: 'oldest' })).toHaveLength(3)
    })

    it('creates one job per key, regardless of the record', async () => {
      const first = occurrence('s', 'noon')
      await fire(firing('s', 0, '1', first))
      expect(await fire(firing('s', 1, '2', occurrence('s', 'noon')))).toEqual([
        { status: 'written', version: 2, enqueued: [{ status: 'existing', id: first.id }] },
      ])
      expect(await bench.listed({ scheduleId: 's' })).toEqual([first.id])
    })

    it('creates one job for an occurrence that many processes decide at once', async () => {
      await fire(firing('s', 0, '0'))
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, n) => fire(firing('s', 1, String(n), occurrence('s', `by ${n}`)))),
      )
      expect(all.flat().filter(({ status }) => status === 'written')).toHaveLength(1)
      expect(await bench.listed({ scheduleId: 's' })).toHaveLength(1)
    })

    it('counts what it enqueues', async () => {
      await fire(firing('s', 0, '1', occurrence('s')), firing('t', 4, '1', occurrence('t')))
      while ((await bench.store.fold(100)) > 0);
      const { queues } = await bench.store.audit()
      expect(queues).toMatchObject([{ ledger: { enqueued: 1 }, rows: { waiting: 1 } }])
    })

    it('accepts an empty batch', async () => {
      expect(await fire()).toEqual([])
    })
  })

  describe('jobs of schedules', () => {
    it('are found by their schedule, newest first', async () => {
      const [first, , third] = [
        await bench.add({ scheduleId: 's' }),
        await bench.add({ scheduleId: 't' }),
        await bench.ended(succeeded(), { scheduleId: 's', priority: 9 }),
        await bench.add(),
      ]
      expect(await bench.listed({ scheduleId: 's' })).toEqual([third, first])
      expect(await bench.store.count({ scheduleId: 's' }, 10)).toEqual({ value: 2, relation: 'exact' })
      expect(await bench.listed({ scheduleId: 's', state: 'waiting' })).toEqual([first])
      expect(await bench.listed({ scheduleId: 'none' })).toEqual([])
    })

    it('are counted while they wait or run', async () => {
      await bench.ended(succeeded(), { scheduleId: 's' })
      expect(await live('s', 't')).toEqual([])
      const running = await bench.running({ scheduleId: 's' })
      await bench.add({ scheduleId: 's', runAt: { delayMs: 60_000 } })
      await bench.add({ scheduleId: 't' })
      await bench.add()
      expect(await live('s', 't', 's', 'none')).toEqual([
        { id: 's', live: 2 },
        { id: 't', live: 1 },
      ])
      await bench.settle(running, succeeded())
      expect(await live('s')).toEqual([{ id: 's', live: 1 }])
      expect(await live()).toEqual([])
    })

    it('are counted again when they are redriven', async () => {
      const id = await bench.add({ scheduleId: 's' })
      await bench.cancel([id])
      expect(await live('s')).toEqual([])
      await bench.redrive([id])
      expect(await live('s')).toEqual([{ id: 's', live: 1 }])
      expect(await bench.get(id)).toMatchObject({ scheduleId: 's', generation: 2 })
      await bench.store.remove([id])
      expect(await live('s')).toEqual([])
    })

    it.each(STRANGE_TEXTS)('of one with %s in its id', async (_, text) => {
      const id = await bench.add({ scheduleId: text })
      expect(await bench.get(id)).toMatchObject({ scheduleId: text })
      expect(await bench.listed({ scheduleId: text })).toEqual([id])
      expect(await live(text)).toEqual([{ id: text, live: 1 }])
    })
  })
}
