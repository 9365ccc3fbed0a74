import './simulator.css'
import { useMemo } from 'preact/hooks'
import type { Policy } from '../../core/policy/policy.js'
import { type Scenario, type SimulatedHerd, stormOf } from '../../core/simulation/simulate.js'
import { CAPACITY_STEPS, COUNT_STEPS, DELAY_STEPS, OUTAGE_STEPS, RATE_STEPS, WITHIN_STEPS } from '../charts/steps.js'
import { flagsOf, word } from '../data/command.js'
import { asLiteral } from '../data/copy.js'
import { count, plural } from '../data/format.js'
import { Button } from '../parts/button.js'
import { CodeSample } from '../parts/code-sample.js'
import { Icon } from '../parts/icon.js'
import { PolicyFields, StepField } from '../policy/policy-fields.js'
import { choiceOf, type PolicyChoice, policyOf } from '../policy/policy-form.js'
import { policyWords } from '../policy/policy-words.js'
import { spanText } from '../timeline/span-text.js'
import { DelayTable } from './delay-table.js'
import { spanFor } from './herd.js'
import { HerdChart, type HerdLayer } from './herd-chart.js'
import { hasLimits, isSame, SCENARIOS, type ScenarioField, type ScenarioForm, scenarioOf } from './scenario.js'
import type { Trial, TrialResult } from './simulation.js'
import { useSimulation } from './simulator-thread.js'

export interface SimulatorState {
  readonly policy: PolicyChoice
  /** The second policy of a comparison. */
  readonly other?: PolicyChoice
  readonly scenario: ScenarioForm
}

interface SimulatorProps {
  readonly state: SimulatorState
  readonly onChange: (state: SimulatorState) => void
}

/** Shows how a policy handles an outage, simulated with the retry code of the workers. */
export function Simulator({ state, onChange }: SimulatorProps) {
  const { policy: choice, other, scenario } = state
  const read = trialsOf(state)
  const { answer, isBusy } = useSimulation(read.trials, JSON.stringify(read.trials))
  const problem = read.problem ?? (answer && 'problem' in answer ? answer.problem : undefined)
  const results = answer && 'results' in answer ? answer.results : undefined
  const isFitting = results !== undefined && results.length === read.names.length
  // Re-rendered only with a new result, not with every step of a slider.
  const shown = useMemo(() => isFitting && <Results results={results} names={read.names} />, [results, isFitting])
  return (
    <div class="simulator">
      <form class="simulator-form" aria-label="Simulation settings" onSubmit={event => event.preventDefault()}>
        <PolicyFields
          title={other ? 'Policy A' : 'Policy'}
          choice={choice}
          onChange={policy => onChange({ ...state, policy })}
        />
        {other ? (
          <>
            <PolicyFields
              title="Policy B"
              choice={other}
              onChange={changed => onChange({ ...state, other: changed })}
            />
            <Button
              text="Stop comparing"
              size="sm"
              icon="close"
              onPress={() => onChange({ policy: choice, scenario })}
            />
          </>
        ) : (
          <Button
            text="Compare with another policy"
            size="sm"
            icon="plus"
            onPress={() => onChange({ ...state, other: choiceOf('patient') })}
          />
        )}
        <ScenarioFields form={scenario} onChange={changed => onChange({ ...state, scenario: changed })} />
      </form>
      <div class="simulator-results">
        {problem !== undefined && (
          <p class="simulator-problem" role="alert">
            <Icon name="warning" />
            {problem}
          </p>
        )}
        {isFitting && (
          <div class={problem !== undefined ? 'stale' : undefined} aria-busy={isBusy}>
            {shown}
            {read.trials[0] && <PolicyCode policy={read.trials[0].policy} scenario={scenarioOf(scenario)} />}
          </div>
        )}
      </div>
    </div>
  )
}

interface Read {
  readonly trials: readonly Trial[]
  readonly names: readonly string[]
  readonly problem?: string
}

/** Parses the fields. An error is shown, and the last results stay. */
function trialsOf({ policy, other, scenario }: SimulatorState): Read {
  const names = other ? ['Policy A', 'Policy B'] : ['with jitter']
  try {
    const asked = scenarioOf(scenario)
    const choices = other ? [policy, other] : [policy]
    const policies = choices.map(({ form }) => policyOf(form))
    return { names, trials: policies.map(policy => ({ policy, storm: stormOf(policy, asked) })) }
  } catch (error) {
    return { names, trials: [], problem: error instanceof Error ? error.message : String(error) }
  }
}

