import { useSignal } from '@preact/signals'
import type { AlertView } from '../../../core/alert/alert.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Only } from '../../parts/list/only.js'
import { PageHead } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Tabs } from '../../parts/tabs.js'
import { Time } from '../../parts/time.js'
import { query } from '../../shell/router.js'
import { AlertRules } from './alert-rules.js'
import { AlertSilences, SilenceEditor, type SilenceStart } from './alert-silences.js'
import { LabelTags, silenceOf, valueText } from './alert-words.js'
import './alert.css'

export default function Alerts() {
  const alerts = useQuery('alerts', signal => api.alerts.list({}, signal), { topics: ['alerts'], everyMs: 5_000 })
  const silences = useQuery('silences', api.alerts.silences, { topics: ['alerts'], everyMs: 15_000 })
  const silencing = useSignal<SilenceStart | undefined>(undefined)
  const inForce = (silences.data?.data ?? []).filter(({ until }) => Date.parse(until) > now.value)
  const firing = (alerts.data?.data ?? []).filter(({ state }) => state === 'firing').length
  return (
    <>
      <PageHead
        title="Alerts"
        actions={
          may('operator') && (
            <>
              <Button
                text="Send test notification"
                icon="alerts"
                tip="To every notification channel of this server"
                onPress={() => void testChannels()}
              />
              <Button text="Create silence" icon="pause" onPress={() => (silencing.value = {})} />
            </>
          )
        }
      />
      <Tabs
        label="Alerts"
        tabs={[
          { id: 'now', text: 'Active', count: firing > 0 ? firing : undefined },
          { id: 'rules', text: 'Rules' },
          { id: 'silences', text: 'Silences', count: inForce.length > 0 ? inForce.length : undefined },
        ]}
      >
        {open =>
          open === 'rules' ? (
            <AlertRules />
          ) : open === 'silences' ? (
            <AlertSilences silences={silences} />
          ) : (
            <Answer query={alerts} lines={5}>
              {({ data }) => <Now alerts={data} silences={inForce} onSilence={alert => (silencing.value = alert)} />}
            </Answer>
          )
        }
      </Tabs>
      {silencing.value && (
        <SilenceEditor start={silencing.value} after={silences.refetch} onClose={() => (silencing.value = undefined)} />
      )}
    </>
  )
}

function testChannels(): Promise<unknown> {
  return act({
    run: api.alerts.test,
    done: ({ channels }) =>
      channels.length === 0
        ? { text: 'No notification channels are configured on this server', tone: 'problem' }
        : `Sent a test notification to ${channels.join(', ')}`,
  })
}

interface NowProps {
  readonly alerts: readonly AlertView[]
  readonly silences: readonly SilenceView[]
  readonly onSilence: (start: SilenceStart) => void
}

function Now({ alerts: all, silences, onSilence }: NowProps) {
  const only = query.value['alert']
  const alerts = only === undefined ? all : all.filter(({ id }) => id === only)
  if (only !== undefined) {
    return (
      <>
        <Only name="alert" all="Show all alerts">
          Only the alert that you opened is shown.
        </Only>
        {alerts.length === 0 ? (
          <Empty icon="alerts" title="This alert is no longer stored">
            An alert is listed for a day after it was resolved.
          </Empty>
        ) : (
          <Cards alerts={alerts} silences={silences} onSilence={onSilence} />
        )}
      </>
    )
  }
  if (alerts.length === 0) {
    return (
      <Empty icon="check" title="No alerts" good>
        No rule has fired within the last day.
      </Empty>
    )
  }
  return <Cards alerts={alerts} silences={silences} onSilence={onSilence} />
}

function Cards({ alerts, silences, onSilence }: NowProps) {
  return (
    <ul class="alert-cards" aria-label="Alerts">
      {alerts.map(alert => (
        <Card
          key={alert.id}
          alert={alert}
          silence={silenceOf(alert, silences, now.value)}
          onSilence={() => onSilence({ rule: alert.rule, labels: alert.labels })}
        />
      ))}
    </ul>
  )
}

interface CardProps {
  readonly alert: AlertView
  readonly silence: SilenceView | undefined
  readonly onSilence: () => void
}

function Card({ alert, silence, onSilence }: CardProps) {
  const { rule, labels, state, severity, summary, since, resolvedAt, notifiedAt } = alert
  const isOver = state === 'resolved'
  return (
    <li class={`alert-card ${isOver ? 'off' : severity === 'critical' ? 'dead' : 'retry'}`}>
      <div class="alert-card-main">
        <p class="row wrap tight">
          <StateMark state={state} as="badge" />
          {severity === 'critical' && (
            <Badge hue={isOver ? 'off' : 'dead'} icon="warning">
              Critical
            </Badge>
          )}
          {silence && (
            <Badge hue="off" icon="pause" tip={silence.comment}>
              Silenced, ends <Time at={silence.until} />
            </Badge>
          )}
        </p>
        <h2>{summary}</h2>
        <p class="row wrap muted alert-facts">
          <span>{rule}</span>
          <LabelTags labels={labels} />
          <span>
            began <Time at={since} />
          </span>
          {isOver ? (
            <span>
              resolved <Time at={resolvedAt} />
            </span>
          ) : (
            <span>
              {notifiedAt === undefined ? 'no notification sent yet' : 'notified '}
              {notifiedAt !== undefined && <Time at={notifiedAt} />}
            </span>
          )}
        </p>
      </div>
      <div class="alert-card-side">
        <span class="alert-value">{valueText(alert)}</span>
        {may('operator') && !isOver && !silence && <Button text="Silence" size="sm" icon="pause" onPress={onSilence} />}
      </div>
    </li>
  )
}
