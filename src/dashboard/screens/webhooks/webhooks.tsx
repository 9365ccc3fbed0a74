import { useSignal } from '@preact/signals'
import { shownUrl } from '../../../core/http/shown-url.js'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { RunStrip } from '../../charts/run-strip.js'
import * as api from '../../data/api.js'
import { asCurl } from '../../data/copy.js'
import { plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge, Tags } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { go, pageOf, segment } from '../../shell/router.js'
import { stripOf } from '../schedules/schedule-runs.js'
import { WebhookActions } from './webhook-actions.js'
import { WebhookEditor } from './webhook-editor.js'
import { WebhookSecret } from './webhook-secret.js'
import './webhook.css'

/** Each row requests its last deliveries, so pages are small. */
const LIMIT = 25
const STRIP_MAX = 20

export default function Webhooks() {
  const webhooks = usePage('webhooks', api.webhooks.list, { limit: LIMIT, topics: ['webhooks'], everyMs: 10_000 })
  const isMaking = useSignal(false)
  const made = useSignal<(EndpointView & { readonly secret?: string }) | undefined>(undefined)
  const make = may('admin') && (
    <Button text="Create webhook" tone="primary" icon="plus" onPress={() => (isMaking.value = true)} />
  )
  return (
    <>
      <PageHead title="Webhooks" sub="Endpoints that receive signed events, with retries" actions={make} />
      <List
        query={webhooks}
        label="Webhooks"
        columns={columns(webhooks.refetch)}
        href={({ id }) => pageOf('webhooks', id)}
        size={({ data }) => plural(data.length, 'webhook')}
        lines={6}
        empty={<NoWebhooks />}
      />
      {isMaking.value && (
        <WebhookEditor
          onClose={() => (isMaking.value = false)}
          after={webhook => {
            made.value = webhook
            webhooks.refetch()
          }}
        />
      )}
      {made.value?.secret !== undefined && (
        <WebhookSecret
          title="Secret"
          secret={made.value.secret}
          onClose={() => {
            const { id } = made.value!
            made.value = undefined
            go(`/webhooks/${segment(id)}`)
          }}
        />
      )}
    </>
  )
}

function columns(after: () => void): readonly Column<EndpointView>[] {
  return [
    { title: 'Endpoint', width: 'grow', phone: 'head', render: webhook => <Where webhook={webhook} /> },
    { title: 'State', render: webhook => <WebhookState webhook={webhook} /> },
    { title: 'Last deliveries', render: webhook => <LastDeliveries webhook={webhook} /> },
    {
      title: 'Secret',
      phone: 'hide',
      render: ({ secrets }) => (
        <span class="nowrap">
          <Time at={secrets[0]?.createdAt} />
          {secrets.length > 1 && <span class="muted"> · {secrets.length} sign</span>}
        </span>
      ),
    },
    actionColumn(webhook => <WebhookActions webhook={webhook} after={after} />),
  ]
}

const EVENTS_SHOWN = 4

function Where({ webhook }: { readonly webhook: EndpointView }) {
  const { id, url, events, queues = [], names = [], tenantId } = webhook
  const narrowed = [...queues.map(queue => `queue ${queue}`), ...names]
  return (
    <span class="webhook-where">
      <Link to={pageOf('webhooks', id)} look="strong clip" text={shownUrl(url).replace(/^https:\/\//, '')} />
      <span class="row wrap tight">
        <Tags names={events} max={EVENTS_SHOWN} wrap />
        {narrowed.length > 0 && <span class="muted">· only {narrowed.join(', ')}</span>}
        {tenantId !== undefined && <span class="muted">· tenant {tenantId}</span>}
      </span>
    </span>
  )
}

/** The state of an endpoint, in one word for every screen. */
export function WebhookBadge({ webhook: { state, disabledReason, failingSince } }: WebhookStateProps) {
  if (state === 'disabled') return <StateMark state="disabled" reason={disabledReason?.replace('-', ' ')} as="badge" />
  if (failingSince === undefined) return <StateMark state="enabled" as="badge" />
  return (
    <Badge hue="retry" icon="warning" tip="All deliveries have failed since then">
      Failing for <Elapsed since={failingSince} />
    </Badge>
  )
}

interface WebhookStateProps {
  readonly webhook: EndpointView
}

/** The state of an endpoint, and since when it is disabled. */
export function WebhookState({ webhook }: WebhookStateProps) {
  return (
    <span class="webhook-state">
      <span>
        <WebhookBadge webhook={webhook} />
      </span>
      {webhook.state === 'disabled' && (
        <span class="muted">
          <Time at={webhook.disabledAt} />
        </span>
      )}
    </span>
  )
}

function LastDeliveries({ webhook: { id, url } }: { readonly webhook: EndpointView }) {
  const jobs = useQuery(`last deliveries ${id}`, signal => api.webhooks.deliveries(id, { limit: STRIP_MAX }, signal), {
    everyMs: 15_000,
  })
  if (!jobs.data) return null
  const runs = stripOf(jobs.data.data)
  return (
    <span class="webhook-last">
      {runs.length === 0 ? (
        <span class="muted">none yet</span>
      ) : (
        <RunStrip label={`Last deliveries to ${shownUrl(url)}`} runs={runs} max={runs.length} />
      )}
    </span>
  )
}

const EXAMPLE = { url: 'https://shop.example/hooks', events: ['job.dead', 'alert.firing'] }

function NoWebhooks() {
  return (
    <div class="stack">
      <Empty icon="webhooks" title="No webhooks">
        A webhook endpoint receives a signed request when a job dies, an alert fires or a circuit opens. Failed
        deliveries are retried and can be recovered later.
      </Empty>
      <Panel title="Example">
        <CodeSample
          label="Webhook as code"
          sample={{
            curl: asCurl('POST', '/webhooks', EXAMPLE),
            ts: `const { secret } = await chronos.webhooks.create({
  url: 'https://shop.example/hooks',
  events: ['job.dead', 'alert.firing'],
})`,
            cli: 'chronos webhooks create https://shop.example/hooks --event job.dead --event alert.firing',
          }}
        />
      </Panel>
    </div>
  )
}
