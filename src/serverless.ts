import { createHash, timingSafeEqual } from 'node:crypto'
import { ChronosError, shown } from './core/values/error.js'
import type { Chronos } from './engine/client/chronos.js'
import type { JobDefinition } from './engine/client/definition.js'
import { Ticker, type TickOptions, type TickReport } from './engine/client/ticker.js'
import { systemClock } from './engine/time/system.js'

export type { TickOptions, TickReport } from './engine/client/ticker.js'

/** Work for a limited time, as a plain function and as a Fetch handler. */
export interface Tick {
  /** Works until there is nothing to do or the time is over. */
  run(): Promise<TickReport>
  /** The same for a request with the secret; it returns the report as JSON. */
  fetch(request: Request): Promise<Response>
}

const SECRET_LENGTH_MIN = 16

/**
 * Runs jobs on a platform without a process of its own: call it from a cron trigger. The Chronos stays open, so that the
 * next call can use its connections.
 */
export function tick(chronos: Chronos, jobs: readonly JobDefinition<never>[], options: TickOptions): Tick {
  const { secret } = options
  if (secret !== undefined && (typeof secret !== 'string' || secret.length < SECRET_LENGTH_MIN)) {
    throw new ChronosError(
      'INVALID_OPTION',
      `tick: secret: expected at least ${SECRET_LENGTH_MIN} characters, got ${typeof secret === 'string' ? secret.length : shown(secret)}`,
    )
  }
  const ticker = new Ticker(chronos, jobs, options, systemClock)
  const run = (): Promise<TickReport> => ticker.run()
  return { run, fetch: request => answer(request, secret, run) }
}

async function answer(request: Request, secret: string | undefined, run: Tick['run']): Promise<Response> {
  if (secret === undefined) {
    return refusal(500, 'NOT_ALLOWED', 'tick: give a secret, so that not every request can start jobs')
  }
  const [, given = ''] = /^Bearer +(.+)$/i.exec(request.headers.get('Authorization') ?? '') ?? []
  if (!isEqual(given, secret)) return refusal(401, 'UNAUTHENTICATED', 'send `Authorization: Bearer SECRET`')
  try {
    return Response.json(await run(), { headers: NOT_STORED })
  } catch (error) {
    const known = error instanceof ChronosError ? error : undefined
    // The message of any other error may contain an address or a login.
    return refusal(503, known?.code ?? 'UNEXPECTED', known?.message ?? 'the run failed')
  }
}

const NOT_STORED = { 'Cache-Control': 'no-store' }

function refusal(status: number, code: string, detail: string): Response {
  return Response.json({ code, detail }, { status, headers: NOT_STORED })
}

/** Compares in constant time. */
function isEqual(a: string, b: string): boolean {
  const [left, right] = [a, b].map(text => createHash('sha256').update(text).digest())
  return timingSafeEqual(left!, right!)
}
