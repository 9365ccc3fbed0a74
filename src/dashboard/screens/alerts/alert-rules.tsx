import { type Signal, useSignal } from '@preact/signals'
import { type RuleSettings, ruleForm } from '../../../core/alert/form.js'
import type { RuleView } from '../../../core/alert/settings.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { duration } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Editor } from '../../parts/form/editor.js'
import { Toggle } from '../../parts/form/field.js'
import { Fields, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
import { List } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { thresholdText } from './alert-words.js'
import './alert.css'

export function AlertRules() {
  const rules = useQuery('alert rules', api.alerts.rules, { topics: ['alerts'] })
  const edited = useSignal<RuleView | undefined>(undefined)
  return (
    <>
      <List
        query={rules}
        label="Alert rules"
        columns={columns(rule => (edited.value = rule), rules.refetch)}
        rowKey={({ name }) => name}
        lines={9}
      />
      {edited.value && (
        <RuleEditor rule={edited.value} after={rules.refetch} onClose={() => (edited.value = undefined)} />
      )}
    </>
  )
}

const span = (value: Duration): string => {
  const ms = typeof value === 'number' ? value : parseDuration(value)
  return ms === 0 ? 'immediately' : duration(ms)
}

function columns(onEdit: (rule: RuleView) => void, after: () => void): readonly Column<RuleView>[] {
  const threshold = (rule: RuleView, key: 'fire' | 'clear' | 'critical'): string => thresholdText(rule[key], rule.unit)
  return [
    {
      title: 'Rule',
      width: 'grow',
      phone: 'head',
      render: ({ name, about, window }) => (
        <span class="alert-rule">
          <span class="strong">{name}</span>
          <span class="muted">
            {about}
            {window !== undefined && `, over ${span(window)}`}
          </span>
        </span>
      ),
    },
    { title: 'State', render: ({ enabled }) => <Badge hue={enabled ? 'ok' : 'off'}>{enabled ? 'on' : 'off'}</Badge> },
    { title: 'Fires above', align: 'end', render: rule => (rule.unit === 'flag' ? '–' : threshold(rule, 'fire')) },
    { title: 'Resolves at', align: 'end', render: rule => (rule.unit === 'flag' ? '–' : threshold(rule, 'clear')) },
    {
      title: 'Critical above',
      align: 'end',
      render: rule => (rule.unit === 'flag' && rule.critical === 0 ? 'always' : threshold(rule, 'critical')),
    },
    { title: 'Pending for', align: 'end', render: rule => span(rule.for) },
    {
      title: 'Repeated',
      align: 'end',
      phone: 'hide',
      render: ({ repeat }) => (repeat === 'doubled' ? 'when doubled' : `after ${span(repeat)}`),
    },
    ...(may('admin')
      ? [actionColumn((rule: RuleView) => <Actions rule={rule} onEdit={onEdit} after={after} />, 'show')]
      : []),
  ]
}

interface ActionsProps {
  readonly rule: RuleView
  readonly onEdit: (rule: RuleView) => void
  readonly after: () => void
}

function Actions({ rule, onEdit, after }: ActionsProps) {
  return (
    <span class="alert-rule-actions row tight">
      <Button text={rule.enabled ? 'Turn off' : 'Turn on'} size="sm" onPress={() => void turn(rule, after)} />
      <Button text="Edit" size="sm" icon="edit" onPress={() => onEdit(rule)} />
    </span>
  )
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

interface RuleEditorProps {
  readonly rule: RuleView
  readonly after: () => void
  readonly onClose: () => void
}

function RuleEditor({ rule, after, onClose }: RuleEditorProps) {
  const { name, about, details, unit } = rule
  const draft = useDraft({
    enabled: rule.enabled,
    fire: typed(rule.fire, unit),
    clear: typed(rule.clear, unit),
    critical: typed(rule.critical, unit),
    for: String(rule.for),
    keep: String(rule.keep),
    window: String(rule.window ?? ''),
    minRetries: String(rule.minRetries ?? ''),
  })
  const { fire, clear, critical } = draft
  const shares = unit === 'share' ? present({ fire: share(fire), clear: share(clear), critical: share(critical) }) : {}
  const percent = unit === 'share' ? ({ hint: 'percent', kind: 'text' } as const) : {}
  const form = formOf(ruleForm(rule), draft, shares)
  const isClear = !isAbove(form.body.clear, form.body.fire)
  const wrong = isClear ? form.wrong : { ...form.wrong, clear: 'Must not exceed the firing threshold' }
  const save = (settings: RuleSettings | null, done: string): Promise<unknown> =>
    act({ run: () => api.alerts.setRules({ [name]: settings }), done, after })
  return (
    <Editor
      title={name}
      onClose={onClose}
      verb="Save"
      isReady={form.isReady && isClear}
      onSave={() => save(form.body, `Changed rule ${name}`)}
      more={
        <Button
          text="Remove override"
          tone="quiet"
          tip="Use the settings of the code again"
          onPress={() => void save(null, `Removed the override of rule ${name}`).then(saved => saved && onClose())}
        />
      }
    >
      <p class="ink-2">
        {about}. {details}
      </p>
      <Fields
        {...form}
        wrong={wrong}
        fields={[
          unit !== 'flag' && { name: 'fire', ...percent, autoFocus: true },
          unit !== 'flag' && { name: 'clear', ...percent },
          { name: 'critical', ...percent },
          'for',
          'keep',
          rule.window !== undefined && 'window',
          rule.minRetries !== undefined && 'minRetries',
        ]}
      />
      <Toggle value={draft.enabled} label="Enabled" />
    </Editor>
  )
}

/** Shares are entered in percent. */
function typed(value: number | Duration | undefined, unit: RuleView['unit']): string {
  if (value === undefined) return ''
  return unit === 'share' ? String(Math.round(Number(value) * 1_000) / 10) : String(value)
}

function share({ value }: Signal<string>): number | string | undefined {
  const text = value.trim()
  if (text === '') return undefined
  return Number.isFinite(Number(text)) ? Number(text) / 100 : text
}

function isAbove(clear: number | Duration | undefined, fire: number | Duration | undefined): boolean {
  const size = (value: number | Duration): number => (typeof value === 'number' ? value : (parseDuration(value) ?? 0))
  return clear !== undefined && fire !== undefined && size(clear) > size(fire)
}
