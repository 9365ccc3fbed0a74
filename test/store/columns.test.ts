import { describe, expect, it } from 'vitest'
import type { StoredError } from '../../src/core/job/job.js'
import { toErrorJson } from '../../src/store/columns.js'
import { jsons, words } from '../../src/store/postgres/arrays.js'

const DOWN: StoredError = { name: 'Error', message: 'down', code: 'ECONNRESET', status: 503, stack: 'at a' }

describe('the JSON of an error', () => {
  it.each<[string, StoredError]>([
    ['the same', { ...DOWN }],
    ['another name', { ...DOWN, name: 'TypeError' }],
    ['another message', { ...DOWN, message: 'up' }],
    ['another code', { ...DOWN, code: 'EPIPE' }],
    ['another status', { ...DOWN, status: 500 }],
    ['another stack', { ...DOWN, stack: 'at b' }],
    ['nothing but name and message', { name: DOWN.name, message: DOWN.message }],
  ])('is not that of the error stored before: %s', (_, error) => {
    toErrorJson(DOWN)
    expect(toErrorJson(error)).toBe(JSON.stringify(error))
  })

  it('reflects a change that a listener made to the error', () => {
    const error = { ...DOWN }
    toErrorJson(error)
    error.message = 'changed'
    expect(toErrorJson(error)).toBe(JSON.stringify(error))
    expect(toErrorJson(DOWN)).toBe(JSON.stringify(DOWN))
  })

  it('is NULL without an error', () => {
    toErrorJson(DOWN)
    expect(toErrorJson(undefined)).toBeNull()
  })
})

describe('an array of a batch', () => {
  it.each([
    ['words', words, ['a', 'a', null, 'a', 'b"', 'b"', undefined, ''], '{"a","a",NULL,"a","b\\"","b\\"",NULL,""}'],
    ['JSON', jsons, ['{"a":1}', '{"a":1}', null, '{}'], '{"{\\"a\\":1}","{\\"a\\":1}",NULL,"{}"}'],
    ['no words', words, [null, undefined], '{}'],
    ['no JSON', jsons, [null, undefined], '{}'],
  ])('has every value in its place, even if values repeat: %s', (_, write, values, text) => {
    expect(write(values)).toBe(text)
  })
})
