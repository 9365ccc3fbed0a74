import { FLAT_FIELDS, fieldsOf, fromFlat, STRATEGIES, type Strategy, toFlat } from '../../core/policy/flat.js'
import { mergePolicies, type Policy, parsePolicy } from '../../core/policy/policy.js'
import { isPresetName, PRESETS, type PresetName } from '../../core/policy/presets.js'
import type { Duration } from '../../core/values/duration.js'

export { STRATEGIES } from '../../core/policy/flat.js'

/** A policy as text fields, with the same names as in the URL and on the command line. */
export type PolicyForm = Readonly<Record<string, string>> & { readonly strategy: Strategy }

const FIELDS: readonly string[] = ['strategy', ...FLAT_FIELDS.map(({ name }) => name)]

/** The initial values of fields that the policy does not have, for when the backoff is changed. */
const DEFAULTS = { base: '60s', factor: '2', delays: '30s, 60s, 120s' }

export function formOf(policy: Policy): PolicyForm {
  const { backoff } = policy
  const flat = toFlat(policy)
  const filled = Object.entries(DEFAULTS).map(([name, text]) => [name, flat[name] || text] as const)
  return {
    ...flat,
    ...Object.fromEntries(filled),
    strategy: backoff.type === 'custom' ? 'exponential' : backoff.type,
  }
}

/** The policy of the fields. Throws the error of core, whose `details.path` names the field. */
export function policyOf(form: PolicyForm): Policy {
  const shown = [...fieldsOf(form.strategy), ...FLAT_FIELDS.filter(({ setting }) => setting)]
  const values = shown.flatMap(({ name, schema }) => {
    const text = (form[name] ?? '').trim()
    // A field with a placeholder may be empty; then the placeholder applies.
    if (text === '' && schema.about.placeholder !== undefined) return []
    return [[name, schema.fromText?.(text) ?? text] as const]
  })
  const given = fromFlat({ ...Object.fromEntries(values), strategy: form.strategy }, { type: 'custom', name: 'none' })
  return mergePolicies(
    parsePolicy(given, 'policy'),
    // An empty cap is not taken from the standard policy.
    ...(given['cap'] === undefined ? [{ cap: '1d' as Duration }] : []),
  )
}

/** A choice in the URL: a preset and the changes to it. */
export interface PolicyChoice {
  readonly preset: PresetName
  readonly form: PolicyForm
}

export function choiceOf(preset: PresetName): PolicyChoice {
  return { preset, form: formOf(PRESETS[preset]) }
}

export function choiceFrom(query: Readonly<Record<string, string>>, prefix = ''): PolicyChoice {
  const named = query[`${prefix}policy`] ?? 'standard'
  const choice = choiceOf(isPresetName(named) ? named : 'standard')
  const given = FIELDS.flatMap(field => {
    const value = query[prefix + field]
    return value === undefined ? [] : [[field, value] as const]
  })
  const form = { ...choice.form, ...Object.fromEntries(given) }
  return {
    ...choice,
    form: STRATEGIES.some(each => each === form.strategy) ? form : { ...form, strategy: 'exponential' },
  }
}

/** Only the differences from the preset, for short links. `undefined` removes a part of the query. */
export function queryOf({ preset, form }: PolicyChoice, prefix = ''): Readonly<Record<string, string | undefined>> {
  const before = formOf(PRESETS[preset])
  const changes = FIELDS.map(
    field => [prefix + field, form[field] === before[field] ? undefined : form[field]] as const,
  )
  return { [`${prefix}policy`]: preset === 'standard' ? undefined : preset, ...Object.fromEntries(changes) }
}

export function isChanged({ preset, form }: PolicyChoice): boolean {
  const before = formOf(PRESETS[preset])
  return FIELDS.some(field => form[field] !== before[field])
}
