import type { RedriveState } from '../../../core/redrive/redrive.js'
import { formatMs } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, type Listing, type PageOptions, pageOf } from '../../list.js'
import { absolute, brief, relative, timeOf } from '../../output/moment.js'
import { paint, type Style } from '../../output/print.js'
import { countText, labelled, show } from '../../output/show.js'
import { markCell, markText, REDRIVE_MARKS } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'
import { endWords, follow } from './follow.js'
import { barOf, filterWords, leftWords, progressWords, wholeOf } from './words.js'

const FIELDS: readonly Field<RedriveView>[] = [
  { title: 'Id', cell: ({ id }) => id },
  { title: 'State', cell: ({ state }, _, style) => markCell(REDRIVE_MARKS[state], style) },
  { title: 'Started', align: 'right', cell: ({ started }) => countText(started) },
  { title: 'Of', align: 'right', from: 90, cell: redrive => countText(wholeOf(redrive)) },
  {
    title: 'Failing',
    align: 'right',
    cell: ({ failing }) => (failing > 0 ? { text: countText(failing), tone: 'bad' } : '0'),
  },
  { title: 'Rate', align: 'right', from: 90, cell: ({ rate }) => rate },
  { title: 'Created', align: 'right', cell: ({ createdAt }, now) => `${brief(now - timeOf(createdAt))} ago` },
  { title: 'Jobs', wraps: true, from: 110, cell: ({ filter }) => filterWords(filter) },
]

const NONE_YET = 'no redrives yet: `chronos dead redrive` starts one'

interface RedrivesOptions extends PageOptions {
  readonly state?: RedriveState
}

export const REDRIVES: Listing<RedriveView, [RedrivesOptions]> = {
  noun: 'redrive',
  none: ({ state }) => (state === undefined ? NONE_YET : `no redrive is ${state}`),
  read: ({ redrives }, { state, ...page }) => redrives.list({ ...pageOf(page), ...present({ state }) }),
  text: FIELDS,
}

export async function getRedrive(
  id: string,
  options: BackendOptions & { readonly follow?: true },
  io: Io,
): Promise<number> {
  return withBackend(options, io, async backend => {
    if (options.follow) return follow(backend, (await backend.redrives.get(id)).id, options, io)
    const [redrive, { now }] = await Promise.all([backend.redrives.get(id), backend.info()])
    show(io, options, redrive, style => cardOf(redrive, now, style))
    return EXIT.ok
  })
}

const LABEL_COLUMNS = 9
const BAR_COLUMNS = 40
const CONFLICTS_SHOWN = 10

function cardOf(redrive: RedriveView, now: number, style: Style): string {
  const { id, state, why, rate, canary, stopWhenFailing, createdAt, finishedAt, conflicts, filter } = redrive
  const when = (at: string): string => `${absolute(at)} (${relative(at, now)})`
  const took = finishedAt === undefined ? '' : `, after ${formatMs(timeOf(finishedAt) - timeOf(createdAt))}`
  const rows: readonly (readonly [label: string, words: string | undefined])[] = [
    ['why', why],
    ['jobs', filterWords(filter)],
    ['pace', `${canary === 0 ? 'no canary' : `${countText(canary)} first`}, then up to ${rate}`],
    ['stops', `if more than ${Math.round(100 * stopWhenFailing)} % fail again`],
    ['created', when(createdAt)],
    ['ended', finishedAt && `${when(finishedAt)}${took}`],
    ...leftWords(redrive).map(words => ['skipped', words] as const),
    ...conflicts
      .slice(0, CONFLICTS_SHOWN)
      .map(({ jobId, conflictId }) => ['conflict', `${jobId} with ${conflictId}`] as const),
  ]
  const head = `${paint(id, 'strong', style)}  ${markText(REDRIVE_MARKS[state], style)}\n`
  return `${head}${barOf(redrive, BAR_COLUMNS, style)}\n${progressWords(redrive)}\n\n${labelled(rows, LABEL_COLUMNS, style)}`
}

export function redriveLine(redrive: RedriveView, style: Style): string {
  const state = markText(REDRIVE_MARKS[redrive.state], style)
  return `redrive ${oneLine(redrive.id)} ${state}, up to ${redrive.rate}: ${endWords(redrive)}`
}
