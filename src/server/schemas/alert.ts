import { RULE_NAMES, type RuleName } from '../../core/alert/rules.js'
import { count, duration, text, time } from './words.js'
import { z } from './zod.js'

const VALUE_MAX = 1_000_000_000
const LABELS_MAX = 10

const rule = z.enum(RULE_NAMES as [RuleName, ...RuleName[]])
const labels = z.record(z.string(), z.string())
const alertState = z.enum(['pending', 'firing', 'resolved'])

export const alertQuery = z.strictObject({ state: alertState.optional() })

export const alertSchema = z
  .object({
    id: z.string(),
    rule,
    labels,
    state: alertState.openapi({ description: 'resolved: it fired within the last day, and is over.' }),
    severity: z.enum(['warning', 'critical']),
    value: z.number(),
    summary: z.string(),
    since: time,
    firedAt: time.optional(),
    resolvedAt: time.optional(),
    notifiedAt: time.optional().openapi({ description: 'When people were last told; absent while it is silenced.' }),
  })
  .openapi('Alert')

const threshold = z
  .union([z.number().min(0).max(VALUE_MAX), z.string().min(1).max(40)])
  .openapi({ description: 'A duration for rules of latency, a share for `retry-rate`, else a number.' })

const settings = {
  enabled: z.boolean(),
  fire: threshold.openapi({ description: 'Above this it begins …' }),
  clear: threshold.openapi({ description: '… and at or below this it may end.' }),
  critical: threshold,
  for: duration.openapi({ description: 'How long it must be true.' }),
  keep: duration.openapi({ description: 'How long it must not be true any more.' }),
  repeat: z.union([z.literal('doubled'), duration]).openapi({ description: 'When people are told again.' }),
  window: duration,
  minVolume: count.max(VALUE_MAX),
  minRetries: count.max(VALUE_MAX),
}

export const ruleSchema = z
  .object({ name: rule, ...settings })
  .partial({ critical: true, window: true, minVolume: true, minRetries: true })
  .openapi('AlertRule')

const change = z.union([z.strictObject(settings).partial(), z.literal(false), z.null()]).openapi('AlertRuleSettings', {
  description: 'What is left out stays as it is; false turns the rule off, null takes away what was set.',
})

export const ruleChanges = z
  .strictObject(Object.fromEntries(RULE_NAMES.map(name => [name, change.optional()])))
  .openapi('AlertRuleChanges', { example: { 'dead-letters': { fire: 5 }, 'no-workers': false } })

export const newSilence = z
  .strictObject({
    rule: rule.optional().openapi({ description: 'Default: every rule.' }),
    labels: z
      .record(z.string().min(1).max(64), text)
      .refine(given => Object.keys(given).length <= LABELS_MAX, `at most ${LABELS_MAX} labels`)
      .optional()
      .openapi({ description: 'Those that an alert must have; it may have others.' }),
    for: duration.optional(),
    until: time.optional(),
    comment: text.optional(),
  })
  .openapi('NewSilence', { example: { rule: 'queue-latency', labels: { queue: 'reports' }, for: '2h' } })

export const silenceSchema = z
  .object({
    id: z.string(),
    rule: rule.optional(),
    labels,
    comment: z.string().optional(),
    createdAt: time,
    until: time,
  })
  .openapi('Silence')

export const testRequest = z
  .strictObject({ channel: text.optional().openapi({ description: 'Default: every channel.' }) })
  .openapi('AlertTest')
