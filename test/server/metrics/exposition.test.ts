import { describe, expect, it } from 'vitest'
import type { MetricFacts } from '../../../src/server/metrics/catalog.js'
import { Buckets, exposition, type Sample } from '../../../src/server/metrics/exposition.js'

const CATALOG = {
  sent_total: { type: 'counter', help: 'Sent \\ by\nname.', labels: ['name'] },
  depth: { type: 'gauge', help: 'Depth.', labels: [] },
  took_seconds: { type: 'histogram', help: 'Took.', labels: ['op'], buckets: [0.1, 1, 10] },
} as const satisfies Readonly<Record<string, MetricFacts>>

type Name = keyof typeof CATALOG

const rendered = (samples: readonly (readonly [Name, readonly Sample[]])[]): readonly string[] =>
  exposition<Name>(CATALOG, new Map(samples), 'x_').split('\n')

describe('the text format', () => {
  it('has HELP and TYPE for every metric in the order of the catalog, with or without samples, and ends with a newline', () => {
    expect(rendered([['depth', [{ labels: {}, value: 3 }]]])).toEqual([
      '# HELP x_sent_total Sent \\\\ by\\nname.',
      '# TYPE x_sent_total counter',
      '# HELP x_depth Depth.',
      '# TYPE x_depth gauge',
      'x_depth 3',
      '# HELP x_took_seconds Took.',
      '# TYPE x_took_seconds histogram',
      '',
    ])
  })

  it('escapes backslashes, quotes and line ends in labels', () => {
    const lines = rendered([['sent_total', [{ labels: { name: 'a"b\\c\nd,e="f"' }, value: 1 }]]])
    expect(lines[2]).toBe('x_sent_total{name="a\\"b\\\\c\\nd,e=\\"f\\""} 1')
  })

  it('adds up the buckets of a histogram, up to +Inf', () => {
    const value = new Buckets(CATALOG.took_seconds.buckets)
    for (const seconds of [0.05, 0.1, 0.11, 1, 5, 11, 100]) value.observe(seconds)
    expect(rendered([['took_seconds', [{ labels: { op: 'claim' }, value }]]]).slice(6)).toEqual([
      'x_took_seconds_bucket{op="claim",le="0.1"} 2',
      'x_took_seconds_bucket{op="claim",le="1"} 4',
      'x_took_seconds_bucket{op="claim",le="10"} 5',
      'x_took_seconds_bucket{op="claim",le="+Inf"} 7',
      'x_took_seconds_sum{op="claim"} 117.26',
      'x_took_seconds_count{op="claim"} 7',
      '',
    ])
  })

  it('hides rounding errors of floating-point sums', () => {
    expect(rendered([['depth', [{ labels: {}, value: 0.1 + 0.2 }]]])[4]).toBe('x_depth 0.3')
  })
})
