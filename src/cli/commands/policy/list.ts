import { jitterLabel } from '../../../core/policy/jitter.js'
import { GOOD_FOR, PRESETS, type PresetName } from '../../../core/policy/presets.js'
import { outageSurvived } from '../../../core/policy/survival.js'
import { backoffWords } from '../../../core/policy/words.js'
import { formatMs, toMs } from '../../../core/values/duration.js'
import type { Io } from '../../io.js'
import type { Cell, Style } from '../../output/print.js'
import { show } from '../../output/show.js'
import { spelledTable } from './words.js'

const NAMES = Object.keys(PRESETS) as readonly PresetName[]

export function listPolicies(options: { readonly json?: true }, io: Io): void {
  const rows = NAMES.map(name => ({
    name,
    goodFor: GOOD_FOR[name],
    outageSurvivedMs: outageSurvived(PRESETS[name]),
    policy: PRESETS[name],
  }))
  show(io, options, rows, style => presetTable(rows, style))
}

/** On a narrower terminal the last column would wrap into many lines, so it is left out. */
const ROOMY_COLUMNS = 125

type Row = { readonly name: PresetName; readonly goodFor: string; readonly outageSurvivedMs: number }

function presetTable(rows: readonly Row[], style: Style): string {
  const roomy = style.columns >= ROOMY_COLUMNS
  const columns = [
    { title: 'Preset' },
    { title: 'Retries', align: 'right' },
    { title: 'Backoff' },
    { title: 'Jitter' },
    { title: 'Cap', align: 'right' },
    { title: 'Survives', align: 'right' },
    ...(roomy ? [{ title: 'Good for' }] : []),
  ] as const
  const cells = rows.map(({ name, goodFor, outageSurvivedMs }): Cell[] => {
    const { maxRetries, backoff, jitter, cap } = PRESETS[name]
    const retries = maxRetries > 0
    return [
      { text: name, tone: 'strong' },
      String(maxRetries),
      retries ? backoffWords(backoff) : '–',
      retries ? jitterLabel(jitter) : '–',
      retries && cap !== undefined ? formatMs(toMs(cap, 'cap')) : '–',
      retries ? formatMs(outageSurvivedMs) : '–',
      ...(roomy ? [goodFor] : []),
    ]
  })
  return spelledTable(columns, cells, style)
}
