import { expect, it } from 'vitest'
import { readDelta } from '../../../../src/store/postgres/writes/deltas.js'

const ID = '019b76da-f714-70f1-8843-b91dd515d35f'
const FACTS = [ID, 'mail', 'send', null, 1, 'failed', 'dead', false, 'exhausted', 1_000, 2_000, null, 'g', 'g']
const EXPECTED = { at: 0, ledger: {}, counts: {}, errors: [] }

it.each(['told', 'expected'])('a delta of another version is read, with what was expected as %s', name => {
  const delta = readDelta([1, 5_000, JSON.stringify({ [name]: EXPECTED, settled: [FACTS] })])
  expect(JSON.stringify(delta)).toContain('"end:dead":1')
})
