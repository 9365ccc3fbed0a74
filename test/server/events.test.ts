import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/index.js'
import { startServer, type TestServer } from './server.js'

interface Event {
  readonly id?: string
  readonly event: string
  readonly data: {
    readonly topics?: readonly string[]
    readonly jobs?: readonly { readonly id: string; readonly state: string }[]
  }
}

/** An event-stream client, as in a browser. */
class Ear implements Disposable {
  readonly #abort = new AbortController()
  readonly #heard: Event[] = []
  #wake: () => void = () => {}
  #text = ''
  status = 0
  done: Promise<void> = Promise.resolve()

  static async at(t: TestServer, headers: Readonly<Record<string, string>> = {}): Promise<Ear> {
    const ear = new Ear()
    const response = await fetch(new URL('api/v1/events', t.url), { headers, signal: ear.#abort.signal })
    ear.status = response.status
    if (response.ok) ear.done = ear.#listen(response.body!)
    return ear
  }

  /** Waits for the next matching event and skips others. */
  async next(fits: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      while (this.#heard.length > 0) {
        const event = this.#heard.shift()!
        if (fits(event)) return event
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  [Symbol.dispose](): void {
    this.#abort.abort()
  }

  async #listen(body: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        this.#text += chunk
        const blocks = this.#text.split('\n\n')
        this.#text = blocks.pop()!
        for (const block of blocks) if (block.includes('event:')) this.#heard.push(eventOf(block))
        this.#wake()
      }
    } catch {
      // The stream was closed.
    }
  }
}

function eventOf(block: string): Event {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
  const id = field('id')
  return { event: field('event')!, data: JSON.parse(field('data')!), ...(id !== undefined && { id }) }
}

const has = (topic: string) => (event: Event) => event.data.topics?.includes(topic) === true

describe('events', () => {
  it('report jobs as they are enqueued, run and end', async () => {
    await using t = await startServer()
    using ear = await Ear.at(t)
    expect(await ear.next(() => true)).toMatchObject({ event: 'hello', id: expect.stringMatching(/-\d+$/) })
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { name: 'mail' })).body
    const made = await ear.next(has('jobs'))
    expect(made.data.jobs).toEqual([
      expect.objectContaining({ id, state: 'waiting', phase: 'queued', queue: 'default' }),
    ])
    t.chronos.work([defineJob({ name: 'mail', run: () => {} })], { signals: false })
    const ended = await ear.next(({ data }) => data.jobs?.some(job => job.state === 'succeeded') === true)
    expect(ended.data.jobs).toEqual([expect.objectContaining({ id, state: 'succeeded' })])
  })

  it.each([
    ['queues', 'PUT', '/queues/mail', { paused: true }],
    ['schedules', 'PUT', '/schedules/nightly', { every: '1h', job: 'mail' }],
    ['webhooks', 'POST', '/webhooks', { url: 'https://shop.example/hooks', events: ['job.dead'] }],
    ['alerts', 'POST', '/alerts/silences', { for: '1h' }],
    ['redrives', 'POST', '/redrives', { filter: {} }],
  ])('report changes of %s', async (topic, method, path, body) => {
    await using t = await startServer()
    using ear = await Ear.at(t)
    await ear.next(({ event }) => event === 'hello')
    expect((await t.api(method, path, body)).status).toBeLessThan(300)
    expect((await ear.next(has(topic))).data.topics).toContain(topic)
  })

  it('combine many changes into few messages', async () => {
    await using t = await startServer()
    using ear = await Ear.at(t)
    await ear.next(({ event }) => event === 'hello')
    await t.api('POST', '/jobs:batch', { jobs: Array.from({ length: 150 }, () => ({ name: 'mail' })) })
    const { data } = await ear.next(has('jobs'))
    expect(data.jobs!.length).toBe(150)
  })

  it('repeat missed messages to a client that reconnects', async () => {
    await using t = await startServer()
    using other = await Ear.at(t)
    const first = await Ear.at(t)
    const { id: last } = await first.next(({ event }) => event === 'hello')
    first[Symbol.dispose]()
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { name: 'mail' })).body
    await other.next(has('jobs'))
    using back = await Ear.at(t, { 'Last-Event-ID': last! })
    expect((await back.next(has('jobs'))).data.jobs).toEqual([expect.objectContaining({ id })])
  })

  it('send a reset when too many messages were missed', async () => {
    await using t = await startServer()
    using back = await Ear.at(t, { 'Last-Event-ID': 'anotherserver-17' })
    expect(await back.next(({ event }) => event !== 'hello')).toMatchObject({ event: 'reset' })
  })

  it('are hidden from other tenants', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const admin = { Authorization: 'Bearer a-token-of-the-configuration' }
    const { token } = await t.server.tokens.create({ name: 'acme', role: 'viewer', tenantId: 'acme' })
    using ear = await Ear.at(t, { Authorization: `Bearer ${token}` })
    await ear.next(({ event }) => event === 'hello')
    await t.api('POST', '/jobs', { name: 'mail', tenantId: 'other' }, admin)
    const { id } = (await t.api<{ id: string }>('POST', '/jobs', { name: 'mail', tenantId: 'acme' }, admin)).body
    expect((await ear.next(has('jobs'))).data.jobs).toEqual([expect.objectContaining({ id })])
  })

  it('are limited to maxListeners, and end with the server', async () => {
    await using t = await startServer({ maxListeners: 2 })
    using one = await Ear.at(t)
    using two = await Ear.at(t)
    using three = await Ear.at(t)
    expect([one.status, two.status, three.status]).toEqual([200, 200, 503])
    two[Symbol.dispose]()
    await two.done
    await expect
      .poll(async () => {
        using again = await Ear.at(t)
        return again.status
      })
      .toBe(200)
    await t.server.close()
    await one.done
  })

  it('end soon after their token is revoked or their session is closed', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const { id, token } = await t.server.tokens.create({ name: 'ann', role: 'viewer' })
    const signedIn = await t.api('POST', '/session', { token: 'a-token-of-the-configuration' })
    const session = { Cookie: signedIn.headers.get('Set-Cookie')!.split(';')[0]! }
    using revoked = await Ear.at(t, { Authorization: `Bearer ${token}` })
    using signedOut = await Ear.at(t, session)
    using other = await Ear.at(t, { Authorization: 'Bearer a-token-of-the-configuration' })
    await t.server.tokens.revoke(id)
    await t.api('DELETE', '/session', undefined, session)
    await Promise.all([revoked.done, signedOut.done])
    await t.api('POST', '/jobs', { name: 'mail' }, { Authorization: 'Bearer a-token-of-the-configuration' })
    expect((await other.next(has('jobs'))).event).toBe('change')
  })

  it('serve 200 listeners at once', async () => {
    await using t = await startServer()
    const ears = await Promise.all(Array.from({ length: 200 }, () => Ear.at(t)))
    await Promise.all(ears.map(ear => ear.next(({ event }) => event === 'hello')))
    await t.api('POST', '/jobs', { name: 'mail' })
    const heard = await Promise.all(ears.map(ear => ear.next(has('jobs'))))
    expect(heard.length).toBe(200)
    for (const ear of ears) ear[Symbol.dispose]()
  })
})
