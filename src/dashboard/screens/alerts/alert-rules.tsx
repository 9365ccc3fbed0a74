import { useSignal } from '@preact/signals'
import type { RuleSettings, RuleView } from '../../../core/alert/rules.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { duration } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer } from '../../parts/empty.js'
import { DurationInput, Field, Input, Toggle } from '../../parts/form/field.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { type Column, Table } from '../../parts/list/table.js'
import { Panel } from '../../parts/panel.js'
import { isFlag, RULES, thresholdText, type Unit, unitOf } from './alert-words.js'
import './alert.css'

/** The alert rules of all processes. */
export function AlertRules() {
  const rules = useQuery('alert rules', api.alerts.rules, { topics: ['alerts'] })
  const edited = useSignal<RuleView | undefined>(undefined)
  return (
    <>
      <Answer query={rules} lines={9}>
        {({ data }) => (
          <Panel flush>
            <Table
              label="Alert rules"
              columns={columns(rule => (edited.value = rule), rules.refetch)}
              rows={data}
              rowKey={({ name }) => name}
              stale={rules.problem !== undefined}
            />
          </Panel>
        )}
      </Answer>
      {edited.value && (
        <RuleDialog
          rule={edited.value}
          onClose={() => (edited.value = undefined)}
          onDone={() => {
            edited.value = undefined
            rules.refetch()
          }}
        />
      )}
    </>
  )
}

const span = (value: Duration): string => {
  const ms = typeof value === 'number' ? value : parseDuration(value)
  return ms === 0 ? 'immediately' : duration(ms)
}

function columns(onEdit: (rule: RuleView) => void, after: () => void): readonly Column<RuleView>[] {
  const threshold = (rule: RuleView, key: 'fire' | 'clear' | 'critical'): string =>
    thresholdText(rule[key], unitOf(rule))
  return [
    {
      key: 'name',
      title: 'Rule',
      width: 'grow',
      phone: 'head',
      render: ({ name, window }) => (
        <span class="alert-rule">
          <span class="strong">{name}</span>
          <span class="muted">
            {RULES[name]}
            {window !== undefined && `, over ${span(window)}`}
          </span>
        </span>
      ),
    },
    {
      key: 'on',
      title: 'State',
      render: ({ enabled }) => <Badge hue={enabled ? 'ok' : 'off'}>{enabled ? 'on' : 'off'}</Badge>,
    },
    {
      key: 'fire',
      title: 'Fires above',
      align: 'end',
      render: rule => (isFlag(rule.name) ? '–' : threshold(rule, 'fire')),
    },
    {
      key: 'clear',
      title: 'Resolves at',
      align: 'end',
      render: rule => (isFlag(rule.name) ? '–' : threshold(rule, 'clear')),
    },
    {
      key: 'critical',
      title: 'Critical above',
      align: 'end',
      render: rule => (isFlag(rule.name) && rule.critical === 0 ? 'always' : threshold(rule, 'critical')),
    },
    { key: 'for', title: 'Pending for', align: 'end', render: rule => span(rule.for) },
    {
      key: 'repeat',
      title: 'Repeated',
      align: 'end',
      phone: 'hide',
      render: ({ repeat }) => (repeat === 'doubled' ? 'when doubled' : `after ${span(repeat)}`),
    },
    ...(may('admin')
      ? [
          {
            key: 'edit',
            title: <span class="off-screen">Actions</span>,
            render: (rule: RuleView) => (
              <span class="alert-rule-actions row tight">
                <Button size="sm" onPress={() => void turn(rule, after)}>
                  {rule.enabled ? 'Turn off' : 'Turn on'}
                </Button>
                <Button size="sm" icon="edit" onPress={() => onEdit(rule)}>
                  Edit
                </Button>
              </span>
            ),
          },
        ]
      : []),
  ]
}

/** Needs no confirmation, because it can be undone. */
function turn({ name, enabled }: RuleView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.alerts.setRules({ [name]: { enabled: !enabled } }),
    done: `Turned ${enabled ? 'off' : 'on'} rule ${name}`,
    undo: () => api.alerts.setRules({ [name]: { enabled } }),
    after,
  })
}

interface RuleDialogProps {
  readonly rule: RuleView
  readonly onClose: () => void
  readonly onDone: () => void
}

