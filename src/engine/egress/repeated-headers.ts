import { channel } from 'node:diagnostics_channel'

/** undici announces each request here, and instrumentations add their own headers to it. */
const CREATED = channel('undici:request:create')

/**
 * Passes a request to undici. If a header is set twice, only the first one is sent: OpenTelemetry's instrumentation of
 * undici adds a second `traceparent`, and two of them are invalid.
 */
export function withoutRepeatedHeaders(dispatch: () => void): void {
  if (!CREATED.hasSubscribers) {
    dispatch()
    return
  }
  // The last subscriber is called last.
  CREATED.subscribe(dropRepeated)
  try {
    dispatch()
  } finally {
    CREATED.unsubscribe(dropRepeated)
  }
}

function dropRepeated(message: unknown): void {
  const { headers } = (message as { readonly request: { readonly headers: unknown } }).request
  // Names and values in turn.
  if (!Array.isArray(headers)) return
  const seen = new Set<string>()
  for (let index = 0; index < headers.length; ) {
    const name = String(headers[index]).toLowerCase()
    if (seen.has(name)) headers.splice(index, 2)
    else index += 2
    seen.add(name)
  }
}
