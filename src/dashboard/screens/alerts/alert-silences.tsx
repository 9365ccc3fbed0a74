import { useSignal } from '@preact/signals'
import type { Labels } from '../../../core/alert/alert.js'
import type { RuleName } from '../../../core/alert/rules.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import type { QueryState } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer, Empty } from '../../parts/empty.js'
import { DurationInput, Field, Input, Segmented, Select } from '../../parts/form/field.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { type Column, Table } from '../../parts/list/table.js'
import { Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { placeOf, RULES } from './alert-words.js'
import './alert.css'

type Silences = QueryState<{ readonly data: readonly SilenceView[] }>

/** The active silences. */
export function AlertSilences({ silences }: { readonly silences: Silences }) {
  return (
    <Answer query={silences} lines={4}>
      {({ data }) => (
        <Panel flush>
          {data.length === 0 ? (
            <Empty icon="alerts" title="No silences">
              A silence stops the notifications of some alerts for a while. The alerts themselves stay visible.
            </Empty>
          ) : (
            <Table
              label="Silences"
              columns={columns(silences.refetch)}
              rows={data}
              rowKey={({ id }) => id}
              stale={silences.problem !== undefined}
            />
          )}
        </Panel>
      )}
    </Answer>
  )
}

function columns(after: () => void): readonly Column<SilenceView>[] {
  return [
    {
      key: 'what',
      title: 'Alerts',
      width: 'grow',
      phone: 'head',
      render: ({ rule, labels }) => (
        <span class="row wrap tight">
          <span class="strong">{rule ?? 'All rules'}</span>
          {Object.entries(labels).map(([label, value]) => (
            <Tag key={label} href={placeOf(label, value)}>{`${label}: ${value}`}</Tag>
          ))}
        </span>
      ),
    },
    {
      key: 'why',
      title: 'Comment',
      render: ({ comment }) => <span class="alert-why">{comment ?? <span class="muted">none</span>}</span>,
    },
    { key: 'made', title: 'Created', render: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'until',
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
    {
      key: 'end',
      title: <span class="off-screen">Actions</span>,
      render: silence =>
        may('operator') &&
        Date.parse(silence.until) > now.value && (
          <Button size="sm" onPress={() => void end(silence, after)}>
            End
          </Button>
        ),
    },
  ]
}

/** Needs no confirmation, because it can be undone. */
function end({ id, rule, labels, comment, until }: SilenceView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.alerts.unsilence(id),
    done: 'Removed silence',
    undo: () =>
      api.alerts.silence({
        ...(rule !== undefined && { rule }),
        labels,
        until,
        ...(comment !== undefined && { comment }),
      }),
    after,
  })
}

/** The initial values: the rule and labels of an alert, or nothing. */
export interface SilenceStart {
  readonly rule?: RuleName
  readonly labels?: Labels
}

interface SilenceDialogProps {
  readonly start: SilenceStart
  readonly onClose: () => void
  readonly onDone: () => void
}

const SPANS = ['30m', '2h', '8h', '1d', '7d'] as const

export function SilenceDialog({ start, onClose, onDone }: SilenceDialogProps) {
  const rule = useSignal<RuleName | ''>(start.rule ?? '')
  const labels = useSignal(
    Object.entries(start.labels ?? {})
      .map(([label, value]) => `${label}=${value}`)
      .join(', '),
  )
  const lasts = useSignal<string>('2h')
  const comment = useSignal('')
  const isBusy = useSignal(false)
  const found = labelsOf(labels.value)
  const ms = parseDuration(lasts.value.trim())
  const isAll = rule.value === '' && found !== undefined && Object.keys(found).length === 0
  const canSave = found !== undefined && ms !== undefined && ms >= 1_000
  const save = async (): Promise<void> => {
    if (!canSave) return
    isBusy.value = true
    await act({
      run: () =>
        api.alerts.silence({
          ...(rule.value !== '' && { rule: rule.value }),
          labels: found,
          for: lasts.value.trim() as Duration,
          ...(comment.value.trim() !== '' && { comment: comment.value.trim() }),
        }),
      done: `Created silence for ${lasts.value}`,
      undo: ({ id }) => api.alerts.unsilence(id),
      after: onDone,
    })
    isBusy.value = false
  }
  return (
    <Dialog
      title="New silence"
      onClose={onClose}
      foot={
        <>
          <Button tone="quiet" onPress={onClose}>
            Cancel
          </Button>
          <Button tone="primary" disabled={!canSave} busy={isBusy.value} onPress={() => void save()}>
            Silence
          </Button>
        </>
      }
    >
      <form
        class="stack loose"
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <p class="ink-2">
          {isAll
            ? 'No alert sends notifications during this time.'
            : 'These alerts send no notifications during this time. They stay visible here.'}
        </p>
        <div class="fields">
          <Field label="Rule">
            <Select
              value={rule.value}
              options={[
                { value: '', text: 'All rules' },
                ...(Object.keys(RULES) as RuleName[]).map(name => ({ value: name, text: name })),
              ]}
              onChange={next => {
                rule.value = next
              }}
            />
          </Field>
          <Field
            label="Labels"
            hint="Such as queue=mail, separated by commas"
            problem={found ? undefined : 'Use label=value, separated by commas'}
          >
            <Input value={labels} mono placeholder="queue=reports" />
          </Field>
        </div>
        <div class="stack tight">
          <Field label="Duration" problem={ms === undefined ? 'Such as 30m, 2h or 7d' : undefined}>
            <DurationInput value={lasts} />
          </Field>
          <Segmented
            label="Common durations"
            value={lasts.value as (typeof SPANS)[number]}
            options={SPANS}
            onChange={next => {
              lasts.value = next
            }}
          />
        </div>
        <Field label="Comment" hint="Why the alerts are silenced">
          <Input value={comment} placeholder="Migration of the mail server" autoFocus />
        </Field>
      </form>
    </Dialog>
  )
}

function labelsOf(text: string): Labels | undefined {
  const pairs = text.split(',').flatMap(pair => pair.trim() || [])
  const found = pairs.map(pair => /^([^=\s]+)\s*[=:]\s*(.+)$/.exec(pair))
  return found.every(pair => pair !== null)
    ? Object.fromEntries(found.map(pair => [pair![1]!, pair![2]!.trim()]))
    : undefined
}
