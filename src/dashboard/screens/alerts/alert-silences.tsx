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
import { Dialog } from '../../parts/dialog.js'
import { Answer, Empty } from '../../parts/empty.js'
import { DurationInput, Field, Input, Segmented, Select } from '../../parts/field.js'
import { Panel } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { placeOf, RULES } from './alert-words.js'
import './alert.css'

type Silences = QueryState<{ readonly data: readonly SilenceView[] }>

/** What nobody is told of, and until when. */
export function AlertSilences({ silences }: { readonly silences: Silences }) {
  return (
    <Answer query={silences} lines={4}>
      {({ data }) => (
        <Panel flush>
          {data.length === 0 ? (
            <Empty icon="alerts" title="Nothing is silenced">
              A silence keeps people from being told of some alerts for a while. The alerts go on as they would.
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
      title: 'Of what',
      width: 'grow',
      phone: 'head',
      render: ({ rule, labels }) => (
        <span class="row wrap tight">
          <span class="strong">{rule ?? 'every rule'}</span>
          {Object.entries(labels).map(([label, value]) => (
            <Tag key={label} href={placeOf(label, value)}>{`${label}: ${value}`}</Tag>
          ))}
        </span>
      ),
    },
    {
      key: 'why',
      title: 'Why',
      render: ({ comment }) => <span class="alert-why">{comment ?? <span class="muted">not said</span>}</span>,
    },
    { key: 'made', title: 'Made', render: ({ createdAt }) => <Time at={createdAt} /> },
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

/** It can be made again as it was, so nobody is asked. */
function end({ id, rule, labels, comment, until }: SilenceView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.alerts.unsilence(id),
    done: 'Ended: people are told again',
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

/** What a silence begins with: an alert's rule and labels, or nothing. */
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
      done: `Silenced for ${lasts.value}`,
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
            Not now
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
            ? 'Nobody is told of any alert at all for this time.'
            : 'Nobody is told of these alerts for this time. They go on as they would, and are seen here.'}
        </p>
        <div class="fields">
          <Field label="Rule">
            <Select
              value={rule.value}
              options={[
                { value: '', text: 'Every rule' },
                ...(Object.keys(RULES) as RuleName[]).map(name => ({ value: name, text: name })),
              ]}
              onChange={next => {
                rule.value = next
              }}
            />
          </Field>
          <Field
            label="Only with labels"
            hint="queue=mail; with commas between them"
            problem={found ? undefined : 'label=value, with commas between them'}
          >
            <Input value={labels} mono placeholder="queue=reports" />
          </Field>
        </div>
        <div class="stack tight">
          <Field label="For how long" problem={ms === undefined ? 'Such as 30m, 2h or 7d' : undefined}>
            <DurationInput value={lasts} />
          </Field>
          <Segmented
            label="Usual spans"
            value={lasts.value as (typeof SPANS)[number]}
            options={SPANS}
            onChange={next => {
              lasts.value = next
            }}
          />
        </div>
        <Field label="Why" hint="For whoever wonders why it is quiet">
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
