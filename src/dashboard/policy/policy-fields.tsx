import { useId, useState } from 'preact/hooks'
import { PRESETS, type PresetName } from '../../core/policy/presets.js'
import { DELAY_STEPS, FACTOR_STEPS, nearestStep, OUTAGE_STEPS, RETRY_STEPS } from '../charts/steps.js'
import { Field, Select } from '../parts/field.js'
import { choiceOf, hasField, isChanged, type PolicyChoice, type PolicyField, STRATEGIES } from './policy-form.js'

interface StepFieldProps {
  readonly label: string
  readonly value: string
  readonly steps: readonly string[]
  readonly onChange: (value: string) => void
  /** What an empty field means. */
  readonly empty?: string
  readonly hint?: string
}

/** A value to write, with a slider over round ones. */
export function StepField({ label, value, steps, onChange, empty, hint }: StepFieldProps) {
  const id = useId()
  const at = nearestStep(steps, value)
  return (
    <div class="step-field" data-tip={hint}>
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input mono"
        value={value}
        placeholder={empty}
        spellcheck={false}
        autoComplete="off"
        onInput={event => onChange(event.currentTarget.value)}
      />
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={at}
        aria-label={`${label}, slider`}
        aria-valuetext={value === '' ? (empty ?? 'none') : value}
        onInput={event => onChange(steps[Number(event.currentTarget.value)] ?? value)}
      />
    </div>
  )
}

const JITTERS = ['none', '10%', '20%', 'equal', 'full', 'decorrelated'] as const
const JITTER_WORDS: Readonly<Record<string, string>> = {
  none: 'none',
  '10%': '±10 %',
  '20%': '±20 %',
  equal: 'equal: half is sure',
  full: 'full: from 0',
  decorrelated: 'decorrelated',
}

interface PolicyFieldsProps {
  /** What tells two of them apart: `Policy A`. */
  readonly title: string
  readonly choice: PolicyChoice
  readonly onChange: (choice: PolicyChoice) => void
}

/** A policy as a form: a preset to begin with, and everything that can be changed of it. */
export function PolicyFields({ title, choice, onChange }: PolicyFieldsProps) {
  const { form, preset } = choice
  const [isOpen, setIsOpen] = useState(form.elapsed !== '')
  const set = (field: PolicyField) => (value: string) => onChange({ ...choice, form: { ...form, [field]: value } })
  const jitters = JITTERS.some(each => each === form.jitter) ? JITTERS : [form.jitter, ...JITTERS]
  return (
    <fieldset class="policy-fields">
      <legend>{title}</legend>
      <Field label="Begin with">
        <Select
          value={preset}
          options={Object.keys(PRESETS).map(name => ({
            value: name as PresetName,
            text: name === preset && isChanged(choice) ? `${name}, changed` : name,
          }))}
          onChange={name => onChange(choiceOf(name))}
        />
      </Field>
      <Field label="Backoff">
        <Select value={form.strategy} options={STRATEGIES} onChange={set('strategy')} />
      </Field>
      <BackoffFields title={title} choice={choice} set={set} />
      <StepField
        label="Cap"
        value={form.cap}
        steps={DELAY_STEPS}
        onChange={set('cap')}
        empty="1d"
        hint="No wait is longer"
      />
      <StepField label="Retries" value={form.retries} steps={RETRY_STEPS} onChange={set('retries')} />
      <Field label="Jitter">
        <Select
          value={form.jitter}
          options={jitters.map(each => ({ value: each, text: JITTER_WORDS[each] ?? `±${each}` }))}
          onChange={set('jitter')}
        />
      </Field>
      {isOpen ? (
        <StepField
          label="Max elapsed"
          value={form.elapsed}
          steps={OUTAGE_STEPS.slice(1)}
          onChange={set('elapsed')}
          empty="no limit"
          hint="No retry starts later than this after the first run"
        />
      ) : (
        <button type="button" class="more-button" onClick={() => setIsOpen(true)}>
          Limit the time in all
        </button>
      )}
    </fieldset>
  )
}

interface BackoffFieldsProps extends Pick<PolicyFieldsProps, 'title' | 'choice'> {
  readonly set: (field: PolicyField) => (value: string) => void
}

/** Only what the chosen backoff has. */
function BackoffFields({ title, choice: { form }, set }: BackoffFieldsProps) {
  const delayLabel = form.strategy === 'fixed' ? 'Delay' : 'First delay'
  return (
    <>
      {hasField(form.strategy, 'base') && (
        <StepField label={delayLabel} value={form.base} steps={DELAY_STEPS} onChange={set('base')} />
      )}
      {hasField(form.strategy, 'factor') && (
        <StepField label="Factor" value={form.factor} steps={FACTOR_STEPS} onChange={set('factor')} />
      )}
      {hasField(form.strategy, 'increment') && (
        <StepField
          label="Increment"
          value={form.increment}
          steps={DELAY_STEPS}
          onChange={set('increment')}
          empty="as the first"
        />
      )}
      {hasField(form.strategy, 'delays') && (
        <div class="step-field is-wide">
          <label for={`${title}-delays`}>Delays</label>
          <input
            id={`${title}-delays`}
            class="input mono"
            value={form.delays}
            spellcheck={false}
            onInput={event => set('delays')(event.currentTarget.value)}
          />
        </div>
      )}
    </>
  )
}
