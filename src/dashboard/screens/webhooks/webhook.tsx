import { mergePolicies } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { type EndpointView, FAILING_MAX_MS } from '../../../core/webhook/webhook.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { age, count, percent } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Tag } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { CopyableId } from '../../parts/copyable.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Pager } from '../../parts/pager.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Table } from '../../parts/table.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { Elapsed, Time } from '../../parts/time.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, query, segment, setQuery } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { jobColumns } from '../jobs/jobs-columns.js'
import { enableWebhook, testWebhook, WebhookMenu } from './webhook-actions.js'
import { VerifySample } from './webhook-secret.js'
import '../jobs/jobs.css'
import './webhook.css'

/** One endpoint: whether it hears, what was sent to it, and what it needs to know. */
export default function Webhook({ params }: ScreenProps) {
  const id = params['id']!
  useTitle('Webhook')
  const found = useQuery(`webhook ${id}`, signal => api.webhooks.get(id, signal), {
    topics: ['webhooks'],
    everyMs: 10_000,
  })
  if (found.problem?.status === 404) {
    return (
      <Empty
        icon="webhooks"
        title="There is no such webhook"
        actions={<Button href={href('/webhooks')}>All webhooks</Button>}
      >
        It was deleted, or the address is mistyped.
      </Empty>
    )
  }
  return (
    <Answer query={found} lines={10}>
      {data => <Found webhook={data} after={found.refetch} />}
    </Answer>
  )
}

interface OfWebhook {
  readonly webhook: EndpointView
  readonly after: () => void
}

function Found({ webhook, after }: OfWebhook) {
  const { url, state } = webhook
  return (
    <>
      <PageHead
        up={{ href: href('/webhooks'), text: 'Webhooks' }}
        title={
          <>
            <span class="webhook-title">{url}</span>
            <StateMark state={state} reason={webhook.disabledReason?.replace('-', ' ')} as="badge" />
          </>
        }
        actions={
          may('operator') && (
            <>
              {state === 'disabled' && (
                <Button icon="play" tone="primary" onPress={() => void enableWebhook(webhook, after)}>
                  Enable
                </Button>
              )}
              <Button icon="play" onPress={() => void testWebhook(webhook, after)}>
                Send a test
              </Button>
              <WebhookMenu webhook={webhook} after={after} isOnPage />
            </>
          )
        }
      />
      <div class="stack">
        <Trouble webhook={webhook} />
        <Numbers webhook={webhook} />
        <div class="columns main-aside">
          <Deliveries id={webhook.id} />
          <div class="stack">
            <About webhook={webhook} />
            <Panel title="How to verify a signature">
              <VerifySample />
            </Panel>
          </div>
        </div>
      </div>
    </>
  )
}

const WHY: Readonly<Record<NonNullable<EndpointView['disabledReason']>, string>> = {
  gone: 'It answered 410: it wants no more.',
  failing: 'Nothing got through for five days.',
  'by-hand': 'Somebody disabled it.',
}

