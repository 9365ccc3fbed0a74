import { Problem } from './problem.js'

const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;|$)/i

/** The memory that request bodies of the whole server may take at once. */
export class BodyBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  take(bytes: number): void {
    if (this.#usedBytes + bytes > this.#maxBytes) {
      const detail = 'the bodies of other requests take all memory that is meant for them; retry later'
      throw new Problem(503, 'OVERLOADED', detail, { headers: { 'Retry-After': '1', Connection: 'close' } })
    }
    this.#usedBytes += bytes
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes
  }
}

/** The text of a request, never more than allowed, whatever its headers say. `onBytes` may refuse by throwing. */
export async function readBody(
  request: Request,
  maxBytes: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<string> {
  const type = request.headers.get('Content-Type')
  if (!request.body) return ''
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    onBytes(chunk.byteLength)
    chunks.push(chunk)
  }
  if (bytes === 0) return ''
  if (type === null || !JSON_TYPE.test(type)) {
    throw new Problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'Content-Type: expected application/json')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new Problem(400, 'NOT_JSON', 'the body is not UTF-8')
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(413, 'BODY_TOO_LARGE', `the body is larger than ${maxBytes} bytes`, {
    headers: { Connection: 'close' },
  })
}
