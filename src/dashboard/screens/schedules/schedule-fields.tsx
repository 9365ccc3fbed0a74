import type { Signal } from '@preact/signals'
import { now } from '../../data/clock.js'
import { isTenant } from '../../data/session.js'
import { Segmented, Toggle } from '../../parts/form/field.js'
import { Fields, TypedField } from '../../parts/form/form.js'
import type { Draft, Wrong } from '../../parts/form/typed.js'
import { Panel } from '../../parts/panel.js'
import { CallFields } from '../jobs/call-fields.js'
import { policiesFor } from '../jobs/new-job-draft.js'
import { cronWords } from './cron-words.js'
import { SCHEDULE_FIELDS, type ScheduleDraft, type ScheduleValues } from './schedule-draft.js'
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

export function WhenFields({ isNew, ...props }: FormProps & { readonly isNew: boolean }) {
  const form = { ...props, of: SCHEDULE_FIELDS }
  const { when, cron, timeZone, isOnce } = form.draft
  const hint = cronWords(cron.value) ?? 'minute hour day month weekday; optionally seconds first'
  return (
    <Panel title="Timing">
      <div class="stack">
        {isNew && <TypedField {...form} name="id" kind="code" autoFocus />}
        <Segmented label="Kind of timing" value={when} options={TIMINGS} />
        <Fields
          {...form}
          fields={[
            when.value === 'cron' ? { name: 'cron', hint, kind: 'code' } : 'every',
            { name: 'timeZone', hint: clockIn(timeZone.value), list: 'time-zones' },
          ]}
        />
        <datalist id="time-zones">
          {ZONES.map(zone => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        <Fields {...form} fields={['startAt', 'endAt', 'splay']} />
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
          of={SCHEDULE_FIELDS}
          fields={[
            'queue',
            'priority',
            { name: 'retry', options: policiesFor(from?.retry) },
            'timeout',
            'tags',
            !isTenant.value && 'tenantId',
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
        <Rule title={SCHEDULE_FIELDS.overlap.about.label!} value={overlap} choices={OVERLAPS} />
        <Rule title={SCHEDULE_FIELDS.missed.about.label!} value={missed} choices={MISSED} />
        {missed.value === 'all' && <Fields {...form} of={SCHEDULE_FIELDS} fields={['missedMax']} />}
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
