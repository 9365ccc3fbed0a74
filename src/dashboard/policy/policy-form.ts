import { type Backoff, type Jitter, mergePolicies, type Policy, parsePolicy } from '../../core/policy/policy.js'
import { isPresetName, PRESETS, type PresetName } from '../../core/policy/presets.js'
import { type Duration, durationText, toMs } from '../../core/values/duration.js'

export const STRATEGIES = ['exponential', 'linear', 'fixed', 'fibonacci', 'list'] as const
export type Strategy = (typeof STRATEGIES)[number]

/** A policy as text fields, as a person writes it; the same names as in the URL and on the command line. */
export interface PolicyForm {
  readonly strategy: Strategy
  readonly base: string
  readonly factor: string
  readonly increment: string
  readonly delays: string
  readonly cap: string
  readonly retries: string
  readonly jitter: string
  readonly elapsed: string
}

export type PolicyField = keyof PolicyForm

const FIELDS: readonly PolicyField[] = [
  'strategy',
  'base',
  'factor',
  'increment',
  'delays',
  'cap',
  'retries',
  'jitter',
  'elapsed',
]

/** Which of the fields a strategy has. */
const OWN: Readonly<Record<Strategy, readonly PolicyField[]>> = {
  exponential: ['base', 'factor'],
  linear: ['base', 'increment'],
  fixed: ['base'],
  fibonacci: ['base'],
  list: ['delays'],
}

export function hasField(strategy: Strategy, field: PolicyField): boolean {
  return OWN[strategy].includes(field)
}

const EMPTY: PolicyForm = {
  strategy: 'exponential',
  base: '60s',
  factor: '2',
  increment: '',
  delays: '30s, 60s, 120s',
  cap: '',
  retries: '3',
  jitter: 'none',
  elapsed: '',
}

export function formOf({ backoff, cap, maxRetries, jitter, maxElapsed }: Policy): PolicyForm {
  return {
    ...EMPTY,
    ...backoffFields(backoff),
    cap: cap === undefined ? '' : text(cap),
    retries: String(maxRetries),
    jitter: typeof jitter === 'number' ? `${Math.round(jitter * 1_000) / 10}%` : jitter,
    elapsed: maxElapsed === undefined ? '' : text(maxElapsed),
  }
}

function backoffFields(backoff: Backoff): Partial<PolicyForm> {
  switch (backoff.type) {
    case 'exponential':
      return { strategy: backoff.type, base: text(backoff.base), factor: String(backoff.factor ?? 2) }
    case 'linear':
      return { strategy: backoff.type, base: text(backoff.base), increment: text(backoff.increment ?? backoff.base) }
    case 'fixed':
      return { strategy: backoff.type, base: text(backoff.delay) }
    case 'fibonacci':
      return { strategy: backoff.type, base: text(backoff.base) }
    case 'list':
      return { strategy: backoff.type, delays: backoff.delays.map(text).join(', ') }
    // Only workers know what it does: there is nothing to fill in.
    case 'custom':
      return {}
  }
}

const text = (duration: Duration): string => String(typeof duration === 'number' ? durationText(duration) : duration)

/** The policy that the fields mean. Throws what core says of it, in a sentence for the person who wrote it. */
export function policyOf(form: PolicyForm): Policy {
  const { cap, elapsed } = form
  return mergePolicies(
    parsePolicy(
      {
        maxRetries: number(form.retries),
        backoff: backoffOf(form),
        jitter: jitterOf(form.jitter),
        ...(cap.trim() !== '' && { cap: cap.trim() }),
        ...(elapsed.trim() !== '' && { maxElapsed: elapsed.trim() }),
      },
      'policy',
    ),
    // What the form leaves open is left open, and not filled from the standard policy.
    ...(cap.trim() === '' ? [{ cap: '1d' as Duration }] : []),
  )
}

function backoffOf(form: PolicyForm): unknown {
  const base = form.base.trim()
  switch (form.strategy) {
    case 'exponential':
      return { type: 'exponential', base, factor: number(form.factor) }
    case 'linear':
      return { type: 'linear', base, ...(form.increment.trim() !== '' && { increment: form.increment.trim() }) }
    case 'fixed':
      return { type: 'fixed', delay: base }
    case 'fibonacci':
      return { type: 'fibonacci', base }
    case 'list': {
      const delays = form.delays.split(/[\s,]+/).filter(delay => delay !== '')
      const isLonger = number(form.retries) > delays.length
      return { type: 'list', delays, ...(isLonger && { afterEnd: 'repeat-last' }) }
    }
  }
}

/** `20%` or `0.2` is ±20 %. */
function jitterOf(written: string): Jitter | string {
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(written.trim())
  if (percent) return Number(percent[1]) / 100
  return written.trim() !== '' && !Number.isNaN(Number(written)) ? Number(written) : written.trim()
}

/** What is no number stays what it is, for core to say so. */
function number(written: string): number {
  return written.trim() === '' ? Number.NaN : Number(written)
}

/** A choice in the URL: a preset, and what was changed of it. */
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

/** Only what differs from the preset: short links are shared more. `undefined` takes a part of the query away. */
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

/** Milliseconds of what a person wrote, or undefined. */
export function msOf(written: string): number | undefined {
  try {
    return toMs(written.trim(), 'duration')
  } catch {
    return undefined
  }
}
