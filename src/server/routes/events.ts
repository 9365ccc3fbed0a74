import { TERMINAL } from '../../core/job/job.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { about, anyText, text } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { FOLLOW_CURSOR_MAX, type JobUpdate } from '../../engine/results/follow.js'
import { hasSeenEnd, readPosition } from '../../engine/results/position.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { JobStream } from '../events/job-stream.js'
import { STREAM_HEADERS } from '../events/stream.js'
import { Problem } from '../http/problem.js'
import { ownJobOrSchedule, shownTo } from './tenancy.js'

const listen = endpoint({
  method: 'get',
  path: '/events',
  summary: 'Stream changes',
  description:
    'Server-sent events: `hello`, then `change` with `topics` (what to fetch again) and `jobs` (some of the changed jobs), at most ' +
    'four a second. `Last-Event-ID` replays missed messages; `reset` means that too many were missed.',
  role: 'viewer',
  tenants: 'own',
  answers: ok(anyText, 'A stream of events'),
  async handle({ app, caller, credentials, header, signal }): Promise<Answer> {
    if (app.feed.isFull) throw tooMany()
    const listener = app.feed.listen({
      tenantId: caller.tenantId,
      after: header('Last-Event-ID'),
      isValid: () => app.access.isValid(credentials),
    })
    signal.addEventListener('abort', () => listener.close(), { once: true })
    return { body: listener.body, headers: STREAM_HEADERS }
  },
})

const follow = endpoint({
  method: 'get',
  path: '/jobs/{id}/events',
  tag: 'events',
  summary: 'Stream the updates of a job',
  description:
    'Server-sent events from the enqueue of the job until it has ended: `attempt` (a run has ended), `log`, `progress` and, as the last ' +
    'one, `end` with the job. `problem` says why a stream broke off. `Last-Event-ID` or `cursor`, the id of the last event, continues ' +
    'after it; if that was the end, the response is 204.',
  role: 'viewer',
  tenants: 'own',
  query: object(
    {},
    { cursor: about(text(FOLLOW_CURSOR_MAX), 'The id of the last event; `Last-Event-ID` takes precedence.') },
  ),
  answers: {
    200: { description: 'A stream of events', schema: anyText },
    204: { description: 'The job has ended, and the client has received the end' },
  },
  async handle(call): Promise<Answer> {
    const { app, caller, credentials, signal } = call
    const job = await ownJobOrSchedule(call, call.params.id)
    if (job.kind === 'schedule') {
      throw new ChronosError('NOT_ALLOWED', `"${job.id}" is a schedule; follow one of its jobs`)
    }
    const cursor = call.header('Last-Event-ID') ?? call.query.cursor
    if (cursor !== undefined && TERMINAL.has(job.state) && hasSeenEnd(readPosition(cursor), job)) return { status: 204 }
    const free = app.following.take()
    if (!free) throw tooMany()
    const close = (): void => stream.close()
    const stream: JobStream = new JobStream({
      clock: app.clock,
      isValid: () => app.access.isValid(credentials),
      onClosed() {
        free()
        for (const one of [signal, app.closing]) one.removeEventListener('abort', close)
      },
      async *updates(stopped): AsyncGenerator<JobUpdate> {
        for await (const update of app.chronos.jobs.follow(job.id, present({ cursor, signal: stopped }))) {
          yield update.type === 'end' ? { ...update, job: shownTo(caller, update.job) } : update
        }
      },
    })
    for (const one of [signal, app.closing]) one.addEventListener('abort', close)
    return { body: stream.body, headers: STREAM_HEADERS }
  },
})

function tooMany(): Problem {
  return new Problem(503, 'TOO_MANY_CLIENTS', 'too many open event streams; poll, or retry later', {
    headers: { 'Retry-After': '10' },
  })
}

export const EVENTS: readonly Endpoint[] = [listen, follow]
