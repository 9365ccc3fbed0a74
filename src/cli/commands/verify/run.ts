import type { AuditReport, QueueBalance } from '../../../engine/upkeep/integrity.js'
import type { AuditFinding } from '../../../store/integrity.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { absolute } from '../../output/moment.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { countText, hang, many, show } from '../../output/show.js'
import { type Mark, sign } from '../../output/symbols.js'

/** True where nothing is wrong. */
export async function auditStore(options: BackendOptions & { readonly json?: true }, io: Io): Promise<boolean> {
  return withBackend(options, io, async backend => {
    const report = await backend.audit()
    show(io, options, report, style => reportOf(report, style))
    if (!options.json) io.stderr.write(`as of ${absolute(report.at)}\n`)
    return report.isSound
  })
}

const SOUND: Mark = { symbol: '✓', ascii: '+', word: 'sound', tone: 'good' }
const WRONG: Mark = { symbol: '✗', ascii: 'x', word: 'NOT SOUND', tone: 'bad' }

function reportOf(report: AuditReport, style: Style): string {
  const { queues, findings } = report
  const tables = queues.length === 0 ? '' : `${balanceTable(queues, style)}\n`
  const troubles = [
    ...queues.flatMap(({ queue, problem }) => (problem === undefined ? [] : [`queue ${queue}: ${problem}`])),
    ...findings.map(findingWords),
  ]
  const mark = sign(WRONG, style)
  const lines = troubles.map(words => hang(`${paint(mark, WRONG.tone, style)} `, mark.length + 1, words, style))
  const told = lines.length === 0 ? '' : `${lines.join('')}\n`
  return `${tables}${told}${verdict(report, style)}\n`
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
    const { word, tone, ...mark } = isBalanced ? SOUND : WRONG
    return [
      // Beside it stands the word, or the reason below.
      { text: `${sign({ word, tone, ...mark }, style)} ${queue}`, tone },
      countText(enqueued),
      ...COUNTED.map(state => countText(counts[state])),
      countText(removed),
      ...(hasVerdict ? [{ text: word, tone }] : []),
    ]
  })
  return table(columns, rows, { ...style, boxes: false })
}

function findingWords({ jobId, what, detail }: AuditFinding): string {
  // Such attempts know only the row that their job had.
  return `${what === 'orphan-attempts' ? 'row' : 'job'} ${jobId}: ${detail} (${what})`
}

function verdict({ isSound, queues, findings }: AuditReport, style: Style): string {
  const enqueued = queues.reduce((sum, queue) => sum + queue.enqueued, 0)
  if (isSound && enqueued === 0) return paint('Sound: no job was ever enqueued.', 'good', style)
  if (isSound) return paint(`Sound: ${accounted(enqueued)} accounted for.`, 'good', style)
  const unbalanced = queues.filter(({ isBalanced }) => !isBalanced).length
  const parts = [
    ...(unbalanced > 0 ? [`${many(unbalanced, 'queue')} ${unbalanced === 1 ? 'does' : 'do'} not balance`] : []),
    ...(findings.length > 0 ? [`${many(findings.length, 'job')} with records that disagree`] : []),
  ]
  return paint(`NOT SOUND: ${parts.join(', ')}.`, 'bad', style)
}

const accounted = (enqueued: number): string =>
  enqueued === 1
    ? 'the one job that was ever enqueued is'
    : `all ${countText(enqueued)} jobs that were ever enqueued are`
