import type { JobView } from '../../../core/job/view.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { absolute, relative } from '../../output/moment.js'
import { paint, type Style } from '../../output/print.js'
import { countText, hang, labelled, many, show } from '../../output/show.js'
import { lastHours, sparkline } from '../../output/sparkline.js'
import { GROUP_MARKS, markText } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'
import { jobTable } from '../jobs/list.js'
import { kindOf, tenantsOf } from './groups.js'

export interface GroupOptions extends BackendOptions {
  readonly tenant?: string
}

export async function showGroup(fingerprint: string, options: GroupOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const group = await backend.dead.group(fingerprint, options.tenant)
    const [{ data: jobs }, { now }] = await Promise.all([backend.jobs.list({ ids: group.samples }), backend.info()])
    show(io, options, group, style => cardOf(group, jobs, now, style))
    if (options.json || group.dead === 0) return
    const whose = options.tenant === undefined ? '' : ` --tenant ${oneLine(options.tenant)}`
    io.stderr.write(`\nredrive them: chronos dead redrive --group ${oneLine(fingerprint)}${whose} --dry-run\n`)
  })
}

const LABEL_COLUMNS = 8
const TWO_DAYS = { cells: 48, cellHours: 1 } as const

function cardOf(group: ErrorGroupView, jobs: readonly JobView[], now: number, style: Style): string {
  const { title, fingerprint, state, names, queues, dead, deaths, failures } = group
  const when = (at: string): string => `${absolute(at)} (${relative(at, now)})`
  const hours = lastHours(group.trend, now, TWO_DAYS)
  const peak = Math.max(...hours)
  const rows: readonly (readonly [label: string, words: string | undefined])[] = [
    ['error', kindOf(group)],
    ['jobs', `${names.join(', ')} in ${queues.length === 1 ? 'queue' : 'queues'} ${queues.join(', ')}`],
    ['tenants', tenantsOf(group)],
    ['count', `${countText(dead)} dead now; ${many(failures, 'failed run')}, ${many(deaths, 'death')} in total`],
    ['first', when(group.firstSeen)],
    ['last', when(group.lastSeen)],
    ['assignee', group.assignee],
    ...(group.notes ?? []).map(
      ({ at, by, text }) => ['note', `${absolute(at)}${by === undefined ? '' : ` ${by}`}: ${text}`] as const,
    ),
    ['48 h', `${sparkline(hours, style)} ${peak === 0 ? 'quiet' : `up to ${countText(peak)} per hour`}`],
  ]
  const head = hang('', 0, title, style)
    .split('\n')
    .map(line => paint(line, 'strong', style))
    .join('\n')
  const where = `${markText(GROUP_MARKS[state], style)}  ${paint(fingerprint, 'dim', style)}\n`
  const newest = jobs.length === 0 ? '' : `\n${paint('Newest jobs', 'strong', style)}\n${jobTable(jobs, now, style)}`
  return `${head}${where}\n${labelled(rows, LABEL_COLUMNS, style)}${newest}`
}
