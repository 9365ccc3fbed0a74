import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { defineJob, type JobDefinition } from '../../../src/engine/client/definition.js'
import { type TestChronos, type TestOptions, testChronos } from '../../../src/testing.js'
import { type Heard, hear, type Receiver, startReceiver } from '../../support/receiver.js'

/** What a postbox answers; undefined leaves the caller waiting. */
export type Answer =
  | number
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | undefined

/** A local receiver of webhooks. */
export interface Postbox {
  readonly url: string
  readonly heard: readonly Heard[]
  answer: (heard: Heard) => Answer
  bodies(): readonly Message[]
  /** Resolves when so many messages have come. */
  got(count: number): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

export async function postbox(): Promise<Postbox> {
  const heard: Heard[] = []
  const arrivals = new EventEmitter()
  const waiting: ServerResponse[] = []
  const receiver: Receiver = await startReceiver(async (request, response) => {
    const one = await hear(request)
    heard.push(one)
    arrivals.emit('message')
    const answer = box.answer(one)
    if (answer === undefined) waiting.push(response)
    else if (typeof answer === 'number') response.writeHead(answer).end('thanks')
    else response.writeHead(answer.status, answer.headers).end()
  })
  const box: Postbox = {
    url: `${receiver.origin}/hook`,
    heard,
    answer: () => 200,
    bodies: () => heard.map(({ body }) => JSON.parse(body) as Message),
    async got(count) {
      while (heard.length < count) await once(arrivals, 'message')
    },
    [Symbol.asyncDispose]: () => receiver.close(),
  }
  return box
}

/** Until nothing waits that is due, and nothing runs. */
export function quiet(t: TestChronos): Promise<void> {
  return t.advance(0)
}

export const good: JobDefinition<unknown> = defineJob({ name: 'good', run: async (_: unknown) => ({ ok: true }) })
export const bad: JobDefinition<unknown> = defineJob({
  name: 'bad',
  retry: 'none',
  async run(_: unknown) {
    throw new Error('no')
  },
})

export function webhookChronos(options: Partial<TestOptions> = {}): TestChronos {
  return testChronos({ jobs: [good, bad], egress: { allow: ['loopback'] }, ...options })
}
