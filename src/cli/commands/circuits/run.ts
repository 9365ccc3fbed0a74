import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, relative, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { countText, many, show } from '../../output/show.js'
import { CIRCUIT_MARKS, type Mark, markCell, markText } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'

export interface CircuitOptions extends BackendOptions {
  readonly json?: true
}

export async function listCircuits(options: CircuitOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const [data, { now }] = await Promise.all([backend.circuits.list(), backend.info()])
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

async function change(act: (backend: Backend) => Promise<CircuitView>, options: CircuitOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const circuit = await act(backend)
    const { now } = await backend.info()
    show(io, options, circuit, style => {
      const next = nextWords(circuit, now)
      return `circuit ${oneLine(circuit.key)} ${markText(markOf(circuit), style)}${next === '' ? '' : `: ${oneLine(next)}`}\n`
    })
  })
}
