import type { Duration } from '../../core/values/duration.js'
import { hash64 } from '../../core/values/hash.js'
import type { QueueSettings } from '../../engine/jobs/queues.js'
import type { Application } from '../application.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { Problem } from '../http/problem.js'
import { queueList, queueSchema, queueSettings, waveQuery, waveSchema } from '../schemas/queue.js'
import { byName } from '../schemas/words.js'
import { z } from '../schemas/zod.js'

type Settings = Readonly<{ paused: boolean; retry?: unknown }>

const list = endpoint({
  method: 'get',
  path: '/queues',
  tag: 'queues',
  summary: 'What is in every queue, what it does and who works on it',
  role: 'viewer',
  tenants: 'none',
  answers: ok(queueList, 'All of them, by name'),
  async handle({ app }): Promise<Answer> {
    return { body: { data: await app.chronos.queues.report(), page: {} } }
  },
})

const get = endpoint({
  method: 'get',
  path: '/queues/{name}',
  tag: 'queues',
  summary: 'The same of one queue',
  description: 'Its `ETag` stands for its settings, for `If-Match`.',
  role: 'viewer',
  tenants: 'none',
  params: byName,
  answers: ok(queueSchema, 'The queue'),
  async handle({ app, params: { name } }): Promise<Answer> {
    const queue = await app.chronos.queues.get(name)
    return { body: queue, headers: settingsTag(queue) }
  },
})

const set = endpoint({
  method: 'put',
  path: '/queues/{name}',
  tag: 'queues',
  summary: 'Give a queue a policy, from now on',
  description:
    'Over what the code says; what is left out stays as it is. A queue that is not there yet is made. ' +
    'With `If-Match` only if its settings are still as they were read, else 412.',
  role: 'admin',
  tenants: 'none',
  params: byName,
  body: queueSettings,
  answers: ok(queueSchema, 'The queue as it is now'),
  async handle({ app, params: { name }, body, ifMatch, note }): Promise<Answer> {
    const { queues } = app.chronos
    if (ifMatch !== undefined) await checkSettings(app, name, ifMatch)
    await queues.set(name, body as QueueSettings)
    note(body)
    app.feed.changed(['queues'])
    const queue = await queues.get(name)
    return { body: queue, headers: settingsTag(queue) }
  },
})

function action(verb: 'pause' | 'resume', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/queues/{name}/${verb}`,
    tag: 'queues',
    summary,
    role: 'operator',
    tenants: 'none',
    params: byName,
    body: z.strictObject({}),
    answers: ok(queueSchema, 'The queue as it is now'),
    async handle({ app, params: { name } }): Promise<Answer> {
      // A misspelt name must not look like a queue that was stopped.
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
  tag: 'queues',
  summary: 'When its waiting jobs fall due: the load before it arrives',
  role: 'viewer',
  tenants: 'none',
  params: byName,
  query: waveQuery,
  answers: ok(waveSchema, 'Retries, and first runs beside them'),
  async handle({ app, params: { name }, query: { window, buckets } }): Promise<Answer> {
    const asked = {
      ...(window !== undefined && { window: window as Duration }),
      ...(buckets !== undefined && { buckets }),
    }
    return { body: await app.chronos.queues.retryWave(name, asked) }
  },
})

async function checkSettings({ chronos }: Application, name: string, ifMatch: string): Promise<void> {
  const queue = (await chronos.queues.list()).find(each => each.name === name)
  if (queue && (ifMatch === '*' || tagOf(queue) === ifMatch)) return
  const have = queue ? `has the version "${tagOf(queue)}"` : 'is not there'
  throw new Problem(
    412,
    'PRECONDITION_FAILED',
    `queue "${name}" ${have}, not "${ifMatch}": somebody changed it; read it again`,
  )
}

const tagOf = ({ paused, retry }: Settings): string => hash64(JSON.stringify([paused, retry ?? null]))

/** For `If-Match` only: what is in a queue changes without its settings, so nobody may be told "not modified". */
const settingsTag = (queue: Settings): Record<string, string> => ({ ETag: `"${tagOf(queue)}"` })

export const QUEUES: readonly Endpoint[] = [
  list,
  get,
  set,
  action('pause', 'Start no more of its jobs'),
  action('resume', 'Go on'),
  wave,
]
