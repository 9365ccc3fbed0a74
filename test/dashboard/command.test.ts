import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addJobOptions } from '../../src/cli/commands/enqueue/command.js'
import { flagsOf, word } from '../../src/dashboard/data/command.js'

describe('the flags of a shown command', () => {
  it.each([
    [{ tenantId: 'acme' }, ['--tenant acme']],
    [{ tags: ['a', 'b c'] }, ['--tag a', "--tag 'b c'"]],
    [{ startAt: '2026-01-01T00:00Z', timeZone: 'Europe/Paris' }, ['--start-at 2026-01-01T00:00Z', '--tz Europe/Paris']],
    [{ delivery: 'at-most-once' }, ['--at-most-once']],
    [{ delivery: 'at-least-once', queue: undefined }, []],
    [{ retry: { maxRetries: 2 } }, ['--retry \'{"maxRetries":2}\'']],
  ])('are those of the command line for %j', (fields, flags) => {
    expect(flagsOf(fields)).toEqual(flags)
  })

  it('exist for a new job', () => {
    const known = addJobOptions(new Command()).options.map(({ long }) => long)
    const job = { queue: 'mail', delay: '5m', priority: 9, key: 'k', tags: ['t'], retry: 'http', tenantId: 'acme' }
    for (const flag of flagsOf({ ...job, delivery: 'at-most-once' })) expect(known).toContain(flag.split(' ')[0])
  })

  it('quote what a shell would change', () => {
    expect([word("it's"), word({ a: 1 }), word('plain-1')]).toEqual([`'it'\\''s'`, `'{"a":1}'`, 'plain-1'])
  })
})
