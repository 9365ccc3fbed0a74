import { limitWords, partitionLimitWords } from '../../../core/partition/words.js'
import { present } from '../../../core/values/present.js'
import type { QueueSettings } from '../../../engine/jobs/queues.js'
import type { PartitionView } from '../../../engine/limits/partitions.js'
import type { QueueRecord } from '../../../store/store.js'
import { act } from '../../act.js'
import { settingsIn } from '../../argument.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, fieldTable, NONE, type PageOptions, pageOf, sayMore } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import { countText, many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'

interface LimitFlags extends BackendOptions, PageOptions {
  readonly queue?: string
  readonly partitions?: string
  readonly clear?: true
  readonly stopped?: true
}

/** Shows the limits of a queue and its partitions, or changes them. */
export async function queueLimits(name: string, flags: LimitFlags, io: Io): Promise<void> {
  const { queue, partitions, clear } = flags
  const isChange = queue !== undefined || partitions !== undefined
  if (clear && isChange) throw usage('queues limits: give --clear, or --queue and --partitions, not both')
  if (!isChange && !clear) return showLimits(name, flags, io)
  const change = clear
    ? { limit: null, partitions: null }
    : present({ limit: settingOf(queue, '--queue'), partitions: settingOf(partitions, '--partitions') })
  await act(flags, io, ({ queues }) => queues.set(name, change as QueueSettings), { text: limitLines })
}

/** `concurrency=40,rate=500/m`, JSON, or `none`. The engine checks the fields. */
function settingOf(text: string | undefined, flag: string): object | null | undefined {
  return text === 'none' ? null : settingsIn(text, flag, 'concurrency=40,rate=500/m, JSON, or none')
}

const FIELDS: readonly Field<PartitionView>[] = [
  { title: 'Partition', cell: ({ name }) => (name === '' ? NONE : name) },
  { title: 'Running', align: 'right', cell: ({ running }) => String(running) },
  { title: 'Waiting', align: 'right', cell: ({ waiting }) => countText(waiting) },
  { title: 'Limit', from: 60, cell: ({ limit }) => (limit ? limitWords(limit) : NONE) },
  { title: 'Learned', from: 100, align: 'right', cell: ({ learnedRate }) => learnedRate ?? NONE },
  {
    title: 'Next',
    align: 'right',
    cell: ({ openAt }, now) => (openAt === undefined ? NONE : brief(timeOf(openAt) - now)),
  },
  {
    title: 'Waits for',
    cell: ({ blockedBy, stoppedBy }) =>
      stoppedBy === undefined ? (blockedBy ?? NONE) : { text: `dead letter ${stoppedBy}`, tone: 'bad' },
  },
]

async function showLimits(name: string, flags: LimitFlags, io: Io): Promise<void> {
  await withBackend(flags, io, async chronos => {
    const { queues } = chronos
    const which = flags.stopped ? ('stopped' as const) : undefined
    const [queue, found, { now }] = await Promise.all([
      queues.get(name),
      queues.partitions(name, { ...pageOf(flags), ...present({ which }) }),
      chronos.info(),
    ])
    const { limits } = queue
    show(io, flags, { name, ...present({ limits }), ...found }, style => {
      if (!limits) return ''
      const table = found.data.length === 0 ? '' : `\n${fieldTable(FIELDS, found.data, now, style)}`
      return `${limitLines(queue)}\n${table}`
    })
    if (flags.json) return
    const none = limits ? `no ${which ?? ''} partitions`.replace('  ', ' ') : `queue ${oneLine(name)} has no limits`
    const counted = many(found.data.length, 'partition', 'partitions')
    io.stderr.write(`${found.data.length === 0 ? none : counted}\n`)
    sayMore(found.page.next, io)
  })
}

function limitLines({ name, limits }: Pick<QueueRecord, 'name' | 'limits'>): string {
  if (!limits) return `queue ${oneLine(name)} has no limits`
  const { limit, partitions, from } = limits
  const by = from === 'code' ? 'declared in the code' : 'set by an operator'
  return [
    `queue ${oneLine(name)}: ${limit ? limitWords(limit) : 'no limit of its own'} (${by})`,
    ...(partitions ? [`each partition: ${partitionLimitWords(partitions)}`] : []),
  ].join('\n')
}
