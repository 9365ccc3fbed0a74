import { expect, it } from 'vitest'
import { Connection } from '../../../src/engine/client/connection.js'
import { silentLog } from '../../../src/engine/client/log.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { RecordPruner } from '../../../src/engine/upkeep/record-pruner.js'
import { countsId } from '../../../src/store/fold.js'
import { memoryStore } from '../../../src/store/memory.js'

const DAY_MS = 86_400_000

it('deletes old counters, workers, error groups and redrives, and no record that is still needed', async () => {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const now = clock.now()
  const ago = (days: number): number => now - days * DAY_MS
  const put = (kind: string, id: string, body: object): Promise<unknown> =>
    store.putRecords([{ kind, id, body: JSON.stringify(body) }])
  for (const days of [1, 3, 89, 91]) {
    await put('counts', countsId('1m', ago(days), 'q n'), {})
    await put('counts', countsId('1h', ago(days), 'q n'), {})
    await put('timings', countsId('1m', ago(days), 'q n'), {})
    await put('queue-timings', countsId('1h', ago(days), 'q'), {})
  }
  await put('timing-places', 'all', { 'q lately': ago(89), 'q long ago': ago(91) })
  await put('worker', 'alive', { seenAt: now })
  await put('worker', 'gone', { seenAt: ago(2) })
  await put('error-group', 'long-gone', { dead: 0, state: 'open', lastSeen: ago(31) })
  await put('error-group', 'still-dead', { dead: 1, state: 'open', lastSeen: ago(31) })
  await put('error-group', 'lately', { dead: 0, state: 'open', lastSeen: ago(29) })
  await put('error-group', 'ignored', { dead: 0, state: 'ignored', lastSeen: ago(400) })
  await put('redrive', 'over', { finishedAt: ago(91) })
  await put('redrive', 'paused', { createdAt: ago(91) })
  // More than one batch of what stays, before what goes.
  for (let n = 0; n < 600; n++) await put('worker', `a${String(n).padStart(4, '0')}`, { seenAt: now })

  await new RecordPruner({ connection: new Connection(async () => store, clock), log: silentLog }).step()

  const ids = async (kind: string): Promise<readonly string[]> =>
    (await store.records(kind, { limit: 1_000 })).map(({ id }) => id)
  expect(await ids('counts')).toEqual([
    countsId('1h', ago(89), 'q n'),
    countsId('1h', ago(3), 'q n'),
    countsId('1h', ago(1), 'q n'),
    countsId('1m', ago(1), 'q n'),
  ])
  expect(await ids('timings')).toEqual([countsId('1m', ago(1), 'q n')])
  expect(await ids('queue-timings')).toEqual([89, 3, 1].map(days => countsId('1h', ago(days), 'q')))
  const [places] = await store.records('timing-places', { ids: ['all'] })
  expect(JSON.parse(places!.body)).toEqual({ 'q lately': ago(89) })
  expect((await ids('worker')).filter(id => !/^a\d/.test(id))).toEqual(['alive'])
  expect(await ids('worker')).toHaveLength(601)
  expect(await ids('error-group')).toEqual(['ignored', 'lately', 'still-dead'])
  expect(await ids('redrive')).toEqual(['paused'])
})
