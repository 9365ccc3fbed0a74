import type { RuleName } from '../../../core/alert/rules.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import type { Duration } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { withBackend } from '../../backend/backend.js'
import type { Io } from '../../io.js'
import { relative, timeOf } from '../../output/moment.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import type { AlertOptions } from './list.js'

export async function listSilences(options: AlertOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const [list, { now }] = await Promise.all([backend.alerts.silences(), backend.info()])
    const { data } = list
    show(io, options, list, style => (data.length === 0 ? '' : silenceTable(data, now, style)))
    if (!options.json) io.stderr.write(data.length === 0 ? 'no silence\n' : `${many(data.length, 'silence')}\n`)
  })
}

function silenceTable(silences: readonly SilenceView[], now: number, style: Style): string {
  const columns = [{ title: 'Ends' }, { title: 'What', wraps: true }, { title: 'Why' }, { title: 'Id' }] as const
  const rows = silences.map((silence): Cell[] => [
    timeOf(silence.until) > now ? relative(silence.until, now) : { text: 'is over', tone: 'dim' },
    matchOf(silence),
    silence.comment ?? { text: '-', tone: 'dim' },
    silence.id,
  ])
  return table(columns, rows, { ...style, boxes: false })
}

function matchOf({ rule, labels }: SilenceView): string {
  const words = [
    ...(rule === undefined ? [] : [rule]),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  ]
  return words.length === 0 ? 'everything' : words.join(' ')
}

interface SilenceOptions extends AlertOptions {
  readonly rule?: RuleName
  readonly label: readonly string[]
  readonly for?: Duration
  readonly until?: string
  readonly comment?: string
}

export async function addSilence(options: SilenceOptions, io: Io): Promise<void> {
  const { rule, label, until, comment } = options
  const labels = Object.fromEntries(label.map(labelOf))
  await withBackend(options, io, async backend => {
    const silence = await backend.alerts.silence({
      ...(rule !== undefined && { rule }),
      labels,
      ...(options.for !== undefined && { for: options.for }),
      ...(until !== undefined && { until }),
      ...(comment !== undefined && { comment }),
    })
    show(
      io,
      options,
      silence,
      () => `nobody is told of ${oneLine(matchOf(silence))} until ${silence.until}\n${silence.id}\n`,
    )
  })
}

function labelOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new ChronosError('INVALID_OPTION', `--label: expected name=value such as queue=mail, got ${shown(text)}`)
}

export async function endSilence(id: string, options: AlertOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    await backend.alerts.unsilence(id)
    show(io, options, { id }, () => `silence ${oneLine(id)} is over\n`)
  })
}
