/** A server-sent event. */
export interface ServerEvent {
  readonly name: string
  readonly data: unknown
  readonly id: string | undefined
}

/** The events of a stream; `onBytes` is called for whatever arrives, heartbeats included. */
export async function* eventsIn(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const event = eventOf(block)
        if (event) yield event
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

/** Undefined for comments and for settings of the connection. */
function eventOf(block: string): ServerEvent | undefined {
  const fields = new Map(
    block.split('\n').flatMap(line => {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )
  const data = fields.get('data')
  if (data === undefined) return undefined
  return { name: fields.get('event') ?? 'message', data: JSON.parse(data), id: fields.get('id') }
}
