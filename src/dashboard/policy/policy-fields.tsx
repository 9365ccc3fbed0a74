import { useId, useState } from 'preact/hooks'
import { FLAT_FIELDS, type FlatField, fieldsOf } from '../../core/policy/flat.js'
import { CRASHES } from '../../core/policy/form.js'
import { PRESETS, type PresetName } from '../../core/policy/presets.js'
import { DELAY_STEPS, FACTOR_STEPS, nearestStep, OUTAGE_STEPS, RETRY_STEPS } from '../charts/steps.js'
import { Field, Select } from '../parts/form/field.js'
import { choiceOf, isChanged, type PolicyChoice, STRATEGIES } from './policy-form.js'

interface StepFieldProps {
  readonly label: string
  readonly value: string
  readonly steps: readonly string[]
  readonly onChange: (value: string) => void
  /** The placeholder: the meaning of an empty field. */
  readonly empty?: string | undefined
  readonly hint?: string | undefined
}

/** A text input with a slider over round values. */
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
  equal: 'equal: at least half',
  full: 'full: from 0',
  decorrelated: 'decorrelated',
}

const STEPS: Readonly<Record<string, readonly string[]>> = {
  factor: FACTOR_STEPS,
  retries: RETRY_STEPS,
  maxElapsed: OUTAGE_STEPS.slice(1),
}

interface PolicyFieldsProps {
  /** Distinguishes two policies: `Policy A`. */
  readonly title: string
  readonly choice: PolicyChoice
  readonly onChange: (choice: PolicyChoice) => void
}

/** The form of a policy: a preset, and every field of the policy's schema that can be entered. */
export function PolicyFields({ title, choice, onChange }: PolicyFieldsProps) {
  const { form, preset } = choice
  const [isOpen, setIsOpen] = useState(form['maxElapsed'] !== '')
  const set = (field: string) => (value: string) => onChange({ ...choice, form: { ...form, [field]: value } })
  const settings = FLAT_FIELDS.filter(({ setting, name }) => setting && (name !== 'maxElapsed' || isOpen))
  return (
    <fieldset class="policy-fields">
      <legend>{title}</legend>
      <Field label="Preset">
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
      {[...fieldsOf(form.strategy), ...settings].map(field => (
        <PolicyField
          key={field.name}
          title={title}
          field={field}
          value={form[field.name] ?? ''}
          onChange={set(field.name)}
        />
      ))}
      {!isOpen && (
        <button type="button" class="more-button" onClick={() => setIsOpen(true)}>
          Limit the total time
        </button>
      )}
    </fieldset>
  )
}

interface PolicyFieldProps {
  readonly title: string
  readonly field: FlatField
  readonly value: string
  readonly onChange: (value: string) => void
}

/** One setting, with the label and hint of its schema. */
function PolicyField({ title, field: { name, schema }, value, onChange }: PolicyFieldProps) {
  const { label = name, hint, placeholder } = schema.about
  if (name === 'jitter') {
    const jitters = JITTERS.some(each => each === value) ? JITTERS : [value, ...JITTERS]
    return (
      <Field label={label}>
        <Select
          value={value}
          options={jitters.map(each => ({ value: each, text: JITTER_WORDS[each] ?? `±${each}` }))}
          onChange={onChange}
        />
      </Field>
    )
  }
  if (name === 'crashes') {
    // An empty field is the default.
    const change = (crashes: string): void => onChange(crashes === placeholder ? '' : crashes)
    return (
      <Field label={label} hint={hint}>
        <Select value={value === '' ? 'count' : value} options={CRASHES} onChange={change} />
      </Field>
    )
  }
  if (name === 'delays') {
    return (
      <div class="step-field is-wide">
        <label for={`${title}-delays`}>{label}</label>
        <input
          id={`${title}-delays`}
          class="input mono"
          value={value}
          spellcheck={false}
          onInput={event => onChange(event.currentTarget.value)}
        />
      </div>
    )
  }
  const steps = STEPS[name] ?? DELAY_STEPS
  return <StepField label={label} value={value} steps={steps} onChange={onChange} empty={placeholder} hint={hint} />
}
