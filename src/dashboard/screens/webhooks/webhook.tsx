import { shownUrl } from '../../../core/http/shown-url.js'
import { limitWords } from '../../../core/partition/words.js'
import { mergePolicies } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { present } from '../../../core/values/present.js'
import { endpointKey } from '../../../core/webhook/delivery.js'
import { ENDPOINT_CONCURRENCY, type EndpointView, FAILING_MAX_MS } from '../../../core/webhook/webhook.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { age, count, percent } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import type { ScreenProps } from '../../lazy.js'
import { Tags } from '../../parts/badge.js'
import { CopyableId } from '../../parts/copyable.js'
import { Detail, Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { List, usePage } from '../../parts/list/list.js'
import { StateLinks } from '../../parts/list/state-links.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { Elapsed, Time } from '../../parts/time.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, pageOf, query } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { DELIVERY_COLUMNS } from './delivery-columns.js'
import { WebhookActions } from './webhook-actions.js'
import { DISABLED_WHY } from './webhook-events.js'
import { VerifySample } from './webhook-secret.js'
import { WebhookBadge } from './webhooks.js'
import '../jobs/jobs.css'
import './webhook.css'

/** One webhook endpoint: state, deliveries and configuration. */
export default function Webhook({ params }: ScreenProps) {
  const id = params['id']!
  useTitle('Webhook')
  const found = useQuery(`webhook ${id}`, signal => api.webhooks.get(id, signal), {
    topics: ['webhooks'],
    everyMs: 10_000,
  })
  return (
    <Detail
      query={found}
      icon="webhooks"
      missing="Webhook not found"
      why="The webhook was deleted, or the address is mistyped."
      list={{ href: href('/webhooks'), text: 'All webhooks' }}
    >
      {data => <Found webhook={data} after={found.refetch} />}
    </Detail>
  )
}

function Found({ webhook, after }: { readonly webhook: EndpointView; readonly after: () => void }) {
  const { url } = webhook
  return (
    <>
      <PageHead
        up={{ href: href('/webhooks'), text: 'Webhooks' }}
        title={
          <>
            <span class="webhook-title">{shownUrl(url)}</span>
            <WebhookBadge webhook={webhook} />
          </>
        }
        actions={<WebhookActions webhook={webhook} after={after} isOnPage />}
      />
      <div class="stack">
        <Trouble webhook={webhook} />
        <Numbers webhook={webhook} />
        <div class="columns main-aside">
          <Deliveries id={webhook.id} />
          <div class="stack">
            <About webhook={webhook} />
            <Panel title="Signature verification">
              <VerifySample />
            </Panel>
          </div>
        </div>
      </div>
    </>
  )
}

function Trouble({ webhook: { state, disabledReason, disabledAt, failingSince } }: { readonly webhook: EndpointView }) {
  if (state === 'disabled') {
    return (
      <p class="notice dead">
        <Icon name="warning" />
        <span class="grow">
          {disabledReason && DISABLED_WHY[disabledReason]} Disabled <Time at={disabledAt} />; events are not stored for
          it while it is disabled.
        </span>
      </p>
    )
  }
  if (failingSince === undefined) return null
  const goneMs = now.value - Date.parse(failingSince)
  return (
    <p class="notice retry">
      <Icon name="warning" />
      <span class="grow">
        All deliveries have failed for <Elapsed since={failingSince} />. The endpoint is disabled in{' '}
        {age(FAILING_MAX_MS - goneMs)} unless a delivery succeeds.
      </span>
    </p>
  )
}

function Numbers({ webhook: { id } }: { readonly webhook: EndpointView }) {
  const counts = useQuery(
    `webhook counts ${id}`,
    async signal => {
      const of = async (state: string) =>
        (await api.jobs.list({ dependency: endpointKey(id), state, limit: 1 }, signal)).count
      return { done: await of('succeeded'), waiting: await of('waiting'), dead: await of('dead') }
    },
    { topics: ['webhooks'], everyMs: 15_000 },
  )
  const { done, waiting, dead } = counts.data ?? {}
  const ended = (done?.value ?? 0) + (dead?.value ?? 0)
  const to = (state: string): string => href('/jobs', { dependency: endpointKey(id), state })
  return (
    <Tiles stale={counts.problem !== undefined}>
      <Tile
        label="Delivered"
        value={done ? count(done) : '–'}
        note={done && (ended === 0 ? 'no deliveries yet' : `${percent(done.value / ended)} of finished deliveries`)}
        href={to('succeeded')}
      />
      <Tile label="Pending" value={waiting ? count(waiting) : '–'} note="including retries" href={to('waiting')} />
      <Tile
        label="Failed"
        value={dead ? count(dead) : '–'}
        hue={dead && dead.value > 0 ? 'dead' : undefined}
        note="can be recovered"
        href={to('dead')}
      />
    </Tiles>
  )
}

const STATES = [
  ['All', undefined],
  ['Waiting', 'waiting'],
  ['Delivered', 'succeeded'],
  ['Failed', 'dead'],
] as const

const LIMIT = 25

function Deliveries({ id }: { readonly id: string }) {
  const { state } = query.value
  const jobs = usePage(
    `deliveries ${id} ${state ?? ''}`,
    (page, signal) => api.webhooks.deliveries(id, { ...page, state }, signal),
    { limit: LIMIT, topics: ['webhooks', 'jobs'], everyMs: 10_000 },
  )
  return (
    <div>
      <StateLinks label="Delivery states" states={STATES} />
      <List
        query={jobs}
        title="Deliveries"
        label="Deliveries"
        columns={DELIVERY_COLUMNS}
        href={job => pageOf('jobs', job.id)}
        size={({ data }) => `${count(data.length)} shown`}
        empty={
          <Panel>
            <Empty icon="webhooks" title={state === undefined ? 'No deliveries yet' : 'No matching deliveries'}>
              {state === undefined && 'Send test delivery to check the endpoint.'}
            </Empty>
          </Panel>
        }
      />
    </div>
  )
}

function About({ webhook }: { readonly webhook: EndpointView }) {
  const { id, events, queues, names, tenantId, retry, concurrency, rate, secrets, createdAt, updatedAt } = webhook
  const [newest, ...older] = secrets
  return (
    <Panel title="Configuration">
      <Facts
        facts={[
          ['Events', <Tags names={events} wrap />],
          ['Queues', queues?.join(', ')],
          ['Job names', names?.join(', ')],
          ['Tenant', tenantId],
          ['Retries', policyWords(retry ? mergePolicies(retry, PRESETS.webhook) : PRESETS.webhook)],
          ['Limit', limitWords(present({ concurrency: concurrency ?? ENDPOINT_CONCURRENCY, rate }))],
          [
            'Secret',
            <>
              made <Time at={newest?.createdAt} />
              {older.map(({ createdAt: made, expiresAt }) => (
                <span key={made} class="webhook-old muted">
                  the one before signs too, until <Time at={expiresAt} />
                </span>
              ))}
            </>,
          ],
          ['Created', <Time at={createdAt} />],
          ['Changed', <Time at={updatedAt} />],
          ['Id', <CopyableId id={id} what="Webhook id" />],
        ]}
      />
    </Panel>
  )
}
