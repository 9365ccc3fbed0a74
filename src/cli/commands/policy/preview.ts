import { capMs } from '../../../core/policy/backoff.js'
import { type Finding, lintPolicy } from '../../../core/policy/lint.js'
import type { Policy } from '../../../core/policy/policy.js'
import { type PreviewRow, preview, typicalStarts } from '../../../core/policy/preview.js'
import { outageSurvived } from '../../../core/policy/survival.js'
import { crashWords } from '../../../core/policy/words.js'
import { formatMs, toMs } from '../../../core/values/duration.js'
import type { Io } from '../../io.js'
import type { Cell, Style } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { type NamedPolicy, type PolicyFlags, readPolicy } from './input.js'
import { findingLines, spelled, spelledTable, survivalLines, titleLine } from './words.js'

interface Row extends PreviewRow {
  /** Null for a custom backoff, whose code only workers have. */
  readonly typicalMs: number | null
}

interface Preview extends NamedPolicy {
  readonly rows: readonly Row[]
  readonly outageSurvivedMs: number | null
  /** Whether a lost run uses an attempt, in one sentence. */
  readonly crashes: string
  readonly findings: readonly Finding[]
}

export async function previewPolicy(
  given: string | undefined,
  flags: PolicyFlags & { readonly json?: true },
  io: Io,
): Promise<void> {
  const { name, policy } = await readPolicy(given, flags)
  const custom = policy.backoff.type === 'custom'
  const typical = typicalStarts(policy)
  const all: Preview = {
    name,
    policy,
    rows: preview(policy).map((row, i) => ({ ...row, typicalMs: custom ? null : typical[i]! })),
    outageSurvivedMs: custom ? null : outageSurvived(policy),
    crashes: crashWords(policy),
    findings: lintPolicy(policy),
  }
  show(io, flags, all, style => spelled(pageOf(all, style), style))
}

function pageOf({ name, policy, rows, outageSurvivedMs, findings }: Preview, style: Style): string {
  const title = titleLine(name, policy, style)
  const delays = rows.length === 0 ? '' : `\n${delayTable(policy, rows, style)}`
  const findingText = findings.length === 0 ? '' : `\n${findingLines(findings, style)}`
  return `${title}${delays}\n${summary(rows, policy, outageSurvivedMs, style)}${findingText}`
}

const ROWS_MAX = 24
const ROWS_AT_THE_END = 4

function delayTable(policy: Policy, rows: readonly Row[], style: Style): string {
  const notes = rows.map(row => noteOf(policy, row))
  const columns = [
    { title: 'Retry', align: 'right' },
    { title: 'Waits' },
    { title: 'Earliest', align: 'right' },
    { title: 'Typical', align: 'right' },
    { title: 'Latest', align: 'right' },
    ...(notes.some(note => note !== '') ? [{ title: 'Note' }] : []),
  ] as const
  const cells = rows.map(({ retry, window, totalMs, typicalMs }, i): Cell[] => [
    String(retry),
    rangeText(window),
    { text: formatMs(totalMs[0]), tone: 'dim' },
    typicalMs === null ? '?' : formatMs(typicalMs),
    { text: formatMs(totalMs[1]), tone: 'dim' },
    { text: notes[i]!, tone: 'warn' },
  ])
  return spelledTable(columns, shortened(cells, columns.length), style)
}

/** Leaves out the middle of a long table; `--json` has it. */
function shortened(cells: readonly Cell[][], columns: number): readonly Cell[][] {
  if (cells.length <= ROWS_MAX) return cells
  const head = cells.slice(0, ROWS_MAX - ROWS_AT_THE_END - 1)
  const left = cells.length - head.length - ROWS_AT_THE_END
  const gap: Cell[] = Array.from({ length: columns }, (_, i) =>
    i === 1 ? { text: `… ${left} more`, tone: 'dim' } : '',
  )
  return [...head, gap, ...cells.slice(-ROWS_AT_THE_END)]
}

function rangeText([lo, hi]: readonly [number, number]): string {
  return lo === hi ? formatMs(lo) : `${formatMs(lo)} … ${formatMs(hi)}`
}

function noteOf(policy: Policy, { delayMs, totalMs }: Row): string {
  const limit = limitOf(policy)
  if (totalMs[0] > limit) return 'never: maxElapsed'
  if (totalMs[1] > limit) return 'perhaps: maxElapsed'
  // Decorrelated delays are random below the cap, so the cap does not determine them.
  return policy.cap !== undefined && policy.jitter !== 'decorrelated' && delayMs === capMs(policy) ? 'cap' : ''
}

function summary(rows: readonly Row[], policy: Policy, survivedMs: number | null, style: Style): string {
  const last = rows.at(-1)
  const crashes = `${crashWords(policy)}\n`
  if (last === undefined) return `One run, no retries.\n${crashes}`
  const limit = limitOf(policy)
  const possible = rows.filter(({ totalMs }) => totalMs[0] <= limit)
  const runs = `At most ${many(possible.length + 1, 'run')}; `
  const end =
    last.totalMs[1] > limit
      ? `no run starts later than ${formatMs(limit)} after the first.\n`
      : `the last starts ${rangeText(last.totalMs)} after the first failure.\n`
  return `${runs}${end}${crashes}${survivedMs === null ? '' : `\n${survivalLines(survivedMs, '', style)}`}`
}

function limitOf({ maxElapsed }: Policy): number {
  return maxElapsed === undefined ? Number.POSITIVE_INFINITY : toMs(maxElapsed, 'maxElapsed')
}