const LIMIT_FIELDS: readonly (readonly [field: ScenarioField, label: string, steps: readonly string[]])[] = [
  ['takes', 'Attempt takes', DELAY_STEPS],
  ['rate', 'Rate', RATE_STEPS],
  ['burst', 'Burst', CAPACITY_STEPS],
  ['concurrency', 'Concurrency', CAPACITY_STEPS],
  ['partitions', 'Partitions', COUNT_STEPS],
  ['partitionRate', 'Rate of each', RATE_STEPS],
  ['partitionConcurrency', 'Concurrency of each', CAPACITY_STEPS],
]

function ScenarioFields({
  form,
  onChange,
}: {
  readonly form: ScenarioForm
  readonly onChange: (form: ScenarioForm) => void
}) {
  const set = (field: ScenarioField) => (value: string) => onChange({ ...form, [field]: value })
  return (
    <fieldset class="policy-fields">
      <legend>Scenario</legend>
      <div class="scenario-presets">
        {SCENARIOS.map(({ name, says, form: preset }) => (
          <button
            key={name}
            type="button"
            class="scenario"
            data-tip={says}
            aria-pressed={isSame(form, preset)}
            onClick={() => onChange(preset)}
          >
            {name}
          </button>
        ))}
      </div>
      <StepField label="Jobs" value={form.jobs} steps={COUNT_STEPS} onChange={set('jobs')} />
      <StepField
        label="Within"
        value={form.within}
        steps={WITHIN_STEPS}
        onChange={set('within')}
        hint="The first runs are spread over this time"
      />
      <StepField label="Outage" value={form.outage} steps={OUTAGE_STEPS} onChange={set('outage')} />
      <StepField
        label="Capacity /s"
        value={form.capacity}
        steps={CAPACITY_STEPS}
        onChange={set('capacity')}
        empty="no limit"
        hint="Attempts per second that the dependency serves after recovery"
      />
      <details class="scenario-limits" open={hasLimits(form)}>
        <summary>Limits of the queue</summary>
        {LIMIT_FIELDS.map(([field, label, steps]) => (
          <StepField key={field} label={label} value={form[field]} steps={steps} onChange={set(field)} empty="none" />
        ))}
      </details>
    </fieldset>
  )
}

interface ResultsProps {
  readonly results: readonly TrialResult[]
  readonly names: readonly string[]
}

function Results({ results, names }: ResultsProps) {
  const first = results[0]!
  const { outageMs, capacityPerSecond } = first.scenario
  const layers = layersOf(results, names)
  return (
    <>
      <div class="survival-row">
        {results.map((result, i) => (
          <Survival
            key={names[i]}
            result={result}
            name={results.length > 1 ? names[i] : undefined}
            outageMs={outageMs}
          />
        ))}
      </div>
      <Figures results={results} names={names} />
      <HerdChart
        layers={layers}
        outageMs={outageMs}
        capacityPerSecond={capacityPerSecond}
        spanMs={spanFor(
          layers.map(({ doneMs }) => doneMs),
          outageMs,
        )}
      />
      {results.map((result, i) => (
        <section key={names[i]} class="simulator-more">
          {results.length > 1 && <h3>{names[i]}</h3>}
          <Findings findings={result.findings} />
          <DelayTable rows={result.rows} typicalMs={result.typicalMs} />
        </section>
      ))}
    </>
  )
}

/** A single policy is compared with itself without jitter; two are compared with each other. */
function layersOf(results: readonly TrialResult[], names: readonly string[]): readonly HerdLayer[] {
  const layer = (
    name: string,
    look: HerdLayer['look'],
    { series, peakPerSecond, doneMs }: SimulatedHerd,
  ): HerdLayer => ({
    name,
    look,
    series,
    peakPerSecond,
    doneMs,
  })
  const [first, second] = results
  if (second) return [layer(names[0]!, 'main', first!.withJitter), layer(names[1]!, 'other', second.withJitter)]
  return [layer('with jitter', 'main', first!.withJitter), layer('without jitter', 'grey', first!.withoutJitter)]
}

interface SurvivalProps {
  readonly result: TrialResult
  readonly name: string | undefined
  readonly outageMs: number
}

/** The key figure of a policy. */
function Survival({ result: { withJitter, withoutJitter }, name, outageMs }: SurvivalProps) {
  const { outageSurvivedMs } = withJitter
  const { isGood, words } = verdictOf(withJitter, outageMs)
  const without = withoutJitter.outageSurvivedMs
  return (
    <div class="survival">
      <p class="survival-label">{name ? `${name} survives an outage of` : 'Outage survived'}</p>
      <p class="survival-value">{spanText(outageSurvivedMs)}</p>
      <p class={`survival-verdict ${isGood ? 'ok' : 'dead'}`}>
        <Icon name={isGood ? 'check' : 'warning'} size={14} />
        {words}
      </p>
      <p class="muted">
        The longest outage after which 99 % of the jobs have a run left
        {without === outageSurvivedMs ? '.' : `; ${spanText(without)} without jitter.`}
      </p>
    </div>
  )
}

