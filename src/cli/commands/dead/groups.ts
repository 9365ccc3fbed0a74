import { checkWord } from '../../../core/values/limits.js'
import { present } from '../../../core/values/present.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import type { GroupState } from '../../../store/fold.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { list, type PageOptions, pageOf } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { countText, many } from '../../output/show.js'
import { lastHours, sparkline } from '../../output/sparkline.js'
import { GROUP_MARKS, markCell } from '../../output/symbols.js'
import { cut } from '../../output/width.js'

interface GroupsOptions extends BackendOptions, PageOptions {
  readonly all?: true
  readonly state?: GroupState
  readonly unresolved?: true
  readonly tenant?: string
}

const STATES = ['open', 'resolved', 'regressed', 'ignored'] as const satisfies readonly GroupState[]

export async function listGroups(options: GroupsOptions, io: Io): Promise<void> {
  const { all, state, unresolved, tenant } = options
  if (state !== undefined) checkWord(state, STATES, '--state')
  const query = present({ ...pageOf(options), all, state, unresolved, tenantId: tenant })
  const read = ({ dead }: Backend) => dead.groups(query)
  await list({ noun: 'group', none: noneOf(options), read, text: groupTable, summary }, [], options, io)
}

function noneOf({ all, state, unresolved }: GroupsOptions): string {
  if (state !== undefined) return `no error group is ${state}`
  if (unresolved) return 'no unresolved error groups'
  return all ? 'no error groups: no run has failed' : 'no dead jobs'
}

function summary(groups: readonly ErrorGroupView[]): string {
  const dead = groups.reduce((sum, group) => sum + group.dead, 0)
  return `${many(groups.length, 'group')}, ${many(dead, 'dead job')}`
}

const WIDE_FROM_COLUMNS = 120
/** A fingerprint that a handler chose may be longer. */
const GROUP_MAX_COLUMNS = 26
const DAY_WIDE = { cells: 24, cellHours: 1 } as const
const DAY_NARROW = { cells: 12, cellHours: 2 } as const

function groupTable(groups: readonly ErrorGroupView[], now: number, style: Style): string {
  const isWide = style.columns >= WIDE_FROM_COLUMNS
  const day = isWide ? DAY_WIDE : DAY_NARROW
  const between = style.unicode ? ' · ' : ', '
  const entries = groups.map((group): Entry => {
    const { fingerprint, title, names, failures, dead, state } = group
    const jobs = names.join(', ')
    const kind = kindOf(group)
    const short = isWide ? fingerprint : cut(fingerprint, GROUP_MAX_COLUMNS)
    const whole = short === fingerprint ? [] : [`group ${fingerprint}`]
    const tenants = tenantsOf(group)
    const whose = tenants === undefined ? [] : [`${group.tenantId === undefined ? 'tenants' : 'tenant'} ${tenants}`]
    return {
      cells: [
        { text: countText(dead), tone: dead > 0 ? 'bad' : 'dim' },
        sparkline(lastHours(group.trend, now, day), style),
        ago(group.firstSeen, now),
        ago(group.lastSeen, now),
        markCell(GROUP_MARKS[state], style),
        { text: short, tone: 'strong' },
      ],
      below: [title, [kind, jobs, many(failures, 'failed run'), ...whose, ...whole].join(between)],
      beside: [countText(failures), kind, jobs, tenants ?? '-', title],
    }
  })
  const columns = [
    { title: 'Dead', align: 'right' },
    { title: 'Last 24 h' },
    { title: 'First', align: 'right' },
    { title: 'Last', align: 'right' },
    { title: 'State' },
    { title: 'Group' },
  ] as const
  return entryTable(columns, ['Failures', 'Error', 'Jobs', 'Tenants', 'Title'], entries, style)
}

/** `FetchError ETIMEDOUT`, `HttpError HTTP 503`. */
export function kindOf({ error, code, status }: ErrorGroupView): string {
  return [error, code, status === undefined ? undefined : `HTTP ${status}`].filter(part => part !== undefined).join(' ')
}

const TENANTS_SHOWN = 3

/** The dead jobs by tenant: `acme 12, globex 3, no tenant 1, 2 more`. */
export function tenantsOf({ tenantId, tenants }: ErrorGroupView): string | undefined {
  if (tenantId !== undefined) return tenantId
  if (tenants === undefined) return undefined
  const shown = tenants.slice(0, TENANTS_SHOWN)
  const more = tenants.length - shown.length
  const words = shown.map(({ tenantId: name = 'no tenant', dead }) => `${name} ${countText(dead)}`)
  return [...words, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

const ago = (at: string, now: number): string => `${brief(now - timeOf(at))} ago`
