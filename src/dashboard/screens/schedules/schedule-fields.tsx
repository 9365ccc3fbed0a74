import { now } from '../../data/clock.js'
import { isTenant } from '../../data/session.js'
import { DurationInput, Field, Input, Segmented, Select, Toggle } from '../../parts/form/field.js'
import { Panel } from '../../parts/panel.js'
import { CallFields } from '../jobs/call-fields.js'
import { POLICIES } from '../jobs/new-job-draft.js'
import { cronWords } from './cron-words.js'
import type { ScheduleDraft } from './schedule-draft.js'
import { MISSED, OVERLAPS } from './schedule-words.js'

interface FieldsProps {
  readonly draft: ScheduleDraft
  /** The errors by field. */
  readonly wrong: Readonly<Record<string, string>>
}

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]

export function WhenFields({ draft, wrong, isNew }: FieldsProps & { readonly isNew: boolean }) {
  const { id, when, cron, every, timeZone, startAt, endAt, splay, isOnce } = draft
  return (
    <Panel title="Timing">
      <div class="stack">
        {isNew && (
          <Field label="Id" hint="Can’t be changed later" problem={wrong['id'] || undefined}>
            <Input value={id} mono placeholder="weekly-digest" autoFocus />
          </Field>
        )}
        <Segmented
          label="Kind of timing"
          value={when.value}
          options={[
            { value: 'cron', text: 'Cron expression' },
            { value: 'every', text: 'Interval' },
          ]}
          onChange={next => {
            when.value = next
          }}
        />
        <div class="fields">
          {when.value === 'cron' ? (
            <Field
              label="Cron"
              hint={cronWords(cron.value) ?? 'minute hour day month weekday; optionally seconds first'}
              problem={wrong['cron'] || undefined}
            >
              <Input value={cron} mono placeholder="0 9 * * MON" />
            </Field>
          ) : (
            <Field
              label="Every"
              hint="Counted from its creation or start; at least 1s"
              problem={wrong['every'] || undefined}
            >
              <DurationInput value={every} placeholder="15m" />
            </Field>
          )}
          <Field label="Time zone" hint={clockIn(timeZone.value)} problem={wrong['timeZone']}>
            <Input value={timeZone} list="time-zones" placeholder="UTC" />
          </Field>
        </div>
        <datalist id="time-zones">
          {ZONES.map(zone => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        <div class="fields">
          <Field label="Start" hint="Local time; empty: immediately" problem={wrong['startAt']}>
            <Input value={startAt} type="datetime-local" />
          </Field>
          <Field label="End" hint="Local time; empty: never" problem={wrong['endAt']}>
            <Input value={endAt} type="datetime-local" />
          </Field>
          <Field label="Splay" hint="Delays each job by up to this time" problem={wrong['splay']}>
            <DurationInput value={splay} placeholder="none" />
          </Field>
        </div>
        <Toggle
          on={isOnce.value}
          onChange={on => {
            isOnce.value = on
          }}
          label="Run once, then end"
        />
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

export function WhatFields({ draft, wrong }: FieldsProps) {
  const { queue, priority, policy, timeout, tags, tenantId, from } = draft
  const policies = [...(from?.retry ? [{ value: 'own', text: 'Custom (unchanged)' } as const] : []), ...POLICIES]
  return (
    <Panel title="Job">
      <div class="stack">
        <CallFields draft={draft} wrong={wrong} />
        <div class="fields">
          <Field label="Queue" problem={wrong['queue']}>
            <Input value={queue} placeholder="default" />
          </Field>
          <Field label="Priority" hint="9 first, 0 last" problem={wrong['priority']}>
            <Input value={priority} type="number" min={0} max={9} />
          </Field>
          <Field label="Retries" problem={wrong['policy']}>
            <Select
              value={policy.value}
              options={policies}
              onChange={next => {
                policy.value = next
              }}
            />
          </Field>
          <Field label="Timeout" hint="Per attempt" problem={wrong['timeout']}>
            <DurationInput value={timeout} placeholder="none" />
          </Field>
          <Field label="Tags" hint="Separated by commas" problem={wrong['tags']}>
            <Input value={tags} />
          </Field>
          {!isTenant.value && (
            <Field label="Tenant" hint="The owner of the jobs" problem={wrong['tenantId']}>
              <Input value={tenantId} />
            </Field>
          )}
        </div>
      </div>
    </Panel>
  )
}

export function RuleFields({ draft, wrong }: FieldsProps) {
  const { overlap, missed, missedMax } = draft
  return (
    <Panel title="Overlapping and missed runs">
      <div class="stack">
        <div class="stack tight">
          <span class="ink-2 strong">Overlap</span>
          <Segmented
            label="Overlap"
            value={overlap.value}
            options={OVERLAPS}
            onChange={next => {
              overlap.value = next
            }}
          />
          <span class="muted">{OVERLAPS.find(({ value }) => value === overlap.value)?.means}</span>
        </div>
        <div class="stack tight">
          <span class="ink-2 strong">Missed runs</span>
          <Segmented
            label="Missed runs"
            value={missed.value}
            options={MISSED}
            onChange={next => {
              missed.value = next
            }}
          />
          <span class="muted">{MISSED.find(({ value }) => value === missed.value)?.means}</span>
        </div>
        {missed.value === 'all' && (
          <div class="fields">
            <Field label="Maximum" problem={wrong['missedMax']}>
              <Input value={missedMax} type="number" min={1} max={100} />
            </Field>
          </div>
        )}
      </div>
    </Panel>
  )
}
