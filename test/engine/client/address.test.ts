import { expect, test } from 'vitest'
import { createChronos } from '../../../src/index.js'

test.each(['postgress://app:hunter2@db/jobs', 'mysql://app:hunter2@db/jobs', 'postgres:app:hunter2@db'])(
  'a store address that is not supported is refused without its password: %s',
  store => {
    const words = /createChronos: store "[a-z]+:…" is unknown; use "sqlite:/
    expect(() => createChronos({ store })).toThrow(words)
    expect(() => createChronos({ store })).not.toThrow(/hunter2/)
  },
)
