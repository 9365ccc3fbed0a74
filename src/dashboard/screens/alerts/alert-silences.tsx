import type { Labels } from '../../../core/alert/alert.js'
import { silenceForm } from '../../../core/alert/form.js'
import type { RuleName } from '../../../core/alert/rules.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import { present } from '../../../core/values/present.js'
import { oneOf } from '../../../core/values/schema.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { type QueryState, useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Empty } from '../../parts/empty.js'
import { Editor } from '../../parts/form/editor.js'
import { Segmented } from '../../parts/form/field.js'
import { Fields, listOf, TypedField, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
import { List } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { Time } from '../../parts/time.js'
import { LabelTags } from './alert-words.js'
import './alert.css'

type Silences = QueryState<{ readonly data: readonly SilenceView[] }>

export function AlertSilences({ silences }: { readonly silences: Silences }) {
  return (
    <List
      query={silences}
      label="Silences"
      columns={columns(silences.refetch)}
      lines={4}
      empty={
        <Empty icon="alerts" title="No silences">
          A silence stops the notifications of some alerts for a while. The alerts themselves stay visible.
        </Empty>
      }
    />
  )
}

function columns(after: () => void): readonly Column<SilenceView>[] {
  return [
    {
      title: 'Alerts',
      width: 'grow',
      phone: 'head',
      render: ({ rule, labels }) => (
        <span class="row wrap tight">
          <span class="strong">{rule ?? 'All rules'}</span>
          <LabelTags labels={labels} />
        </span>
      ),
    },
    {
      title: 'Comment',
      render: ({ comment }) => <span class="alert-why">{comment ?? <span class="muted">none</span>}</span>,
    },
    { title: 'Created', render: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: 'Ends',
      render: ({ until }) =>
        Date.parse(until) > now.value ? (
          <Time at={until} />
        ) : (
          <span class="muted">
            over <Time at={until} />
          </span>
        ),
    },
    actionColumn(
      silence =>
        may('operator') &&
        Date.parse(silence.until) > now.value && (
          <Button text="End silence" size="sm" onPress={() => void end(silence, after)} />
        ),
      'show',
    ),
  ]
}

/** Needs no confirmation, because it can be undone. */
function end({ id, rule, labels, comment, until }: SilenceView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.alerts.unsilence(id),
    done: 'Removed silence',
    undo: () => api.alerts.silence(present({ rule, labels, until, comment })),
    after,
  })
}

/** The initial values: the rule and labels of an alert, or nothing. */
export interface SilenceStart {
  readonly rule?: RuleName
  readonly labels?: Labels
}

interface SilenceEditorProps {
  readonly start: SilenceStart
  readonly after: () => void
  readonly onClose: () => void
}

const SPANS: readonly string[] = ['30m', '2h', '8h', '1d', '7d']

export function SilenceEditor({ start, after, onClose }: SilenceEditorProps) {
  const draft = useDraft({
    rule: start.rule ?? '',
    labels: Object.entries(start.labels ?? {})
      .map(([label, value]) => `${label}=${value}`)
      .join(', '),
    for: '2h',
    comment: '',
  })
  const rules = useQuery('alert rules', api.alerts.rules, { topics: ['alerts'] })
  const names = rules.data?.data.map(({ name }) => name) ?? (start.rule === undefined ? [] : [start.rule])
  const labels = labelsOf(draft.labels.value)
  const isAll = draft.rule.value === '' && labels !== undefined && Object.keys(labels).length === 0
  const form = formOf(silenceForm(oneOf(names)), draft, present({ labels }))
  const wrong = labels ? form.wrong : { ...form.wrong, labels: 'Use label=value, separated by commas' }
  return (
    <Editor
      title="New silence"
      verb="Create silence"
      onClose={onClose}
      isReady={form.isReady}
      onSave={() =>
        act({
          run: () => api.alerts.silence(form.body),
          done: `Created silence for ${draft.for.value}`,
          undo: ({ id }) => api.alerts.unsilence(id),
          after,
        })
      }
    >
      <p class="ink-2">
        {isAll
          ? 'No alert sends notifications during this time.'
          : 'These alerts send no notifications during this time. They stay visible here.'}
      </p>
      <Fields
        {...form}
        wrong={wrong}
        fields={[
          { name: 'rule', options: [{ value: '', text: 'All rules' }, ...names] },
          { name: 'labels', kind: 'code' },
        ]}
      />
      <div class="stack tight">
        <TypedField {...form} name="for" hint={undefined} />
        <Segmented label="Common durations" value={draft.for} options={SPANS} />
      </div>
      <TypedField {...form} name="comment" autoFocus />
    </Editor>
  )
}

function labelsOf(text: string): Labels | undefined {
  const found = listOf(text).map(pair => /^([^=\s]+)\s*[=:]\s*(.+)$/.exec(pair))
  return found.every(pair => pair !== null)
    ? Object.fromEntries(found.map(pair => [pair![1]!, pair![2]!.trim()]))
    : undefined
}
