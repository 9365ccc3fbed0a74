import { queueSettings, waveQuery } from '../../core/queue/settings.js'
import { hash64 } from '../../core/values/hash.js'
import { queueQuery, queueReport, retryWaveView } from '../../engine/jobs/queue-report.js'
import { partitionQuery, partitionView } from '../../engine/limits/partitions.js'
import type { Application } from '../application.js'
import type { Facts } from '../audit-words.js'
import { type Answer, type Endpoint, endpoint, gone, NOTHING, ok } from '../endpoint.js'
import { Problem } from '../http/problem.js'
import { listSchema } from './words.js'

type Settings = Readonly<{ paused: boolean; retry?: unknown; limits?: unknown }>

const list = endpoint({
  method: 'get',
  path: '/queues',
  tool: 'list_queues',
  call: 'queues.report(...)',
  summary: 'List queues with their jobs, throughput and workers',
  role: 'viewer',
  tenants: 'none',
  query: queueQuery,
  answers: ok(listSchema(queueReport, 'QueueList'), 'A page of queues, by name'),
  handle: async ({ app, query }) => ({ body: await app.chronos.queues.report(query) }),
})

const get = endpoint({
  method: 'get',
  path: '/queues/{name}',
  tool: 'get_queue',
  isVersioned: true,
  call: 'queues.get(name)',
  summary: 'Get a queue',
  description: 'The `ETag` is the version of its settings, for `If-Match`.',
  role: 'viewer',
  tenants: 'none',
  answers: ok(queueReport, 'The queue'),
  async handle({ app, params: { name } }): Promise<Answer> {
    const queue = await app.chronos.queues.get(name)
    return { body: queue, headers: settingsTag(queue) }
  },
})

const set = endpoint({
  method: 'put',
  path: '/queues/{name}',
  did: setWords,
  isVersioned: true,
  call: 'queues.set(name, ...)',
  summary: 'Set the policy and the limits of a queue',
  description:
    'They override the code; fields that are left out stay unchanged. A queue that does not exist is created. ' +
    'With `If-Match`, only if the settings have not changed since they were read, otherwise 412.',
  role: 'admin',
  tenants: 'none',
  body: queueSettings,
  answers: ok(queueReport, 'The changed queue'),
  async handle({ app, params: { name }, body, ifMatch, note }): Promise<Answer> {
    const { queues } = app.chronos
    if (ifMatch !== undefined) await checkSettings(app, name, ifMatch)
    await queues.set(name, body)
    note(body)
    app.feed.changed(['queues'])
    const queue = await queues.get(name)
    return { body: queue, headers: settingsTag(queue) }
  },
})

/** `set the limits of queue crm` */
function setWords({ name, paused, retry, limit, partitions }: Facts): string {
  const isLimits = limit !== undefined || partitions !== undefined
  if (!isLimits || paused !== undefined || retry !== undefined) return `changed queue ${name}`
  return limit == null && partitions == null ? `removed the limits of queue ${name}` : `set the limits of queue ${name}`
}

const partitions = endpoint({
  method: 'get',
  path: '/queues/{name}/partitions',
  tool: 'list_partitions',
  call: 'queues.partitions(name, ...)',
  summary: 'List the partitions of a queue with limits',
  description: 'Those with jobs, or with a rate to remember. Empty for a queue without limits.',
  role: 'viewer',
  tenants: 'none',
  query: partitionQuery,
  answers: ok(listSchema(partitionView, 'PartitionList'), 'A page of partitions, by name'),
  handle: async ({ app, params: { name }, query }) => ({ body: await app.chronos.queues.partitions(name, query) }),
})

const remove = endpoint({
  method: 'delete',
  path: '/queues/{name}',
  did: ({ name }) => `deleted queue ${name}`,
  call: 'queues.delete(name)',
  summary: 'Delete a queue without jobs',
  description:
    'Removes its settings too. It is refused while the queue has jobs of any state; an enqueue creates the queue again.',
  role: 'admin',
  tenants: 'none',
  answers: gone,
  async handle({ app, params: { name } }): Promise<Answer> {
    await app.chronos.queues.delete(name)
    app.feed.changed(['queues'])
    return {}
  },
})

function action(verb: 'pause' | 'resume', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/queues/{name}/${verb}`,
    tool: `${verb}_queue`,
    did: ({ name }) => `${verb}d queue ${name}`,
    call: `queues.${verb}(name)`,
    summary,
    role: 'operator',
    tenants: 'none',
    body: NOTHING,
    answers: ok(queueReport, 'The changed queue'),
    async handle({ app, params: { name } }): Promise<Answer> {
      // A misspelt name must not look like a paused queue.
      const queue = await app.chronos.queues.get(name)
      const { paused } = await app.chronos.queues[verb](name)
      app.feed.changed(['queues'])
      return { body: { ...queue, paused }, headers: settingsTag({ ...queue, paused }) }
    },
  })
}

const wave = endpoint({
  method: 'get',
  path: '/queues/{name}/retry-wave',
  tool: 'forecast_queue_load',
  call: 'queues.retryWave(name, ...)',
  summary: 'Forecast the load: when waiting jobs become due',
  role: 'viewer',
  tenants: 'none',
  query: waveQuery,
  answers: ok(retryWaveView, 'Retries and first runs over time'),
  handle: async ({ app, params: { name }, query }) => ({ body: await app.chronos.queues.retryWave(name, query) }),
})

async function checkSettings({ chronos }: Application, name: string, ifMatch: string): Promise<void> {
  const queue = (await chronos.queues.list()).find(each => each.name === name)
  if (queue && (ifMatch === '*' || tagOf(queue) === ifMatch)) return
  const have = queue ? `has the version "${tagOf(queue)}"` : 'does not exist'
  throw new Problem(
    412,
    'PRECONDITION_FAILED',
    `queue "${name}" ${have}, not "${ifMatch}": it was modified concurrently; read it again`,
  )
}

const tagOf = ({ paused, retry, limits }: Settings): string =>
  hash64(JSON.stringify(limits === undefined ? [paused, retry ?? null] : [paused, retry ?? null, limits]))

/** For `If-Match` only: the jobs of a queue change without its settings, so a GET must never return 304. */
const settingsTag = (queue: Settings): Record<string, string> => ({ ETag: `"${tagOf(queue)}"` })

export const QUEUES: readonly Endpoint[] = [
  list,
  get,
  set,
  remove,
  action('pause', 'Pause a queue: no more of its jobs start'),
  action('resume', 'Resume a queue'),
  wave,
  partitions,
]
