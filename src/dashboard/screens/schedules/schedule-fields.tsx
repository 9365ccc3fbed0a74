import type { Signal } from '@preact/signals'
import { now } from '../../data/clock.js'
import { isTenant } from '../../data/session.js'
import { Segmented, Toggle } from '../../parts/form/field.js'
import { type Draft, Fields, TypedField, type Wrong } from '../../parts/form/form.js'
import { Panel } from '../../parts/panel.js'
import { CallFields } from '../jobs/call-fields.js'
import { policiesFor } from '../jobs/new-job-draft.js'
import { cronWords } from './cron-words.js'
import type { ScheduleDraft, ScheduleValues } from './schedule-draft.js'
import { MISSED, OVERLAPS } from './schedule-words.js'

interface FormProps {
  readonly draft: Draft<ScheduleValues>
  readonly wrong: Wrong
}

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]

const TIMINGS = [
  { value: 'cron', text: 'Cron expression' },
  { value: 'every', text: 'Interval' },
] as const

const ID = { name: 'id', label: 'Id', hint: 'Can’t be changed later', placeholder: 'weekly-digest' } as const
const EVERY = {
  name: 'every',
  label: 'Every',
  hint: 'Counted from its creation or start; at least 1s',
  placeholder: '15m',
  kind: 'duration',
} as const

export function WhenFields({ isNew, ...form }: FormProps & { readonly isNew: boolean }) {
  const { when, cron, timeZone, isOnce } = form.draft
  const hint = cronWords(cron.value) ?? 'minute hour day month weekday; optionally seconds first'
  return (
    <Panel title="Timing">
      <div class="stack">
        {isNew && <TypedField {...form} {...ID} kind="code" autoFocus />}
        <Segmented label="Kind of timing" value={when} options={TIMINGS} />
        <Fields
          {...form}
          fields={[
            when.value === 'cron'
              ? { name: 'cron', label: 'Cron', hint, placeholder: '0 9 * * MON', kind: 'code' }
              : EVERY,
            {
              name: 'timeZone',
              label: 'Time zone',
              hint: clockIn(timeZone.value),
              placeholder: 'UTC',
              list: 'time-zones',
            },
          ]}
        />
        <datalist id="time-zones">
          {ZONES.map(zone => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        <Fields
          {...form}
          fields={[
            { name: 'startAt', label: 'Start', hint: 'Local time; empty: immediately', kind: 'time' },
            { name: 'endAt', label: 'End', hint: 'Local time; empty: never', kind: 'time' },
            {
              name: 'splay',
              label: 'Splay',
              hint: 'Delays each job by up to this time',
              placeholder: 'none',
              kind: 'duration',
            },
          ]}
        />
        <Toggle value={isOnce} label="Run once, then end" />
      </div>
    </Panel>
  )
}

/** The current time in a zone, as a quick check. */
function clockIn(timeZone: string): string {
  try {
    const zone = timeZone.trim() || 'UTC'
    return `Current time ${new Date(now.value).toLocaleTimeString('en-GB', { timeZone: zone })}`
  } catch {
    return 'Such as Europe/Paris'
  }
}

export function WhatFields({ from, ...form }: FormProps & Pick<ScheduleDraft, 'from'>) {
  return (
    <Panel title="Job">
      <div class="stack">
        <CallFields {...form} />
        <Fields
          {...form}
          fields={[
            { name: 'queue', label: 'Queue', placeholder: 'default' },
            { name: 'priority', label: 'Priority', hint: '9 first, 0 last', kind: 'number', min: 0, max: 9 },
            { name: 'retry', label: 'Retries', options: policiesFor(from?.retry) },
            { name: 'timeout', label: 'Timeout', hint: 'Per attempt', placeholder: 'none', kind: 'duration' },
            { name: 'tags', label: 'Tags', hint: 'Separated by commas' },
            !isTenant.value && { name: 'tenantId', label: 'Tenant', hint: 'The owner of the jobs' },
          ]}
        />
      </div>
    </Panel>
  )
}

export function RuleFields(form: FormProps) {
  const { overlap, missed } = form.draft
  return (
    <Panel title="Overlapping and missed runs">
      <div class="stack">
        <Rule title="Overlap" value={overlap} choices={OVERLAPS} />
        <Rule title="Missed runs" value={missed} choices={MISSED} />
        {missed.value === 'all' && (
          <Fields {...form} fields={[{ name: 'missedMax', label: 'Maximum', kind: 'number', min: 1, max: 100 }]} />
        )}
      </div>
    </Panel>
  )
}

interface RuleProps<T extends string> {
  readonly title: string
  readonly value: Signal<T>
  readonly choices: readonly { readonly value: T; readonly text: string; readonly means: string }[]
}

/** A choice with its meaning below. */
function Rule<T extends string>({ title, value, choices }: RuleProps<T>) {
  return (
    <div class="stack tight">
      <span class="ink-2 strong">{title}</span>
      <Segmented label={title} value={value} options={choices} />
      <span class="muted">{choices.find(choice => choice.value === value.value)?.means}</span>
    </div>
  )
}
