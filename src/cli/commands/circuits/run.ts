import { present } from '../../../core/values/present.js'
import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { type Listing, type PageOptions, pageOf } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, relative, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { countText } from '../../output/show.js'
import { CIRCUIT_MARKS, type Mark, markCell, markText } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'

const NONE_YET = 'no circuits yet: a circuit appears once a job with a `circuit` or a `budget` has run'

interface ListOptions extends PageOptions {
  readonly find?: string
  readonly restricted?: true
}

export const CIRCUITS: Listing<CircuitView, readonly [ListOptions]> = {
  noun: 'circuit',
  none: ({ find, restricted }) => (find === undefined && !restricted ? NONE_YET : 'no circuits'),
  read: ({ circuits }, { find: q, restricted, ...page }) =>
    circuits.list({ ...pageOf(page), ...present({ q, restricted }) }),
  text: circuitTable,
}

function circuitTable(circuits: readonly CircuitView[], now: number, style: Style): string {
  const hasTenants = circuits.some(({ tenantId }) => tenantId !== undefined)
  const entries = circuits.map((circuit): Entry => {
    const { key, calls, openings, since } = circuit
    const next = nextWords(circuit, now)
    const reason = reasonOf(circuit)
    return {
      cells: [
        markCell(markOf(circuit), style),
        `${countText(calls.failed)} of ${countText(calls.ok + calls.failed)}`,
        countText(openings),
        `${brief(now - timeOf(since))} ago`,
        { text: key, tone: 'strong' },
        ...(hasTenants ? [circuit.tenantId ?? '-'] : []),
      ],
      below: [reason, next].filter(words => words !== ''),
      beside: [next || '-', reason || '-'],
    }
  })
  const columns = [
    { title: 'State' },
    { title: 'Failed', align: 'right' },
    { title: 'Openings', align: 'right' },
    { title: 'Since', align: 'right' },
    { title: 'Dependency' },
    ...(hasTenants ? [{ title: 'Tenant' }] : []),
  ] as const
  return entryTable(columns, ['Next', 'Why'], entries, style)
}

/** The reason of an opening no longer applies once the circuit is closed. */
function reasonOf({ state, reason }: CircuitView): string {
  return state === 'closed' ? '' : (reason ?? '')
}

function markOf({ state, forced }: CircuitView): Mark {
  return forced ? { ...CIRCUIT_MARKS[forced], word: `held ${forced}` } : CIRCUIT_MARKS[state]
}

function nextWords(circuit: CircuitView, now: number): string {
  const { key, tenantId, state, forced, openUntil, notBefore, probeJobId } = circuit
  const close = `chronos circuits close ${key}${tenantId === undefined ? '' : ` --tenant ${tenantId}`}`
  if (forced === 'open') return `until \`${close}\``
  if (forced === 'closed') return `even if calls fail, until \`${close}\``
  if (probeJobId !== undefined) return `probing with job ${probeJobId}`
  if (state === 'open' && openUntil !== undefined) {
    return timeOf(openUntil) > now ? `next probe ${relative(openUntil, now)}` : 'the next job is the probe'
  }
  if (notBefore !== undefined) return `throttled by Retry-After: next start ${relative(notBefore, now)}`
  return state === 'ramping' ? 'jobs start again step by step' : ''
}

export function circuitLine(circuit: CircuitView, now: number, style: Style): string {
  const next = nextWords(circuit, now)
  const whose = circuit.tenantId === undefined ? '' : ` of tenant ${oneLine(circuit.tenantId)}`
  return `circuit ${oneLine(circuit.key)}${whose} ${markText(markOf(circuit), style)}${next === '' ? '' : `: ${oneLine(next)}`}`
}
