import { anyText } from '../../core/values/schema.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { Problem } from '../http/problem.js'

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
    if (app.feed.isFull) {
      throw new Problem(503, 'TOO_MANY_CLIENTS', 'too many open event streams; poll, or retry later', {
        headers: { 'Retry-After': '10' },
      })
    }
    const listener = app.feed.listen({
      tenantId: caller.tenantId,
      after: header('Last-Event-ID'),
      isValid: () => app.access.isValid(credentials),
    })
    signal.addEventListener('abort', () => listener.close(), { once: true })
    return {
      body: listener.body,
      headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
    }
  },
})

export const EVENTS: readonly Endpoint[] = [listen]