const HINTS: Readonly<Record<Unit, string>> = { duration: 'such as 5m', share: 'percent', count: 'a number' }

function RuleDialog({ rule, onClose, onDone }: RuleDialogProps) {
  const unit = unitOf(rule)
  const fire = useSignal(typed(rule.fire, unit))
  const clear = useSignal(typed(rule.clear, unit))
  const critical = useSignal(typed(rule.critical, unit))
  const lasts = useSignal(String(rule.for))
  const keep = useSignal(String(rule.keep))
  const enabled = useSignal(rule.enabled)
  const settings: RuleSettings = {
    enabled: enabled.value,
    ...read('fire', fire.value, unit),
    ...read('clear', clear.value, unit),
    ...read('critical', critical.value, unit),
    for: lasts.value.trim() as Duration,
    keep: keep.value.trim() as Duration,
  }
  const isDuration = (text: string): boolean => parseDuration(text.trim()) !== undefined
  const wrong = {
    fire: settings.fire === undefined ? HINTS[unit] : undefined,
    clear:
      settings.clear === undefined
        ? HINTS[unit]
        : isAbove(settings.clear, settings.fire)
          ? 'must not exceed the firing threshold'
          : undefined,
    critical: critical.value.trim() !== '' && settings.critical === undefined ? HINTS[unit] : undefined,
    for: isDuration(lasts.value) ? undefined : 'such as 5m',
    keep: isDuration(keep.value) ? undefined : 'such as 5m',
  }
  const isRight = Object.values(wrong).every(problem => problem === undefined)
  const save = (change: RuleSettings | null): Promise<unknown> =>
    act({
      run: () => api.alerts.setRules({ [rule.name]: change }),
      done: change ? `Changed rule ${rule.name}` : `Removed the override of rule ${rule.name}`,
      after: onDone,
    })
  return (
    <Dialog
      title={rule.name}
      onClose={onClose}
      foot={
        <>
          <Button tone="quiet" tip="Use the settings of the code again" onPress={() => void save(null)}>
            Remove override
          </Button>
          <Button onPress={onClose}>Cancel</Button>
          <Button tone="primary" disabled={!isRight} onPress={() => void save(settings)}>
            Save
          </Button>
        </>
      }
    >
      <div class="stack loose">
        <p class="ink-2">{RULES[rule.name]}.</p>
        <div class="fields">
          {!isFlag(rule.name) && (
            <>
              <Field label="Fires above" hint={HINTS[unit]} problem={wrong.fire}>
                <Input value={fire} mono autoFocus />
              </Field>
              <Field label="Resolves at or below" hint="A lower value avoids flapping" problem={wrong.clear}>
                <Input value={clear} mono />
              </Field>
            </>
          )}
          <Field label="Critical above" hint="Empty: unchanged" problem={wrong.critical}>
            <Input value={critical} mono placeholder="never" />
          </Field>
          <Field label="Pending for" problem={wrong.for}>
            <DurationInput value={lasts} />
          </Field>
          <Field label="Resolves after" hint="Time below the threshold" problem={wrong.keep}>
            <DurationInput value={keep} />
          </Field>
        </div>
        <Toggle
          on={enabled.value}
          onChange={on => {
            enabled.value = on
          }}
          label="Enabled"
        />
      </div>
    </Dialog>
  )
}

/** Shares are entered in percent. */
function typed(value: number | Duration | undefined, unit: Unit): string {
  if (value === undefined) return ''
  return unit === 'share' ? String(Math.round(Number(value) * 1_000) / 10) : String(value)
}

function read<Key extends string>(key: Key, text: string, unit: Unit): { readonly [K in Key]?: number | Duration } {
  const value = text.trim()
  if (value === '') return {}
  if (unit === 'duration')
    return parseDuration(value) === undefined ? {} : ({ [key]: value } as { [K in Key]: Duration })
  const number = Number(value)
  if (!Number.isFinite(number) || number < 0) return {}
  return { [key]: unit === 'share' ? number / 100 : number } as { [K in Key]: number }
}

function isAbove(clear: number | Duration, fire: number | Duration | undefined): boolean {
  const size = (value: number | Duration): number => (typeof value === 'number' ? value : (parseDuration(value) ?? 0))
  return fire !== undefined && size(clear) > size(fire)
}
