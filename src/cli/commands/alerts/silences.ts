import type { RuleName } from '../../../core/alert/rules.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import type { Duration } from '../../../core/values/duration.js'
import { shown } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import { act } from '../../act.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, type Listing, NONE } from '../../list.js'
import { relative, timeOf } from '../../output/moment.js'
import { oneLine } from '../../output/width.js'

const FIELDS: readonly Field<SilenceView>[] = [
  {
    title: 'Ends',
    cell: ({ until }, now) => (timeOf(until) > now ? relative(until, now) : { text: 'ended', tone: 'dim' }),
  },
  { title: 'Alerts', wraps: true, cell: matchOf },
  { title: 'Reason', cell: ({ comment }) => comment ?? NONE },
  { title: 'Id', cell: ({ id }) => id },
]

export const SILENCES: Listing<SilenceView> = {
  noun: 'silence',
  read: ({ alerts }) => alerts.silences(),
  text: FIELDS,
}

function matchOf({ rule, labels }: SilenceView): string {
  const words = [
    ...(rule === undefined ? [] : [rule]),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  ]
  return words.length === 0 ? 'all alerts' : words.join(' ')
}

interface SilenceOptions extends BackendOptions {
  readonly rule?: RuleName
  readonly label?: readonly string[]
  readonly for?: Duration
  readonly until?: Date | string
  readonly comment?: string
}

export async function addSilence(options: SilenceOptions, io: Io): Promise<void> {
  const { rule, label = [], until, comment } = options
  const silence = present({ rule, labels: Object.fromEntries(label.map(labelOf)), for: options.for, until, comment })
  await act(options, io, ({ alerts }) => alerts.silence(silence), {
    text: made => `silenced ${oneLine(matchOf(made))} until ${made.until}\n${made.id}`,
  })
}

function labelOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw usage(`--label: expected name=value such as queue=mail, got ${shown(text)}`)
}
