import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import type { Rule } from '../../../src/core/policy/policy.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const coded = (code: string) => Object.assign(new Error(code), { code })
const rule = (code: string, as: Rule['as'], delay?: Rule['delay']): Rule => ({
  when: { code },
  as,
  ...(delay !== undefined && { delay }),
})

/** A job of the queue `mails` that throws the error of its payload's code, with one retry. */
const failing = (rules: readonly Rule[] = []) =>
  defineJob({
    name: 'failing',
    queue: 'mails',
    retry: fixed({ delay: '1s', maxRetries: 1, jitter: 'none', rules }),
    run({ code }: { code: string }): void {
      throw coded(code)
    },
  })

describe.each(STORES)('R9: rules on %s', (_, store) => {
  test('add up over all levels, the most specific first', async () => {
    const job = failing([rule('A', 'permanent')])
    await using t = testChronos({
      jobs: [job],
      store,
      rules: [rule('A', 'transient'), rule('B', 'transient'), rule('C', 'transient'), rule('D', 'gone')],
      queues: { mails: { rules: [rule('A', 'gone'), rule('B', 'transient'), rule('C', 'blocked')] } },
    })
    await t.queues.set('mails', { retry: { rules: [rule('B', 'permanent')] } })
    await t.advance('2m')
    const kinds: Record<string, unknown> = {}
    for (const code of ['A', 'B', 'C', 'D', 'E']) {
      const retry = code === 'E' ? { rules: [rule('E', 'gone')] } : undefined
      const { id } = await t.enqueue(job, { code }, retry ? { retry } : {})
      await t.advance('1s')
      const { data } = await t.jobs.history(id)
      kinds[code] = [data[0]!.decision!.kind, data[0]!.decision!.rule]
    }
    expect(kinds).toEqual({
      A: ['permanent', 'rule 1 (code A)'],
      B: ['permanent', 'rule 2 (code B)'],
      C: ['blocked', 'rule 5 (code C)'],
      D: ['gone', 'rule 9 (code D)'],
      E: ['gone', 'rule 1 (code E)'],
    })
  })

  test.each<[string, Parameters<typeof testChronos>[0]]>([
    ['the definition', { jobs: [failing([rule('A', 'throttled', '7m')])] }],
    ['the queue', { jobs: [failing()], queues: { mails: { rules: [rule('A', 'throttled', '7m')] } } }],
    ['the instance', { jobs: [failing()], rules: [rule('A', 'throttled', '7m')] }],
  ])('may set a delay on %s', async (_level, options) => {
    await using t = testChronos({ ...options, store })
    const { id } = await t.enqueue(options.jobs[0]!, { code: 'A' } as never)
    await t.advance('1s')
    expect((await t.jobs.history(id)).data).toMatchObject([
      { delayMs: 420_000, decision: { kind: 'throttled', source: 'rule', why: expect.stringContaining('(rule 1)') } },
    ])
  })

  test('may set a delay at an enqueue', async () => {
    const job = failing()
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { code: 'A' }, { retry: { rules: [rule('A', 'transient', '3m')] } })
    await t.advance('1s')
    expect((await t.jobs.history(id)).data).toMatchObject([{ delayMs: 180_000, decision: { source: 'rule' } }])
  })

  const predicate: Rule = { when: { predicate: () => true }, as: 'permanent' }

  test('with a predicate are refused where they would be stored', async () => {
    const job = failing()
    await using t = testChronos({ jobs: [job], store })
    await expect(t.enqueue(job, { code: 'A' }, { retry: { rules: [predicate] } })).rejects.toThrow(
      'enqueue "failing": retry.rules[0].when.predicate: a function can not be stored; give the rule in the definition of the job, or match by name, code or status',
    )
    await expect(t.queues.set('mails', { retry: { rules: [predicate] } })).rejects.toThrow(
      'queue "mails": retry.rules[0].when.predicate: a function can not be stored',
    )
  })

  test('with a predicate work in code, and are not shown', async () => {
    const job = failing([predicate, rule('B', 'gone')])
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { code: 'A' })
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({
      state: 'dead',
      reason: 'permanent',
      retry: { rules: [rule('B', 'gone')] },
    })
  })
})
