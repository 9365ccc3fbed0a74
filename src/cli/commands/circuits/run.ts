import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { type Entry, entryTable } from '../../entries.js'
import type { Io } from '../../io.js'
import { CIRCUIT_MARKS, type Mark, markCell, markText } from '../../marks.js'
import { brief, relative, timeOf } from '../../moment.js'
import type { TargetOptions } from '../../place.js'
import type { Style } from '../../print.js'
import { countText, many, show } from '../../show.js'
import { type Target, withTarget } from '../../target.js'
import { oneLine } from '../../width.js'

export interface CircuitOptions extends TargetOptions {
  readonly json?: true
}

export async function listCircuits(options: CircuitOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const [data, { now }] = await Promise.all([target.circuits.list(), target.info()])
    show(io, options, { data, page: {} }, style => (data.length === 0 ? '' : circuitTable(data, now, style)))
    if (options.json) return
    const none = 'no circuit yet: one is known once a job with a `circuit` or a `budget` has run\n'
    io.stderr.write(data.length === 0 ? none : `${many(data.length, 'circuit')}\n`)
  })
}

function circuitTable(circuits: readonly CircuitView[], now: number, style: Style): string {
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
    { title: 'Circuit' },
  ] as const
  return entryTable(columns, ['Next', 'Why'], entries, style)
}

/** Why it was opened is over once it is closed. */
function reasonOf({ state, reason }: CircuitView): string {
  return state === 'closed' ? '' : (reason ?? '')
}

function markOf({ state, forced }: CircuitView): Mark {
  return forced ? { ...CIRCUIT_MARKS[forced], word: `held ${forced}` } : CIRCUIT_MARKS[state]
}

/** What it waits for. */
function nextWords({ key, state, forced, openUntil, notBefore, probeJobId }: CircuitView, now: number): string {
  if (forced === 'open') return `until \`chronos circuits close ${key}\``
  if (forced === 'closed') return `whatever fails, until \`chronos circuits close ${key}\``
  if (probeJobId !== undefined) return `job ${probeJobId} was sent ahead`
  if (state === 'open' && openUntil !== undefined) {
    return timeOf(openUntil) > now ? `tried again ${relative(openUntil, now)}` : 'tried again with the next job'
  }
  if (notBefore !== undefined) return `nothing starts before ${relative(notBefore, now)}: the other side said so`
  return state === 'ramping' ? 'jobs come back step by step' : ''
}

export async function openCircuit(key: string, options: CircuitOptions, io: Io): Promise<void> {
  await change(({ circuits }) => circuits.open(key), options, io)
}

export async function closeCircuit(
  key: string,
  options: CircuitOptions & { readonly hold?: true },
  io: Io,
): Promise<void> {
  await change(({ circuits }) => circuits.close(key, { hold: options.hold === true }), options, io)
}

async function change(act: (target: Target) => Promise<CircuitView>, options: CircuitOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const circuit = await act(target)
    const { now } = await target.info()
    show(io, options, circuit, style => {
      const next = nextWords(circuit, now)
      return `circuit ${oneLine(circuit.key)} ${markText(markOf(circuit), style)}${next === '' ? '' : `: ${oneLine(next)}`}\n`
    })
  })
}
