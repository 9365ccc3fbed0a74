import { describe, expect, it } from 'vitest'
import { apiFilter, filterWords, jobTokens, typedFilter } from '../../src/dashboard/data/filter.js'

const tokens = jobTokens()

describe('text typed into the filter', () => {
  it.each([
    ['state:dead', { state: 'dead' }],
    ['state:dead queue:mail', { state: 'dead', queue: 'mail' }],
    ['card declined', { q: 'card declined' }],
    ['queue:mail card declined', { queue: 'mail', q: 'card declined' }],
    ['error:"too many connections" name:a', { error: 'too many connections', name: 'a' }],
    ['"two words"', { q: 'two words' }],
    // An unknown filter name is text, such as an address.
    ['https://shop.example/hooks', { q: 'https://shop.example/hooks' }],
    ['after:2026-11-16T08:00:00Z', { after: '2026-11-16T08:00:00Z' }],
    // A name without a value does not filter yet.
    ['queue:', {}],
    ['  ', {}],
  ])('reads %j', (text, change) => {
    expect(typedFilter(text, tokens)).toEqual(change)
  })
})

describe('a filter in the URL', () => {
  it('becomes API parameters, without parameters that are not filters', () => {
    const query = { state: 'retrying', schedule: 'digest', tenant: 'acme', after: 'x', q: 'y', cursor: 'c', tab: 't' }
    expect(apiFilter(query)).toEqual({
      phase: 'retrying',
      scheduleId: 'digest',
      tenantId: 'acme',
      createdAfter: 'x',
      q: 'y',
    })
  })

  it('becomes text that can be typed again', () => {
    const query = { state: 'dead', error: 'too many', q: 'card', cursor: 'c' }
    const words = filterWords(query)
    expect(words).toBe('state:dead error:"too many" "card"')
    expect(typedFilter(words, tokens)).toEqual({ state: 'dead', error: 'too many', q: 'card' })
  })
})
