import type { IntegrityReport, QueueBalance } from '../../../engine/upkeep/integrity.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { absolute } from '../../output/moment.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { countText, hang, many, show } from '../../output/show.js'
import { type Mark, sign } from '../../output/symbols.js'

export async function verifyStore(options: BackendOptions, io: Io): Promise<number> {
  return withBackend(options, io, async backend => {
    const report = await backend.verify()
    show(io, options, report, style => reportOf(report, style))
    if (!options.json) io.stderr.write(`as of ${absolute(report.at)}\n`)
    return report.isSound ? EXIT.ok : EXIT.checkFailed
  })
}

const SOUND: Mark = { symbol: '✓', ascii: '+', word: 'ok', tone: 'good' }
const WRONG: Mark = { symbol: '✗', ascii: 'x', word: 'FAILED', tone: 'bad' }

function reportOf(report: IntegrityReport, style: Style): string {
  const { queues, findings } = report
  const balances = queues.length === 0 ? '' : `${balanceTable(queues, style)}\n`
  const problems = [
    ...queues.flatMap(({ queue, problem }) => (problem === undefined ? [] : [`queue ${queue}: ${problem}`])),
    ...findings.map(findingWords),
  ]
  const mark = sign(WRONG, style)
  const lines = problems.map(words => hang(`${paint(mark, WRONG.tone, style)} `, mark.length + 1, words, style))
  const listed = lines.length === 0 ? '' : `${lines.join('')}\n`
  return `${balances}${listed}${verdict(report, style)}\n`
}

const VERDICT_FROM_COLUMNS = 90

const COUNTED = ['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const

function balanceTable(queues: readonly QueueBalance[], style: Style): string {
  const hasVerdict = style.columns >= VERDICT_FROM_COLUMNS
  const columns: readonly Column[] = [
    { title: 'Queue', wraps: true },
    ...['Enqueued', 'Waiting', 'Running', 'Succeeded', 'Dead', 'Cancelled', 'Removed'].map(
      (title): Column => ({ title, align: 'right' }),
    ),
    ...(hasVerdict ? [{ title: 'Verdict' }] : []),
  ]
  const rows = queues.map(({ queue, enqueued, removed, rows: counts, isBalanced }): readonly Cell[] => {
    const mark = isBalanced ? SOUND : WRONG
    return [
      { text: `${sign(mark, style)} ${queue}`, tone: mark.tone },
      countText(enqueued),
      ...COUNTED.map(state => countText(counts[state])),
      countText(removed),
      ...(hasVerdict ? [{ text: mark.word, tone: mark.tone }] : []),
    ]
  })
  return table(columns, rows, { ...style, boxes: false })
}

/** What the id of a finding names if it is not a job: the job of orphaned attempts is gone. */
const NAMED: Partial<Record<IntegrityReport['findings'][number]['what'], string>> = {
  'orphan-attempts': 'row',
  'rate-clock': 'partition',
}

function findingWords({ jobId, what, detail }: IntegrityReport['findings'][number]): string {
  return `${NAMED[what] ?? 'job'} ${jobId}: ${detail} (${what})`
}

function verdict({ isSound, queues, findings }: IntegrityReport, style: Style): string {
  const enqueued = queues.reduce((sum, queue) => sum + queue.enqueued, 0)
  if (isSound && enqueued === 0) return paint('OK: no job was ever enqueued.', 'good', style)
  if (isSound) return paint(`OK: ${accounted(enqueued)} accounted for.`, 'good', style)
  const unbalanced = queues.filter(({ isBalanced }) => !isBalanced).length
  const parts = [
    ...(unbalanced > 0 ? [`${many(unbalanced, 'queue')} ${unbalanced === 1 ? 'does' : 'do'} not balance`] : []),
    ...(findings.length > 0 ? [`${many(findings.length, 'job')} with inconsistent records`] : []),
  ]
  return paint(`FAILED: ${parts.join(', ')}.`, 'bad', style)
}

const accounted = (enqueued: number): string =>
  enqueued === 1 ? 'the only enqueued job is' : `all ${countText(enqueued)} enqueued jobs are`
