import { describe, expect, it } from 'vitest'
import { helpOf } from '../../src/cli/flags.js'
import { enqueueOptions } from '../../src/core/job/options.js'
import { scheduleOptions } from '../../src/core/schedule/options.js'
import type { Fields } from '../../src/core/values/schema.js'
import { say } from './memory-io.js'

describe('the flags of a noun', () => {
  it.each<[command: string[], fields: Fields]>([
    [['enqueue'], enqueueOptions.fields],
    [['http'], enqueueOptions.fields],
    [['schedules', 'put'], scheduleOptions.fields],
  ])('are those of its schema, with its words: %j', async (command, fields) => {
    const { stdout } = await say([...command, '--help'], { isTTY: true, columns: 400, env: { NO_COLOR: '1' } })
    const help = stdout.replace(/\s+/g, ' ')
    const flagged = Object.values(fields).filter(({ about: { flag } }) => flag !== undefined)
    expect(flagged.length).toBeGreaterThan(10)
    for (const field of flagged) expect(help).toContain(`${field.about.flag} ${helpOf(field).replace(/\s+/g, ' ')}`)
  })

  it.each([
    [enqueueOptions.fields.queue, 'the queue of the job (default: default)'],
    [enqueueOptions.fields.timeout, 'per attempt (default: the timeout of the definition)'],
    [enqueueOptions.fields.tags, 'the tags of the job; repeatable'],
    [
      scheduleOptions.fields.overlap,
      'skip, queue, allow: what happens to an occurrence while an earlier one has not ended (default: skip)',
    ],
  ])('have help in the style of a help page', (field, help) => {
    expect(helpOf(field)).toBe(help)
  })
})
