import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { PartialPolicy, Policy } from '../../../core/policy/policy.js'
import { mergePolicies } from '../../../core/policy/policy.js'
import { GOOD_FOR, PRESETS, type PresetName } from '../../../core/policy/presets.js'
import { later } from '../../data/clock.js'
import { request } from '../../data/http.js'
import { useQuery } from '../../data/query.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { type Column, Table } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { choiceFrom, choiceOf, queryOf } from '../../policy/policy-form.js'
import { policyWords } from '../../policy/policy-words.js'
import { pageOf, type QueryChange, query, setQuery } from '../../shell/router.js'
import { scenarioFrom, scenarioQuery } from '../../simulator/scenario.js'
import { Simulator, type SimulatorState } from '../../simulator/simulator.js'
import { spanText } from '../../timeline/span-text.js'

/** The presets, the policies of queues, and the simulator. */
export default function Policies(_props: ScreenProps) {
  const state = useSignal(stateFrom(query.peek()))
  const simulator = useRef<HTMLDivElement>(null)
  const known = useQuery('policies', signal => request<PolicyList>('GET', '/policies', { signal }), {
    topics: ['queues'],
  })
  useUrl(state)
  const open = (name: PresetName): void => {
    state.value = { ...state.peek(), policy: choiceOf(name) }
    simulator.current?.scrollIntoView({ block: 'start' })
  }
  return (
    <div class="stack">
      <PageHead
        title="Retry policies"
        sub="How failed jobs are retried: the delays, the number of retries, and the longest outage they survive. The simulator runs the retry code of the workers."
      />
      <Panel title="Simulator">
        <div ref={simulator}>
          <Simulator state={state.value} onChange={changed => (state.value = changed)} />
        </div>
      </Panel>
      <Presets known={known.data} onOpen={open} chosen={state.value.policy.preset} />
      <QueuePolicies queues={known.data?.queues ?? []} />
    </div>
  )
}

function stateFrom(from: Readonly<Record<string, string>>): SimulatorState {
  const other = from['compare'] === undefined ? {} : { other: choiceFrom(from, 'b.') }
  return { policy: choiceFrom(from), scenario: scenarioFrom(from), ...other }
}

const NOTHING: QueryChange = Object.fromEntries(
  Object.keys(queryOf(choiceOf('standard'), 'b.')).map(key => [key, undefined]),
)

function queryFrom({ policy, other, scenario }: SimulatorState): QueryChange {
  const compared = other ? { compare: 'yes', ...queryOf(other, 'b.') } : { compare: undefined, ...NOTHING }
  return { ...queryOf(policy), ...scenarioQuery(scenario), ...compared }
}

const URL_AFTER_MS = 250

/** Delays URL changes, because browsers limit how often a page may change its URL. */
function useUrl(state: { value: SimulatorState; peek: () => SimulatorState }): void {
  const written = useRef(JSON.stringify(queryFrom(state.peek())))
  const now = JSON.stringify(queryFrom(state.value))
  useEffect(() => {
    if (now === written.current) return undefined
    return later(URL_AFTER_MS, () => {
      written.current = now
      setQuery(queryFrom(state.peek()), { replace: true })
    })
  }, [now])
  const shown = JSON.stringify(queryFrom(stateFrom(query.value)))
  useEffect(() => {
    // The URL was changed by Back or a link.
    if (shown === written.current) return
    written.current = shown
    state.value = stateFrom(query.peek())
  }, [shown])
}

const NAMES = Object.keys(PRESETS) as readonly PresetName[]

interface PresetsProps {
  readonly known: PolicyList | undefined
  readonly chosen: PresetName
  readonly onOpen: (name: PresetName) => void
}

function Presets({ known, onOpen, chosen }: PresetsProps) {
  const survives = (name: PresetName): string => {
    const ms = known?.presets.find(preset => preset.name === name)?.outageSurvivedMs
    return ms === undefined ? '' : spanText(ms)
  }
  const columns: readonly Column<PresetName>[] = [
    { title: 'Preset', phone: 'head', render: name => <code>{name}</code> },
    { title: 'Policy', width: 'grow', render: name => policyWords(PRESETS[name]) },
    { title: 'Survives', align: 'end', render: survives },
    { title: 'Good for', render: name => <span class="muted">{GOOD_FOR[name]}</span> },
    {
      title: 'Simulator',
      align: 'end',
      render: name => (
        <Button
          text="Simulate"
          size="sm"
          tone="quiet"
          icon="chart"
          disabled={name === chosen && 'The simulator shows it'}
          onPress={() => onOpen(name)}
        />
      ),
    },
  ]
  return (
    <Panel title="Presets" note="standard provides the defaults" flush>
      <Table label="Presets" columns={columns} rows={NAMES} rowKey={name => name} />
    </Panel>
  )
}

interface PolicyList {
  readonly presets: readonly { readonly name: string; readonly outageSurvivedMs: number }[]
  readonly queues: readonly { readonly queue: string; readonly retry: PartialPolicy }[]
}

function QueuePolicies({ queues }: Pick<PolicyList, 'queues'>) {
  if (queues.length === 0) return null
  const whole = (retry: PartialPolicy): Policy => mergePolicies(retry)
  return (
    <Panel title="Queue overrides" flush>
      <Table
        label="Queue overrides"
        rows={queues}
        rowKey={({ queue }) => queue}
        href={({ queue }) => pageOf('queues', queue)}
        columns={[
          { title: 'Queue', phone: 'head', render: ({ queue }) => <code>{queue}</code> },
          { title: 'Policy', width: 'grow', render: ({ retry }) => policyWords(whole(retry)) },
        ]}
      />
    </Panel>
  )
}
