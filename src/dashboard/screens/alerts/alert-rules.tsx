import { useSignal } from '@preact/signals'
import type { RuleSettings, RuleView } from '../../../core/alert/settings.js'
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
import { Fields, textOf, useDraft, wrongOnes } from '../../parts/form/form.js'
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

const HINTS = { duration: 'such as 5m', share: 'percent', count: 'a number', flag: 'a number' } as const
type Unit = keyof typeof HINTS

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
  const [fire, clear, critical] = [draft.fire, draft.clear, draft.critical].map(({ value }) => read(value, unit))
  const lasts = ({ value }: { readonly value: string }): string | undefined =>
    parseDuration(value.trim()) === undefined ? 'such as 5m' : undefined
  const wrong = wrongOnes({
    fire: fire === undefined ? HINTS[unit] : undefined,
    clear:
      clear === undefined ? HINTS[unit] : isAbove(clear, fire) ? 'must not exceed the firing threshold' : undefined,
    critical: draft.critical.value.trim() !== '' && critical === undefined ? HINTS[unit] : undefined,
    for: lasts(draft.for),
    keep: lasts(draft.keep),
    window: rule.window === undefined ? undefined : lasts(draft.window),
    minRetries: /^\d*$/.test(draft.minRetries.value) ? undefined : HINTS.count,
  })
  const save = (settings: RuleSettings | null, done: string): Promise<unknown> =>
    act({ run: () => api.alerts.setRules({ [name]: settings }), done, after })
  return (
    <Editor
      title={name}
      onClose={onClose}
      verb="Save"
      isReady={Object.keys(wrong).length === 0}
      onSave={() =>
        save(
          {
            enabled: draft.enabled.value,
            ...present({
              fire,
              clear,
              critical,
              window: textOf(draft.window) as Duration | undefined,
              minRetries: draft.minRetries.value === '' ? undefined : Number(draft.minRetries.value),
            }),
            for: draft.for.value.trim() as Duration,
            keep: draft.keep.value.trim() as Duration,
          },
          `Changed rule ${name}`,
        )
      }
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
        draft={draft}
        wrong={wrong}
        fields={[
          unit !== 'flag' && { name: 'fire', label: 'Fires above', hint: HINTS[unit], kind: 'code', autoFocus: true },
          unit !== 'flag' && {
            name: 'clear',
            label: 'Resolves at or below',
            hint: 'A lower value avoids flapping',
            kind: 'code',
          },
          { name: 'critical', label: 'Critical above', hint: 'Empty: unchanged', placeholder: 'never', kind: 'code' },
          { name: 'for', label: 'Pending for', kind: 'duration' },
          { name: 'keep', label: 'Resolves after', hint: 'Time below the threshold', kind: 'duration' },
          rule.window !== undefined && { name: 'window', label: 'Window', kind: 'duration' },
          rule.minRetries !== undefined && {
            name: 'minRetries',
            label: 'Minimum retries',
            hint: 'Fewer in the window: no value',
            kind: 'code',
          },
        ]}
      />
      <Toggle value={draft.enabled} label="Enabled" />
    </Editor>
  )
}

/** Shares are entered in percent. */
function typed(value: number | Duration | undefined, unit: Unit): string {
  if (value === undefined) return ''
  return unit === 'share' ? String(Math.round(Number(value) * 1_000) / 10) : String(value)
}

function read(text: string, unit: Unit): number | Duration | undefined {
  const value = text.trim()
  if (value === '') return undefined
  if (unit === 'duration') return parseDuration(value) === undefined ? undefined : (value as Duration)
  const number = Number(value)
  if (!Number.isFinite(number) || number < 0) return undefined
  return unit === 'share' ? number / 100 : number
}

function isAbove(clear: number | Duration, fire: number | Duration | undefined): boolean {
  const size = (value: number | Duration): number => (typeof value === 'number' ? value : (parseDuration(value) ?? 0))
  return fire !== undefined && size(clear) > size(fire)
}
