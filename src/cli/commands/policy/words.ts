import type { Finding } from '../../../core/policy/lint.js'
import type { Policy } from '../../../core/policy/policy.js'
import { policyWords } from '../../../core/policy/words.js'
import { formatMs } from '../../../core/values/duration.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { hang } from '../../output/show.js'
import { oneLine, widthOf } from '../../output/width.js'

/** The name and the policy. The name may be that of a file, so it is untrusted text. */
export function titleLine(name: string, policy: Policy, style: Style): string {
  const clean = oneLine(name)
  return hang(`${paint(clean, 'strong', style)}  `, widthOf(clean) + 2, policyWords(policy), style)
}

/** Each finding ends with its code, so that it can be searched for. */
export function findingLines(findings: readonly Finding[], style: Style): string {
  return findings
    .map(({ code, severity, message }) => {
      const word = severity.padEnd(SEVERITY_COLUMNS)
      const head = paint(word, severity === 'warning' ? 'warn' : 'calm', style)
      return hang(head, SEVERITY_COLUMNS, `${message} (${code})`, narrowed(style))
    })
    .join('')
}

/** The main figure of a policy, and its meaning. */
export function survivalLines(survivedMs: number, more: string, style: Style): string {
  const title = paint(`Outage survived: ${formatMs(survivedMs)}`, 'strong', style)
  return `${title}\n${hang('', 0, `The longest outage after which 99 % of the jobs still have a run${more}.`, narrowed(style))}`
}

const SEVERITY_COLUMNS = 'warning  '.length
const READABLE_COLUMNS = 100

/** Long lines are hard to read on a wide terminal. In a pipe text stays on one line, so that it can be searched. */
export function narrowed(style: Style): Style {
  return Number.isFinite(style.columns) ? { ...style, columns: Math.min(style.columns, READABLE_COLUMNS) } : style
}

const SPELLED: Readonly<Record<string, string>> = { '±': '+/-', '×': 'x', '…': '...', '·': '-', '–': '-' }

/** A table whose cells are converted to ASCII, if needed, before they are measured. */
export function spelledTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], style: Style): string {
  const spell = (cell: Cell): Cell =>
    typeof cell === 'string' ? spelled(cell, style) : { ...cell, text: spelled(cell.text, style) }
  const titles = columns.map(column => ({ ...column, title: spelled(column.title, style) }))
  return table(
    titles,
    rows.map(row => row.map(spell)),
    style,
  )
}

/** Replaces symbols for an output that supports only ASCII. */
export function spelled(text: string, { unicode }: Style): string {
  return unicode ? text : text.replace(/[±×…·–]/g, char => SPELLED[char] ?? '')
}
