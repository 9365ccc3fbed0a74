import { DAY_MS, type Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import { read } from '../../../core/values/schema.js'
import { limitsOf, type RetentionLimits, retentionLimits } from '../../../engine/upkeep/retention.js'
import type { Count, PruneRequest, Store } from '../../../store/store.js'
import { openStore, ready } from '../../backend/direct.js'
import { type BackendOptions, configOf, storeAddress } from '../../backend/store-address.js'
import { retentionIn } from '../../config/settings.js'
import { usage } from '../../exit.js'
import { type Io, unlessInterrupted } from '../../io.js'
import { Progress } from '../../output/progress.js'
import { many, manyOf, show } from '../../output/show.js'

interface PruneOptions extends BackendOptions {
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

/** Only counts the jobs unless `--yes` is given. */
export async function pruneStore(options: PruneOptions, io: Io): Promise<void> {
  const limits = limitsOf(read(retentionLimits, await agesOf(options, io), 'prune'))
  const olderThanMs = present(Object.fromEntries(STATES.map(state => [state, limits[state]?.ageMs])))
  if (Object.keys(olderThanMs).length === 0) {
    throw usage('prune: give an age such as --succeeded 7d: your configuration has no `retention`')
  }
  const address = await storeAddress(options, io, 'prune')
  await ready(address, io, 'existing')
  const store = await openStore(address)
  try {
    const counts = await unlessInterrupted(countAll(store, olderThanMs), io.interrupted)
    if (options.dryRun) {
      show(io, options, { dryRun: true, olderThanMs, matched: counts }, () => `${wordsOf(counts)} would be deleted\n`)
      return
    }
    if (!options.yes && STATES.some(state => counts[state].value > 0))
      throw usage(`prune: ${wordsOf(counts)} would be deleted; add --yes to confirm, or --dry-run`)
    const removed = await removeAll(store, olderThanMs, counts, io)
    show(io, options, { dryRun: false, olderThanMs, removed }, () => `${totalOf(removed)} deleted\n`)
  } finally {
    await store.close()
  }
}

/** Any age on the command line replaces the whole configured retention, so that no other state is pruned by surprise. */
async function agesOf(options: PruneOptions, io: Io): Promise<RetentionLimits> {
  const { succeeded, cancelled, dead } = options
  const given = present({ succeeded, cancelled, dead })
  if (Object.keys(given).length > 0) return given
  const { settings } = await configOf(options, io)
  return retentionIn(settings)
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
  const progress = new Progress(io, expected, 'deleted')
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
    if (io.interrupted.aborted) io.stderr.write(`${totalOf(tally)} deleted so far\n`)
    throw error
  } finally {
    progress.end()
  }
}

function wordsOf(counts: Record<Ended, Count>): string {
  const parts = STATES.filter(state => counts[state].value > 0).map(state => manyOf(counts[state], `${state} job`))
  return parts.length === 0 ? 'no jobs' : parts.join(', ')
}

const totalOf = (tally: Tally): string =>
  many(
    STATES.reduce((sum, state) => sum + tally[state], 0),
    'job',
  )
