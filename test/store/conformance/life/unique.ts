import type { NewJob } from '../../../../src/store/store.js'
import { REMOVED_KEY_MS, REPLACED_ID_MS } from '../../../../src/store/store.js'
import { ANY_TEXTS, type Bench, cancelled, died, handedBack, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

const REPLACE = { unique: 'u', replacement: { mode: 'replace' } } as const
const DEBOUNCE = {
  unique: 'u',
  replacement: { mode: 'debounce', forMs: 1_000, maxWaitMs: 3_500 },
  runAt: { delayMs: 1_000 },
} as const
const THROTTLE = { throttle: { value: 'u', forMs: 1_000 } } as const

export function uniqueCases(bench: Bench, { describe, expect, it }: Suite): void {
  const put = async (given: Partial<NewJob>) => (await bench.store.enqueue([bench.job(given)]))[0]!
  const payloadOf = async (id: string) => (await bench.get(id)).payload
  const live = () => bench.listed({ state: ['waiting', 'running'] }, { order: 'oldest' })
  const verified = async () => {
    while ((await bench.store.fold(100)) > 0);
    const { findings, queues } = await bench.store.audit()
    expect(findings).toEqual([])
    for (const { ledger, rows, idSum } of queues) {
      const count = Object.values(rows).reduce((sum, one) => sum + one, 0)
      expect([ledger.enqueued - ledger.removed, ledger.idSum]).toEqual([count, idSum])
    }
  }

  describe('unique › replace', () => {
    it('gives the newest payload to the waiting job, whose time stays', async () => {
      const id = await bench.add({ ...REPLACE, payload: '1', runAt: { delayMs: 5_000 } })
      bench.clock.advance(2_000)
      expect(await put({ ...REPLACE, payload: '2' })).toEqual({ status: 'replaced', id, delayMs: 3_000 })
      expect(await bench.get(id)).toMatchObject({ payload: '2', runAt: bench.now() + 3_000 })
      expect(await live()).toEqual([id])
    })

    it('returns the delay 0 for a job that is due', async () => {
      const id = await bench.add(REPLACE)
      bench.clock.advance(2_000)
      expect(await put(REPLACE)).toEqual({ status: 'replaced', id, delayMs: 0 })
    })

    it('keeps the other options of the first enqueue', async () => {
      const first = { queue: 'one', priority: 7, tags: ['a'], timeoutMs: 50, override: { maxRetries: 2 } }
      const id = await bench.add({ ...REPLACE, ...first, policyId: 'p' })
      await put({ ...REPLACE, queue: 'two', priority: 1, tags: ['b'], timeoutMs: 60, override: { maxRetries: 9 } })
      expect(await bench.get(id)).toMatchObject({ ...first, policyId: 'p' })
    })

    it('takes the deadline and the dependency of the newest enqueue, or none', async () => {
      const id = await bench.add({ ...REPLACE, deadline: { delayMs: 10 }, dependency: 'a' })
      await put({ ...REPLACE, deadline: { delayMs: 20 }, dependency: 'b' })
      expect(await bench.get(id)).toMatchObject({ deadline: bench.now() + 20, dependency: 'b' })
      await put(REPLACE)
      const job = await bench.get(id)
      expect([job.deadline, job.dependency]).toEqual([undefined, undefined])
    })

    it('lets a job run whose deadline passed with an older payload', async () => {
      const id = await bench.add({ ...REPLACE, deadline: { delayMs: 10 } })
      bench.clock.advance(20)
      expect(await put({ ...REPLACE, payload: '2' })).toMatchObject({ status: 'replaced', id })
      expect(await bench.claimOne()).toMatchObject({ id, payload: '2' })
    })

    it('gives up the slot of the old dependency', async () => {
      const id = await bench.add({ ...REPLACE, dependency: 'a' })
      await bench.store.defer({ dependency: 'a', from: { dueWithinMs: 0 }, delaysMs: [9_000], pass: 3 })
      await put({ ...REPLACE, dependency: 'a' })
      expect(await bench.get(id)).toMatchObject({ pass: 3 })
      await put({ ...REPLACE, dependency: 'b' })
      expect((await bench.get(id)).pass).toBeUndefined()
    })

    it.each([
      ['short by long', '"s"', `"${'l'.repeat(2_000)}"`],
      ['long by short', `"${'l'.repeat(2_000)}"`, '"s"'],
      ['long by long', `"${'l'.repeat(2_000)}"`, `"${'m'.repeat(3_000)}"`],
    ])('replaces a payload that is %s', async (_name, before, after) => {
      const id = await bench.add({ ...REPLACE, payload: before })
      await put({ ...REPLACE, payload: after })
      expect(await payloadOf(id)).toBe(after)
      expect((await bench.claimOne()).payload).toBe(after)
    })

    it('creates a waiting job beside a running one, which stays as it is', async () => {
      const running = await bench.running({ ...REPLACE, payload: '1' })
      const waiting = await put({ ...REPLACE, payload: '2' })
      expect(waiting).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, payload: '3' })).toMatchObject({ status: 'replaced', id: waiting.id })
      expect(await live()).toEqual([running.id, waiting.id])
      expect(await payloadOf(running.id)).toBe('1')
      expect(await payloadOf(waiting.id)).toBe('3')
      expect(await bench.settle(running, succeeded())).toMatchObject({ status: 'settled' })
      expect((await bench.claimOne()).id).toBe(waiting.id)
    })

    it('goes on with a third job while two run', async () => {
      const ids = [await bench.running(REPLACE), await bench.running(REPLACE), await bench.running(REPLACE)]
      const last = await put({ ...REPLACE, payload: '4' })
      expect(last.status).toBe('created')
      for (const job of ids) await bench.settle(job, succeeded())
      expect(await put({ ...REPLACE, payload: '5' })).toMatchObject({ status: 'replaced', id: last.id })
      expect(await live()).toEqual([last.id])
    })

    it.each([
      ['a retry', retry(9_000)],
      ['its snooze', snoozed(9_000)],
    ])('replaces the payload of a job that waits for %s, whose time and attempts stay', async (_word, end) => {
      const running = await bench.running({ ...REPLACE, payload: '1' })
      await bench.settle(running, end)
      const before = await bench.get(running.id)
      expect(await put({ ...REPLACE, payload: '2' })).toEqual({ status: 'replaced', id: running.id, delayMs: 9_000 })
      expect(await bench.get(running.id)).toEqual({ ...before, payload: '2' })
    })

    it('replaces the newest job if the older one waits for a retry', async () => {
      const running = await bench.running({ ...REPLACE, payload: '1' })
      const { id } = await put({ ...REPLACE, payload: '2' })
      await bench.settle(running, retry(9_000))
      expect(await put({ ...REPLACE, payload: '3' })).toMatchObject({ status: 'replaced', id })
      expect(await payloadOf(running.id)).toBe('1')
      expect((await bench.claimOne()).id).toBe(id)
      expect(await put({ ...REPLACE, payload: '4' })).toMatchObject({ status: 'replaced', id: running.id })
    })

    it('lets a job that was handed back wait beside a newer one', async () => {
      const running = await bench.running({ ...REPLACE, payload: '1' })
      const { id } = await put({ ...REPLACE, payload: '2' })
      expect(await bench.settle(running, handedBack())).toMatchObject({ status: 'settled' })
      expect(await bench.claim()).toMatchObject([{ id: running.id }, { id }])
    })

    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
      ['was cancelled', cancelled()],
    ])('creates a job after the last one %s', async (_word, end) => {
      await bench.ended(end, REPLACE)
      expect(await put(REPLACE)).toMatchObject({ status: 'created' })
    })

    it('never gives the payload of an at-most-once job to one that may run twice, or the other way round', async () => {
      const id = await bench.add(REPLACE)
      const once = await put({ ...REPLACE, delivery: 'at-most-once' })
      expect(once).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, delivery: 'at-most-once' })).toMatchObject({ status: 'replaced', id: once.id })
      expect(await put(REPLACE)).toMatchObject({ status: 'replaced', id })
    })

    it('is scoped by tenant and name, and no tenant is a scope of its own', async () => {
      await bench.add(REPLACE)
      expect(await put({ ...REPLACE, tenantId: 'acme' })).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, tenantId: '' })).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, tenantId: '0' })).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, name: 'other' })).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, tenantId: 'acme' })).toMatchObject({ status: 'replaced' })
    })

    it.each(ANY_TEXTS)('compares the exact text: %s', async (_name, unique) => {
      const id = await bench.add({ ...REPLACE, unique })
      expect(await put({ ...REPLACE, unique: `${unique}x` })).toMatchObject({ status: 'created' })
      expect(await put({ ...REPLACE, unique, payload: '2' })).toMatchObject({ status: 'replaced', id })
    })

    it('takes the last payload of a batch', async () => {
      const jobs = ['1', '2', '3', '4'].map(payload => bench.job({ ...REPLACE, payload }))
      const other = bench.job({ ...REPLACE, unique: 'v' })
      const answers = await bench.store.enqueue([jobs[0]!, jobs[1]!, other, jobs[2]!, jobs[3]!])
      const id = jobs[0]!.id
      const replaced = { status: 'replaced', id, delayMs: 0 }
      expect(answers).toEqual([
        { status: 'created', id },
        replaced,
        { status: 'created', id: other.id },
        replaced,
        replaced,
      ])
      expect(await payloadOf(id)).toBe('4')
      expect(await live()).toEqual([id, other.id])
      await verified()
    })

    it('takes the last payload of a batch of many values and none', async () => {
      const values = Array.from({ length: 300 }, (_, index) => `v${index % 7}`)
      const jobs = values.map((unique, index) =>
        bench.job({ ...REPLACE, unique, payload: String(index), ...(index % 50 === 49 && { unique: 'alone' }) }),
      )
      const plain = bench.job({ payload: '"plain"' })
      const answers = await bench.store.enqueue([...jobs, plain])
      expect(answers.filter(({ status }) => status === 'created')).toHaveLength(9)
      for (const value of new Set(jobs.map(({ unique }) => unique))) {
        const last = jobs.findLastIndex(({ unique }) => unique === value)
        expect(await payloadOf(answers[last]!.id)).toBe(String(last))
      }
      await verified()
    })

    it('takes the last payload of a batch for a job that waits, and creates one beside a job that runs', async () => {
      const running = await bench.running({ ...REPLACE, unique: 'running' })
      const waiting = await bench.add({ ...REPLACE, unique: 'waiting' })
      const job = (unique: string, payload: string) => bench.job({ ...REPLACE, unique, payload })
      const batch = [job('running', '1'), job('waiting', '2'), job('running', '3'), job('waiting', '4')]
      expect(await bench.store.enqueue(batch)).toMatchObject([
        { status: 'created', id: batch[0]!.id },
        { status: 'replaced', id: waiting },
        { status: 'replaced', id: batch[0]!.id },
        { status: 'replaced', id: waiting },
      ])
      expect(await payloadOf(running.id)).toBe('{}')
      expect(await payloadOf(batch[0]!.id)).toBe('3')
      expect(await payloadOf(waiting)).toBe('4')
    })

    it('has one job after many concurrent calls, with the payload of one of them', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => put({ ...REPLACE, payload: String(index) })),
      )
      expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
      await verified()
    })

    it('counts one enqueued job', async () => {
      const id = await bench.add(REPLACE)
      await put(REPLACE)
      await put(REPLACE)
      await bench.cancel([id])
      await verified()
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 1 })
    })
  })

  describe('unique › mixed with no mode', () => {
    it('replaces the payload of a job that was enqueued without a mode', async () => {
      const id = await bench.add({ unique: 'u', payload: '1' })
      expect(await put({ ...REPLACE, payload: '2' })).toMatchObject({ status: 'replaced', id })
    })

    it('returns the waiting job to an enqueue without a mode', async () => {
      const id = await bench.add(REPLACE)
      expect(await put({ unique: 'u' })).toEqual({ status: 'existing', id })
    })

    it('returns the newest job to an enqueue without a mode, also if only that one is left', async () => {
      const running = await bench.running(REPLACE)
      const { id } = await put(REPLACE)
      expect(await put({ unique: 'u' })).toEqual({ status: 'existing', id })
      await bench.settle(running, succeeded())
      expect(await put({ unique: 'u' })).toEqual({ status: 'existing', id })
    })
  })

  describe('unique › debounce', () => {
    it('moves the job to the time after the newest enqueue', async () => {
      const id = await bench.add({ ...DEBOUNCE, payload: '1' })
      bench.clock.advance(900)
      expect(await put({ ...DEBOUNCE, payload: '2' })).toEqual({ status: 'replaced', id, delayMs: 1_000 })
      expect(await bench.get(id)).toMatchObject({ payload: '2', runAt: bench.now() + 1_000 })
      bench.clock.advance(999)
      expect(await bench.claim()).toEqual([])
      bench.clock.advance(1)
      expect(await bench.claimOne()).toMatchObject({ id, payload: '2' })
    })

    it('never moves it later than the longest wait after the first enqueue', async () => {
      const id = await bench.add(DEBOUNCE)
      const dueAt = bench.now() + 3_500
      for (let count = 0; count < 4; count++) {
        bench.clock.advance(800)
        await put(DEBOUNCE)
      }
      expect((await bench.get(id)).runAt).toBe(dueAt)
      bench.clock.advance(300)
      expect((await bench.claimOne()).id).toBe(id)
    })

    it('moves a job that is overdue because no worker took it', async () => {
      const id = await bench.add(DEBOUNCE)
      bench.clock.advance(1_500)
      expect(await put(DEBOUNCE)).toEqual({ status: 'replaced', id, delayMs: 1_000 })
      bench.clock.advance(10_000)
      expect(await put(DEBOUNCE)).toEqual({ status: 'replaced', id, delayMs: 0 })
    })

    it('moves a job to an earlier time if the newest enqueue asks for it', async () => {
      const id = await bench.add({ ...DEBOUNCE, runAt: { delayMs: 60_000 } })
      expect(await put(DEBOUNCE)).toEqual({ status: 'replaced', id, delayMs: 1_000 })
      bench.clock.advance(1_000)
      expect((await bench.claimOne()).id).toBe(id)
    })

    it('keeps the time of a retry', async () => {
      const running = await bench.running({ ...DEBOUNCE, runAt: { delayMs: 0 } })
      await bench.settle(running, retry(9_000))
      expect(await put({ ...DEBOUNCE, payload: '2' })).toEqual({ status: 'replaced', id: running.id, delayMs: 9_000 })
    })

    it('keeps the time of a redriven job', async () => {
      const id = await bench.ended(died(), { ...DEBOUNCE, runAt: { delayMs: 0 } })
      await bench.redrive([id], { delaysMs: [9_000] })
      expect(await put({ ...DEBOUNCE, payload: '2' })).toEqual({ status: 'replaced', id, delayMs: 9_000 })
    })

    it('moves the time once if the response was lost', async () => {
      const id = await bench.add(DEBOUNCE)
      bench.clock.advance(500)
      const job = bench.job({ ...DEBOUNCE, payload: '2' })
      await bench.store.enqueue([job])
      const { runAt } = await bench.get(id)
      bench.clock.advance(100)
      await put({ ...DEBOUNCE, payload: '3', replacement: { mode: 'replace' } })
      expect(await bench.store.enqueue([job])).toMatchObject([{ status: 'replaced', id }])
      expect(await bench.get(id)).toMatchObject({ payload: '3', runAt })
    })
  })

  describe('unique › a repeated call', () => {
    it('returns created again to the call that created the job, also after a newer payload', async () => {
      const job = bench.job({ ...REPLACE, payload: '1' })
      await bench.store.enqueue([job])
      await put({ ...REPLACE, payload: '2' })
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      expect(await payloadOf(job.id)).toBe('2')
    })

    it('creates nothing after the job that took its payload has started or was removed', async () => {
      const id = await bench.add(REPLACE)
      const job = bench.job({ ...REPLACE, payload: '2' })
      await bench.store.enqueue([job])
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.store.enqueue([job])).toMatchObject([{ status: 'replaced', id }])
      await bench.store.remove([id])
      expect(await bench.store.enqueue([job])).toMatchObject([{ status: 'replaced', id }])
      expect(await bench.store.count({}, 1)).toMatchObject({ value: 0 })
    })

    it('is recognized within a batch', async () => {
      const [first, second] = [bench.job(REPLACE), bench.job({ ...REPLACE, payload: '2' })]
      const { id } = first
      expect(await bench.store.enqueue([first, second, first, second])).toMatchObject([
        { status: 'created', id },
        { status: 'replaced', id },
        { status: 'created', id },
        { status: 'replaced', id },
      ])
      expect(await payloadOf(id)).toBe('2')
      expect(await live()).toEqual([id])
    })

    it('is recognized for a while, and then forgotten by a prune', async () => {
      await bench.add(REPLACE)
      await put(REPLACE)
      const prune = () => bench.store.prune({ olderThanMs: {}, keyMs: 0, limit: 100 })
      bench.clock.advance(REPLACED_ID_MS - 1)
      expect(await prune()).toMatchObject({ keys: 0 })
      bench.clock.advance(1)
      expect(await prune()).toMatchObject({ keys: 1 })
    })
  })

  describe('unique › with a key', () => {
    const keyed = { ...REPLACE, key: 'k', payloadHash: 'h' }

    it('lets the key decide first', async () => {
      const id = await bench.add({ ...keyed, unique: 'other' })
      await bench.add(REPLACE)
      expect(await put(keyed)).toEqual({ status: 'existing', id })
      expect(await put({ ...keyed, payloadHash: 'x' })).toMatchObject({ status: 'conflict', id })
    })

    it('remembers the key of an enqueue that replaced a payload for a day', async () => {
      const id = await bench.add(DEBOUNCE)
      expect(await put({ ...keyed, payload: '2' })).toMatchObject({ status: 'replaced', id })
      await put({ ...REPLACE, payload: '3' })
      expect(await put({ ...keyed, payload: '2' })).toEqual({ status: 'existing', id })
      expect(await put({ ...keyed, payloadHash: 'x' })).toEqual({ status: 'conflict', id, payloadHash: 'h' })
      expect(await payloadOf(id)).toBe('3')
      bench.clock.advance(REMOVED_KEY_MS)
      expect(await put({ ...keyed, payload: '4' })).toMatchObject({ status: 'replaced', id })
    })

    it('finds jobs by their own key only', async () => {
      const id = await bench.add({ ...keyed, key: 'own' })
      await put(keyed)
      await bench.add({ throttle: { value: 'k', forMs: 1_000 } })
      expect(await bench.listed({ key: 'own' })).toEqual([id])
      expect(await bench.listed({ key: 'k' })).toEqual([])
    })

    it('remembers the key of a job that was created beside a running one', async () => {
      await bench.running(REPLACE)
      const { id } = await put(keyed)
      expect(await put(keyed)).toEqual({ status: 'existing', id })
      expect(await bench.listed({ key: 'k' })).toEqual([id])
    })
  })

  describe('unique › changes', () => {
    it('refuses to redrive a dead job while a newer one waits', async () => {
      const id = await bench.ended(died(), REPLACE)
      const newer = await bench.add(REPLACE)
      expect(await bench.redrive([id])).toMatchObject([{ status: 'refused', conflictId: newer }])
    })

    it('redrives a job that ran beside another one', async () => {
      const first = await bench.running(REPLACE)
      const second = await bench.running(REPLACE)
      await bench.settle(first, died())
      await bench.settle(second, died())
      expect(await bench.redrive([second.id])).toMatchObject([{ status: 'changed' }])
      expect(await bench.redrive([first.id])).toMatchObject([{ status: 'refused', conflictId: second.id }])
      expect(await put({ ...REPLACE, payload: '2' })).toMatchObject({ status: 'replaced', id: second.id })
      await verified()
    })

    it('refuses an edit that was based on the old payload', async () => {
      const id = await bench.add({ ...REPLACE, payload: '1' })
      const expected = await bench.get(id)
      await put({ ...REPLACE, payload: '2' })
      expect(await bench.edit(id, { expect: expected, payload: '3' })).toMatchObject({ status: 'refused' })
    })

    it('creates a job after the waiting one was cancelled or removed', async () => {
      await bench.cancel([await bench.add(REPLACE)])
      const { id, status } = await put(REPLACE)
      expect(status).toBe('created')
      await bench.store.remove([id])
      expect(await put(REPLACE)).toMatchObject({ status: 'created' })
    })
  })

  describe('unique › throttle', () => {
    it('creates one job within the time, counted from its creation', async () => {
      const id = await bench.add(THROTTLE)
      bench.clock.advance(999)
      expect(await put({ ...THROTTLE, payload: '2' })).toEqual({ status: 'existing', id })
      bench.clock.advance(1)
      expect(await put({ ...THROTTLE, payload: '3' })).toMatchObject({ status: 'created' })
      expect(await put(THROTTLE)).toMatchObject({ status: 'existing' })
      expect(await live()).toHaveLength(2)
    })

    it('refuses also after the job has ended and was pruned', async () => {
      const id = await bench.ended(succeeded(), THROTTLE)
      expect(await put(THROTTLE)).toEqual({ status: 'existing', id })
      await bench.store.prune({ olderThanMs: { succeeded: 0 }, keyMs: 0, limit: 10 })
      expect(await bench.store.get(id)).toBeUndefined()
      expect(await put(THROTTLE)).toEqual({ status: 'existing', id })
    })

    it('returns created again to the call that created the job, also after the time and a prune of its value', async () => {
      const job = bench.job(THROTTLE)
      await bench.store.enqueue([job])
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      bench.clock.advance(1_000)
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      expect(await bench.store.prune({ olderThanMs: {}, keyMs: 0, limit: 10 })).toMatchObject({ keys: 1 })
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      expect(await live()).toEqual([job.id])
      await verified()
    })

    it('does not bring a pruned job back when its call is repeated', async () => {
      const job = bench.job(THROTTLE)
      await bench.store.enqueue([job])
      await bench.settle(await bench.claimOne(), succeeded())
      await bench.store.prune({ olderThanMs: { succeeded: 0 }, keyMs: 0, limit: 10 })
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      expect(await bench.store.count({}, 1)).toMatchObject({ value: 0 })
    })

    it('has one winner within a batch and among concurrent calls', async () => {
      const [first, second] = [bench.job(THROTTLE), bench.job(THROTTLE)]
      expect(await bench.store.enqueue([first, second])).toEqual([
        { status: 'created', id: first.id },
        { status: 'existing', id: first.id },
      ])
      const other = { throttle: { value: 'v', forMs: 1_000 } }
      const answers = await Promise.all(Array.from({ length: 20 }, () => put(other)))
      expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
    })

    it('is scoped by tenant and name, and apart from keys and `unique`', async () => {
      await bench.add(THROTTLE)
      expect(await put({ ...THROTTLE, tenantId: 'acme' })).toMatchObject({ status: 'created' })
      expect(await put({ ...THROTTLE, tenantId: '' })).toMatchObject({ status: 'created' })
      expect(await put({ ...THROTTLE, name: 'other' })).toMatchObject({ status: 'created' })
      expect(await put({ key: 'u', payloadHash: 'h' })).toMatchObject({ status: 'created' })
      expect(await put({ unique: 'u' })).toMatchObject({ status: 'created' })
    })

    it('does not keep the key of an enqueue that it refused', async () => {
      const id = await bench.add(THROTTLE)
      const keyed = { ...THROTTLE, key: 'k', payloadHash: 'h' }
      expect(await put(keyed)).toEqual({ status: 'existing', id })
      bench.clock.advance(1_000)
      const created = await put(keyed)
      expect(created).toMatchObject({ status: 'created' })
      bench.clock.advance(1_000)
      expect(await put(keyed)).toEqual({ status: 'existing', id: created.id })
    })

    it.each(ANY_TEXTS)('compares the exact text: %s', async (_name, value) => {
      const id = await bench.add({ throttle: { value, forMs: 1_000 } })
      expect(await put({ throttle: { value, forMs: 1_000 } })).toEqual({ status: 'existing', id })
      expect(await put({ throttle: { value: `${value}x`, forMs: 1_000 } })).toMatchObject({ status: 'created' })
    })
  })
}
