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
    state: alertState.openapi({ description: 'resolved: the alert fired and ended within the last day.' }),
    severity: z.enum(['warning', 'critical']),
    value: z.number(),
    summary: z.string(),
    since: time,
    firedAt: time.optional(),
    resolvedAt: time.optional(),
    notifiedAt: time.optional().openapi({ description: 'The last notification; absent while the alert is silenced.' }),
  })
  .openapi('Alert')

const threshold = z
  .union([z.number().min(0).max(VALUE_MAX), z.string().min(1).max(40)])
  .openapi({ description: 'A duration for latency rules, a ratio for `retry-rate`, otherwise a number.' })

const settings = {
  enabled: z.boolean(),
  fire: threshold.openapi({ description: 'The alert fires above this value.' }),
  clear: threshold.openapi({ description: 'The alert may resolve at or below this value.' }),
  critical: threshold,
  for: duration.openapi({ description: 'How long the condition must hold before the alert fires.' }),
  keep: duration.openapi({ description: 'How long the condition must be over before the alert resolves.' }),
  repeat: z.union([z.literal('doubled'), duration]).openapi({ description: 'When the notification is repeated.' }),
  window: duration,
  minVolume: count.max(VALUE_MAX),
  minRetries: count.max(VALUE_MAX),
}

export const ruleSchema = z
  .object({ name: rule, ...settings })
  .partial({ critical: true, window: true, minVolume: true, minRetries: true })
  .openapi('AlertRule')

const change = z.union([z.strictObject(settings).partial(), z.literal(false), z.null()]).openapi('AlertRuleSettings', {
  description: 'Fields that are left out stay unchanged; false disables the rule, null removes the change.',
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
      .openapi({ description: 'The labels that an alert must have; it may have others.' }),
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
