import type { Mutant } from '../mutant.js'

const PACE = 'src/core/partition/pace.ts'
const TURN = 'src/core/partition/turn.ts'
const SETTLE = 'src/store/sqlite/writes/settle.ts'

/** Bugs of limits: slots, rates, order, stops and turns. */
export const LIMIT_BUGS: readonly Mutant[] = [
  {
    name: 'a slot freed twice: by the end of a run, and by the note about it',
    from: 188,
    file: TURN,
    find: 'own.concurrency - one.running,',
    replace: 'own.concurrency - one.running + one.notes.length,',
  },
  {
    name: 'a slot of a partition that is not free after the end of its run',
    from: 27,
    file: SETTLE,
    find: 'else lanes.free(queue, lane)',
    replace: 'else if (spent) lanes.free(queue, lane)',
  },
  {
    name: 'a slot of a queue that is not free after the end of its run',
    from: 27,
    file: 'src/store/sqlite/writes/lanes.ts',
    find: 'UPDATE queues SET open_at = ?2 WHERE name = ?1 AND open_at = ${CLOSED}`',
    replace: 'UPDATE queues SET open_at = ?2 WHERE name = ?1 AND open_at = ${CLOSED} AND paused = 1`',
  },
  {
    name: 'a claim that looks at a queue before it has locked it',
    file: 'src/store/postgres/lanes/statements.ts',
    find: 'AND bound AND NOT paused ORDER BY name FOR UPDATE',
    replace: 'AND bound AND NOT paused ORDER BY name',
    killer: 'limits#claimsAtTheSameTimeShareALimit',
  },
  {
    name: 'a retry that loses its place in the order',
    from: 297,
    file: 'src/store/sqlite/writes/lane-lines.ts',
    find: 'AND (deadline IS NULL OR deadline > ?2) ORDER BY pk LIMIT 2',
    replace: 'AND (deadline IS NULL OR deadline > ?2) AND run_at <= ?2 ORDER BY pk LIMIT 2',
  },
  {
    name: 'an order that runs jobs side by side',
    from: 222,
    file: 'src/core/partition/limits.ts',
    find: 'concurrency: isOrdered ? 1 : bounds.concurrency',
    replace: 'concurrency: bounds.concurrency',
  },
  {
    name: 'a start given back that the rate has made up for',
    killer: 'limits#aRateGivesNothingBackThatItHasMadeUpFor',
    file: PACE,
    find: '(amount < 0 && (isFull || startedAt < (busySince[resource] ?? now)))',
    replace: '(amount < 0 && isFull)',
  },
  {
    name: 'a start given back late that the rate has made up for',
    killer: 'limits#aStartGivenBackLateCountsAsIfItHadBeenKnown',
    file: PACE,
    find: 'starts.filter(({ at }) => at > startedAt)',
    replace: 'starts.filter(({ at }) => at < startedAt)',
  },
  {
    name: 'a burst that is allowed again with every claim',
    from: 102,
    file: PACE,
    find: 'clocks[resource] = (clock > now - 1 ? clock : now) + ms',
    replace: 'clocks[resource] = now + ms',
  },
  {
    name: 'a dead letter that does not stop its partition',
    from: 222,
    file: TURN,
    find: 'const room = one.isStopped ? 0 : Math.min(',
    replace: 'const room = Math.min(',
  },
  {
    name: 'a partition that stays stopped after its dead letter was redriven',
    from: 461,
    file: 'src/store/sqlite/writes/manual.ts',
    find: 'if (lane !== undefined) lanes.change(queue, lane)',
    replace: 'if (lane === undefined) lanes.change(queue, lane!)',
  },
  {
    name: 'a partition with a backlog that takes a whole claim',
    file: TURN,
    find: 'const share = Math.max(1, Math.ceil(free / partitions.length))',
    replace: 'const share = free',
    killer: 'limits#partitionsShareAClaim',
  },
  {
    name: 'a partition that loses its place in the line without a start',
    file: TURN,
    find: 'return at <= this.#now && this.#started === 0 ? Math.min(openAt, this.#now) : at',
    replace: 'return at',
    killer: 'limits#aPartitionKeepsItsPlaceInTheLine',
  },
]
