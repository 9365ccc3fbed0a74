import { describe, expect, it } from 'vitest'
import { exposition } from '../../../src/server/metrics/exposition.js'
import { PROCESS_CATALOG, processSamples } from '../../../src/server/metrics/process.js'
import { parseExposition, valueIn } from '../../support/prometheus.js'

const scraped = (now: number) => parseExposition(exposition(PROCESS_CATALOG, processSamples(now)))

describe('metrics of the process', () => {
  it('report CPU time, memory and the start of the process', () => {
    const families = scraped(1_000_000)
    expect(valueIn(families, 'process_start_time_seconds')).toBeLessThan(1_000)
    expect(valueIn(families, 'process_resident_memory_bytes')).toBeGreaterThan(
      valueIn(families, 'nodejs_heap_size_used_bytes'),
    )
    expect(valueIn(families, 'process_cpu_seconds_total')).toBeCloseTo(
      valueIn(families, 'process_cpu_user_seconds_total') + valueIn(families, 'process_cpu_system_seconds_total'),
      3,
    )
  })

  it('have a histogram for every kind of garbage collection', () => {
    const kinds = scraped(0)
      .get('nodejs_gc_duration_seconds')!
      .samples.filter(({ name }) => name.endsWith('_count'))
      .map(({ labels }) => labels['kind'])
    expect(kinds.sort()).toEqual(['incremental', 'major', 'minor', 'weakcb'])
  })

  it.runIf(process.platform === 'linux')('count open files below their limit', () => {
    const families = scraped(0)
    expect(valueIn(families, 'process_open_fds')).toBeGreaterThan(2)
    expect(valueIn(families, 'process_max_fds')).toBeGreaterThan(valueIn(families, 'process_open_fds'))
  })
})