/** The verdict for this scenario. Jobs that survive the outage may still die in the overload after it. */
function verdictOf({ outageSurvivedMs, dead }: SimulatedHerd, outageMs: number): { isGood: boolean; words: string } {
  const down = spanText(outageMs)
  if (outageMs > outageSurvivedMs)
    return { isGood: false, words: `The outage of ${down} is longer than the policy survives.` }
  const held = outageMs === 0 ? 'Nothing is down' : `The policy survives the outage of ${down}`
  if (dead === 0) return { isGood: true, words: outageMs === 0 ? `${held}, and all jobs succeed.` : `${held}.` }
  return {
    isGood: false,
    words: `${held}, but ${plural(dead, 'job')} ${dead === 1 ? 'dies' : 'die'} in the overload after it.`,
  }
}

interface Figure {
  readonly label: string
  readonly of: (herd: SimulatedHerd, result: TrialResult) => string
  readonly isBad?: (herd: SimulatedHerd, result: TrialResult) => boolean
  /** Shown only with limits. */
  readonly isOfLimits?: true
}

const FIGURES: readonly Figure[] = [
  {
    label: 'Peak after recovery',
    of: ({ peakPerSecond }) => `${count(peakPerSecond)}/s`,
    isBad: ({ peakPerSecond }, { scenario }) =>
      peakPerSecond > 2 * (scenario.capacityPerSecond ?? Number.POSITIVE_INFINITY),
  },
  { label: 'Dead', of: ({ dead }) => count(dead), isBad: ({ dead }) => dead > 0 },
  { label: 'Attempts per job', of: ({ amplification }) => `${Math.round(amplification * 10) / 10} ×` },
  { label: 'Time until all done', of: ({ doneMs }) => spanText(doneMs) },
  { label: 'Longest wait for a limit', of: ({ longestWaitMs }) => spanText(longestWaitMs), isOfLimits: true },
]

function Figures({ results, names }: ResultsProps) {
  const first = results[0]!
  const second = results[1]
  const columns: readonly (readonly [string, SimulatedHerd, TrialResult])[] = second
    ? [
        [names[0]!, first.withJitter, first],
        [names[1]!, second.withJitter, second],
      ]
    : [
        ['with jitter', first.withJitter, first],
        ['without', first.withoutJitter, first],
      ]
  return (
    <dl class="figures" aria-label="Results">
      {FIGURES.filter(({ isOfLimits }) => !isOfLimits || first.scenario.limit || first.scenario.partitions).map(
        ({ label, of, isBad }) => (
          <div key={label}>
            <dt>{label}</dt>
            {columns.map(([name, herd, result], i) => (
              <dd key={name} class={i === 0 ? 'figure-main' : 'figure-other'}>
                <span class={isBad?.(herd, result) ? 'dead' : undefined}>{of(herd, result)}</span>
                {(i > 0 || second) && <span class="muted"> {name}</span>}
              </dd>
            ))}
          </div>
        ),
      )}
    </dl>
  )
}

function Findings({ findings }: { readonly findings: TrialResult['findings'] }) {
  if (findings.length === 0) return <p class="finding ok">No problems found.</p>
  return (
    <ul class="findings" aria-label={`${plural(findings.length, 'remark')} on the policy`}>
      {findings.map(({ code, severity, message }) => (
        <li key={code} class={`finding ${severity === 'warning' ? 'retry' : 'muted'}`}>
          <Icon name={severity === 'warning' ? 'warning' : 'info'} size={14} />
          <span>
            {message} <code>{code}</code>
          </span>
        </li>
      ))}
    </ul>
  )
}

function PolicyCode({ policy, scenario }: { readonly policy: Policy; readonly scenario: Scenario }) {
  return (
    <div class="simulator-more">
      <CodeSample
        label="Policy as code"
        sample={codeOf(policy, scenario)}
        note={<span class="muted clip policy-line">{policyWords(policy)}</span>}
      />
    </div>
  )
}

function codeOf(policy: Policy, given: Scenario) {
  const { jobs, within, outage, capacityPerSecond: capacity, takes, limit, partitions } = given
  const flags = flagsOf({
    jobs,
    within,
    outage,
    capacity,
    takes,
    limit: limit && pairs(limit),
    partitions: partitions && pairs(partitions),
  })
  return {
    ts: `const chronos = createChronos({ retry: ${asLiteral(policy)} })`,
    json: JSON.stringify(policy, null, 2),
    cli: `chronos policy simulate ${word(policy)} \\\n  ${flags.join(' ')}`,
  }
}

/** `rate=20/s,concurrency=10` */
const pairs = (settings: object): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
