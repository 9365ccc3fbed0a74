import { type Bench, died, STRANGE_TEXTS } from '../bench.js'
import type { Suite } from '../runner.js'

export function queueCases(bench: Bench, { describe, expect, it }: Suite): void {
  describe('queues', () => {
    it('are empty at first', async () => {
      expect(await bench.store.queues()).toEqual([])
    })

    it('are known once something was enqueued into them, by name', async () => {
      await bench.add({ queue: 'b' })
      await bench.store.enqueue([bench.job({ queue: 'a' }), bench.job({ queue: 'c' }), bench.job({ queue: 'a' })])
      expect(await bench.store.queues()).toEqual(['a', 'b', 'c'].map(name => ({ name, paused: false })))
    })

    it('are known once they were set', async () => {
      expect(await bench.store.setQueue('q', {})).toEqual({ name: 'q', paused: false })
      expect(await bench.store.queues()).toEqual([{ name: 'q', paused: false }])
    })

    it('keep settings that a change does not mention', async () => {
      await bench.store.setQueue('q', { paused: true })
      await bench.store.setQueue('q', { retry: { maxRetries: 9 } })
      expect(await bench.store.setQueue('q', {})).toEqual({ name: 'q', paused: true, retry: { maxRetries: 9 } })
      expect(await bench.store.setQueue('q', { paused: false })).toEqual({
        name: 'q',
        paused: false,
        retry: { maxRetries: 9 },
      })
    })

    it('lose their policy by null', async () => {
      await bench.store.setQueue('q', { retry: { maxRetries: 9 } })
      expect(await bench.store.setQueue('q', { retry: null })).toEqual({ name: 'q', paused: false })
    })

    it('stay paused when something is enqueued', async () => {
      await bench.store.setQueue('default', { paused: true })
      await bench.add()
      expect(await bench.store.queues()).toEqual([{ name: 'default', paused: true }])
      expect(await bench.claim()).toEqual([])
    })

    it('may be set again and again', async () => {
      await bench.store.setQueue('q', { paused: true })
      expect(await bench.store.setQueue('q', { paused: true })).toEqual({ name: 'q', paused: true })
    })

    it('do not touch jobs that run', async () => {
      const job = await bench.running()
      await bench.store.setQueue('default', { paused: true })
      expect(await bench.store.extend([{ id: job.id, token: job.token }], 1000)).toEqual(['held'])
    })

    it('are removed only without waiting and running jobs, and with settings only on request', async () => {
      await bench.add({ queue: 'waiting' })
      await bench.running({ queue: 'running', priority: 9 })
      await bench.ended(died(), { queue: 'ended', priority: 9 })
      await bench.store.setQueue('paused', { paused: true })
      await bench.store.setQueue('set', { retry: { maxRetries: 1 } })
      await bench.store.setQueue('plain', {})
      const names = ['waiting', 'running', 'ended', 'paused', 'set', 'plain', 'unknown']
      const remove = async (which: 'any' | 'unset') => [...(await bench.store.removeQueues(names, which))].sort()
      expect(await remove('unset')).toEqual(['ended', 'plain'])
      expect(await remove('any')).toEqual(['paused', 'set'])
      expect((await bench.store.queues()).map(({ name }) => name)).toEqual(['running', 'waiting'])
      expect(await bench.store.removeQueues([], 'any')).toEqual([])
    })

    it('exist again after an enqueue', async () => {
      await bench.store.setQueue('q', { paused: true })
      await bench.store.removeQueues(['q'], 'any')
      await bench.add({ queue: 'q' })
      expect(await bench.store.queues()).toEqual([{ name: 'q', paused: false }])
      expect(await bench.claim({ queues: ['q'] })).toHaveLength(1)
    })

    it.each(STRANGE_TEXTS)('give their name back exactly: %s', async (_name, name) => {
      await bench.store.setQueue(name, { paused: true })
      expect(await bench.store.queues()).toEqual([{ name, paused: true }])
      await bench.add({ queue: name })
      expect(await bench.claim({ queues: [name] })).toEqual([])
    })
  })

  describe('policies', () => {
    it('are kept by id, and found by id', async () => {
      await bench.store.putPolicies([
        { id: 'a', policy: '{"maxRetries":1}' },
        { id: 'b', policy: '{"maxRetries":2}' },
      ])
      expect(await bench.store.policies(['b', 'unknown', 'a', 'b'])).toEqual([
        { id: 'b', policy: '{"maxRetries":2}' },
        { id: 'a', policy: '{"maxRetries":1}' },
      ])
    })

    it('are never changed, only added', async () => {
      await bench.store.putPolicies([{ id: 'a', policy: '1' }])
      await bench.store.putPolicies([{ id: 'a', policy: '2' }])
      expect(await bench.store.policies(['a'])).toEqual([{ id: 'a', policy: '1' }])
    })

    it('may be empty', async () => {
      await bench.store.putPolicies([])
      expect(await bench.store.policies([])).toEqual([])
    })
  })
}
