import { describe, expect, it } from 'vitest'
import { type Attempt, Attempts } from '../../../src/engine/worker/attempt.js'

const attempts = (count: number): Attempt[] => Array.from({ length: count }, (_, n) => ({ seat: 0, run: n }) as Attempt)

describe('Attempts', () => {
  it('lists those that are left in the order in which they were added', () => {
    const all = new Attempts()
    const [a, b, c, d] = attempts(4) as [Attempt, Attempt, Attempt, Attempt]
    for (const attempt of [a, b, c]) all.add(attempt)
    all.delete(b)
    all.add(d)

    expect([...all]).toEqual([a, c, d])
    expect(all.size).toBe(3)
    expect(all.has(a)).toBe(true)
    expect(all.has(b)).toBe(false)
  })

  it('ignores an attempt that it does not hold', () => {
    const all = new Attempts()
    const others = new Attempts()
    const [a, b] = attempts(2) as [Attempt, Attempt]
    all.add(a)
    others.add(b)
    all.delete(b)

    expect([...all]).toEqual([a])
    expect(others.has(b)).toBe(true)
  })

  it('lists those of the moment at which the list was asked for', () => {
    const all = new Attempts()
    const given = attempts(3)
    for (const attempt of given) all.add(attempt)
    const seen: Attempt[] = []
    for (const attempt of all) {
      seen.push(attempt)
      for (const other of given) all.delete(other)
    }

    expect(seen).toEqual(given)
    expect(all.size).toBe(0)
  })

  it('keeps the order of the oldest attempts while many others are added and deleted', () => {
    const all = new Attempts()
    const [first, second] = attempts(2) as [Attempt, Attempt]
    all.add(first)
    for (const attempt of attempts(5_000)) {
      all.add(attempt)
      all.delete(attempt)
      if (attempt.run === 2_500) all.add(second)
    }

    expect([...all]).toEqual([first, second])
    all.delete(first)
    expect([...all]).toEqual([second])
  })
})