function Trouble({ webhook: { state, disabledReason, disabledAt, failingSince } }: { readonly webhook: EndpointView }) {
  if (state === 'disabled') {
    return (
      <p class="notice dead">
        <Icon name="warning" />
        <span class="grow">
          {disabledReason && WHY[disabledReason]} It is told nothing since <Time at={disabledAt} />; what happens
          meanwhile is not kept for it.
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
        Nothing has got through for <Elapsed since={failingSince} />. In {age(FAILING_MAX_MS - goneMs)} it is disabled,
        unless something does
        {goneMs * 2 > FAILING_MAX_MS && `; ${percent(goneMs / FAILING_MAX_MS)} of the time are over`}.
      </span>
    </p>
  )
}

/** Its deliveries wait for each other, and so have a place of their own. */
const laneOf = (id: string): string => `webhook:${id}`

function Numbers({ webhook: { id } }: { readonly webhook: EndpointView }) {
  const counts = useQuery(
    `webhook counts ${id}`,
    async signal => {
      const of = async (state: string) =>
        (await api.jobs.list({ dependency: laneOf(id), state, limit: 1 }, signal)).count
      return { done: await of('succeeded'), waiting: await of('waiting'), dead: await of('dead') }
    },
    { topics: ['webhooks'], everyMs: 15_000 },
  )
  const { done, waiting, dead } = counts.data ?? {}
  const ended = (done?.value ?? 0) + (dead?.value ?? 0)
  const to = (state: string): string => href('/jobs', { dependency: laneOf(id), state })
  const stale = counts.problem !== undefined
  return (
    <Tiles>
      <Tile
        label="Delivered"
        value={done ? count(done) : '–'}
        note={ended === 0 ? 'nothing has ended yet' : `${percent((done?.value ?? 0) / ended)} of what has ended`}
        href={to('succeeded')}
        stale={stale}
      />
      <Tile
        label="On their way"
        value={waiting ? count(waiting) : '–'}
        note="waiting, or for a retry"
        href={href('/jobs', { dependency: laneOf(id) })}
        stale={stale}
      />
      <Tile
        label="Failed for good"
        value={dead ? count(dead) : '–'}
        hue={dead && dead.value > 0 ? 'dead' : undefined}
        note="can be recovered"
        href={to('dead')}
        stale={stale}
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
  const { state, cursor } = query.value
  const jobs = useQuery(
    `deliveries ${id} ${state ?? ''} ${cursor ?? ''}`,
    signal => api.webhooks.deliveries(id, { limit: LIMIT, state, cursor }, signal),
    { topics: ['webhooks', 'jobs'], everyMs: 10_000 },
  )
  return (
    <div>
      <nav class="phases" aria-label="Which deliveries">
        {STATES.map(([text, value]) => (
          <a
            key={text}
            href={href(`/webhooks/${segment(id)}`, { state: value })}
            aria-current={value === state ? 'true' : undefined}
            onClick={event => {
              event.preventDefault()
              setQuery({ state: value, cursor: undefined })
            }}
          >
            {text}
          </a>
        ))}
      </nav>
      <Answer query={jobs} lines={8}>
        {({ data, page }) =>
          data.length === 0 ? (
            <Panel>
              <Empty icon="webhooks" title={state === undefined ? 'Nothing was sent to it yet' : 'None of these'}>
                {state === undefined && 'Send a test to see how it goes.'}
              </Empty>
            </Panel>
          ) : (
            <>
              <Panel flush title="Deliveries" note="Jobs like any other">
                <Table
                  label="Deliveries"
                  columns={jobColumns().filter(({ key }) => key !== 'queue' && key !== 'name')}
                  rows={data}
                  rowKey={job => job.id}
                  href={job => href(`/jobs/${segment(job.id)}`)}
                  stale={jobs.isStale}
                />
              </Panel>
              <Pager next={page.next}>{count(data.length)} shown</Pager>
            </>
          )
        }
      </Answer>
    </div>
  )
}

function About({ webhook }: { readonly webhook: EndpointView }) {
  const { id, events, queues, names, tenantId, retry, secrets, createdAt, updatedAt } = webhook
  const [newest, ...older] = secrets
  return (
    <Panel title="About it">
      <Facts
        facts={[
          [
            'Is told of',
            <span class="row wrap tight">
              {events.map(event => (
                <Tag key={event}>{event}</Tag>
              ))}
            </span>,
          ],
          queues ? ['Only in queues', queues.join(', ')] : undefined,
          names ? ['Only of jobs', names.join(', ')] : undefined,
          tenantId === undefined ? undefined : ['Tenant', tenantId],
          ['Retries', policyWords(retry ? mergePolicies(retry, PRESETS.webhook) : PRESETS.webhook)],
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
          ['Made', <Time at={createdAt} />],
          ['Changed', <Time at={updatedAt} />],
          ['Id', <CopyableId id={id} what="Webhook id" />],
        ]}
      />
    </Panel>
  )
}
