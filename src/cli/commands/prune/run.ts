import { DAY_MS, type Duration } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import { parseRetention, type Retention } from '../../../engine/upkeep/pruner.js'
import type { Count, PruneRequest, Store } from '../../../store/store.js'
import { openStore, ready } from '../../backend/direct.js'
import { type AddressOptions, configOf, storeAddress } from '../../backend/store-address.js'
import { type Io, unlessInterrupted } from '../../io.js'
import { Progress } from '../../output/progress.js'
import { many, show } from '../../output/show.js'

interface PruneOptions extends AddressOptions {
  readonly json?: true
  readonly succeeded?: Duration
  readonly cancelled?: Duration
  readonly dead?: Duration
  readonly dryRun?: true
  readonly yes?: true
}

const STATES = ['succeeded', 'cancelled', 'dead'] as const
type Ended = (typeof STATES)[number]
type Tally = Record<Ended, number>

const COUNT_MAX = 1_000_000
const ROWS_PER_STEP = 500
const KEY_MS = DAY_MS

/** Counts first, and removes nothing without `--yes`. */
export async function pruneStore(options: PruneOptions, io: Io): Promise<void> {
  const olderThanMs = parseRetention(await agesOf(options, io), 'prune')
  if (Object.keys(olderThanMs).length === 0) {
    throw usage(
      'say how old what may go has to be, such as --succeeded 7d; there is no `retention` in your configuration',
    )
  }
  const address = await storeAddress(options, io, 'prune')
  await ready(address, io, 'existing')
  const store = await openStore(address)
  try {
    const counts = await unlessInterrupted(countAll(store, olderThanMs), io.interrupted)
    if (options.dryRun) {
      show(io, options, { dryRun: true, olderThanMs, matched: counts }, () => `${wordsOf(counts)} would be removed\n`)
      return
    }
    if (!options.yes) throw usage(`${wordsOf(counts)} would be removed; add --yes to do it, or --dry-run`)
    const removed = await removeAll(store, olderThanMs, counts, io)
    show(io, options, { dryRun: false, olderThanMs, removed }, () => `${totalOf(removed)} removed\n`)
  } finally {
    await store.close()
  }
}

/** What is said here goes before what is configured, as a whole: nobody should have to remember what else there is. */
async function agesOf(options: PruneOptions, io: Io): Promise<Retention> {
  const { succeeded, cancelled, dead } = options
  const said = {
    ...(succeeded !== undefined && { succeeded }),
    ...(cancelled !== undefined && { cancelled }),
    ...(dead !== undefined && { dead }),
  }
  if (Object.keys(said).length > 0) return said
  const { settings } = await configOf(options, io)
  return Object.fromEntries(
    STATES.flatMap(state => {
      const age = settings[`retention.${state}`]
      return age === undefined ? [] : [[state, age]]
    }),
  )
}

async function countAll(store: Store, ages: PruneRequest['olderThanMs']): Promise<Record<Ended, Count>> {
  const { now } = await store.info()
  const counts = await Promise.all(
    STATES.map(async (state): Promise<[Ended, Count]> => {
      const age = ages[state]
      const none: Count = { value: 0, relation: 'exact' }
      return [state, age === undefined ? none : await store.count({ state, finishedBefore: now - age }, COUNT_MAX)]
    }),
  )
  return Object.fromEntries(counts) as Record<Ended, Count>
}

async function removeAll(
  store: Store,
  olderThanMs: PruneRequest['olderThanMs'],
  counts: Record<Ended, Count>,
  io: Io,
): Promise<Tally> {
  const tally: Tally = { succeeded: 0, cancelled: 0, dead: 0 }
  const expected = STATES.reduce((sum, state) => sum + counts[state].value, 0)
  const progress = new Progress(io, expected, 'removed')
  try {
    for (;;) {
      io.interrupted.throwIfAborted()
      const { pruned } = await store.prune({ olderThanMs, keyMs: KEY_MS, limit: ROWS_PER_STEP })
      for (const state of STATES) tally[state] += pruned[state]
      const rows = STATES.reduce((sum, state) => sum + pruned[state], 0)
      progress.add(rows)
      if (rows === 0) return tally
    }
  } catch (error) {
    progress.end()
    if (io.interrupted.aborted) io.stderr.write(`${totalOf(tally)} removed so far\n`)
    throw error
  } finally {
    progress.end()
  }
}

function wordsOf(counts: Record<Ended, Count>): string {
  const parts = STATES.filter(state => counts[state].value > 0).map(state => {
    const { value, relation } = counts[state]
    return many(value, `${state} job`).replace(/^/, relation === 'exact' ? '' : 'more than ')
  })
  return parts.length === 0 ? 'no job' : parts.join(', ')
}

const totalOf = (tally: Tally): string =>
  many(
    STATES.reduce((sum, state) => sum + tally[state], 0),
    'job',
  )

function usage(words: string): ChronosError {
  return new ChronosError('INVALID_OPTION', `prune: ${words}`)
}
