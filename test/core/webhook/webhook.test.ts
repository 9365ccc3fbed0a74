import { describe, expect, it } from 'vitest'
import { jobMessageBody, MESSAGE_MAX_BYTES, messageBody } from '../../../src/core/webhook/message.js'
import {
  afterFailure,
  afterSuccess,
  disabled,
  type Endpoint,
  type EndpointInput,
  enabled,
  FAILING_MAX_MS,
  liveSecrets,
  parseEndpoint,
  SECRET_OVERLAP_MS,
  SECRETS_MAX,
  type Subject,
  viewEndpoint,
  wants,
  withSecret,
} from '../../../src/core/webhook/webhook.js'

const NOW = Date.UTC(2026, 0, 1)

function endpoint(given: Partial<Endpoint> = {}): Endpoint {
  return {
    id: 'wh_1',
    url: 'https://example.com/hook',
    events: ['job.dead', 'job.succeeded', 'webhook.disabled'],
    state: 'enabled',
    secrets: [{ value: 'whsec_one', createdAt: NOW }],
    createdAt: NOW,
    updatedAt: NOW,
    ...given,
  }
}

describe('the settings of an endpoint', () => {
  const good = { url: 'https://example.com/hook#here', events: ['job.dead', 'job.dead'] }

  it('are stored without undefined fields', () => {
    expect(parseEndpoint(good, 'webhook').settings).toEqual({ url: 'https://example.com/hook', events: ['job.dead'] })
  })

  it('may include a retry policy', () => {
    const { retry } = parseEndpoint({ ...good, retry: { maxRetries: 9 } }, 'webhook').settings
    expect(retry).toMatchObject({ maxRetries: 9 })
  })

  const BAD: [string, object, RegExp][] = [
    ['no address', { events: ['job.dead'] }, /webhook: url: expected an address/],
    ['an address of another kind', { ...good, url: 'ftp://example.com' }, /http: or https:/],
    ['a password in the address', { ...good, url: 'https://a:b@example.com' }, /name or password/],
    ['no events', { ...good, events: [] }, /events: expected at least one event, got an empty list/],
    [
      'an unknown event',
      { ...good, events: ['job.died'] },
      /events\[0\]: expected one of "job\.succeeded", .*, got "job\.died"; did you mean "job\.dead"/,
    ],
    [
      'an event that only deliveries could raise',
      { ...good, events: ['webhook.test'] },
      /events\[0\]: expected one of .*, got "webhook\.test"/,
    ],
    ['an empty list of queues', { ...good, queues: [] }, /queues: expected at least one name, got an empty list/],
    ['a name that is none', { ...good, names: ['a b'] }, /names\[0\]: expected 1 to 128 letters/],
    ['an empty tenant', { ...good, tenantId: '' }, /tenantId: expected a text/],
    ['a policy that is none', { ...good, retry: { maxRetries: -1 } }, /retry/],
    ['an unknown key', { ...good, event: 'job.dead' }, /unknown key "event"/],
    [
      'a secret that is none, without showing it',
      { ...good, secret: 'whsec_mine' },
      /^webhook: secret: expected `whsec_` and 16 to 128 bytes in base64, got something else$/,
    ],
  ]

  it.each(BAD)('refuse %s', (_what, input, words) => {
    expect(() => parseEndpoint(input as EndpointInput, 'webhook')).toThrow(words)
  })
})

describe('wants', () => {
  const job = { queue: 'mail', name: 'send' }
  const dead: Subject = { type: 'job.dead', job }
  const CASES: [string, Partial<Endpoint>, Subject, boolean][] = [
    ['an event that it asked for', {}, dead, true],
    ['an event that it did not ask for', {}, { ...dead, type: 'job.cancelled' }, false],
    ['retries, which are opt-in', {}, { ...dead, type: 'job.retrying' }, false],
    ['its queue', { queues: ['mail', 'sms'] }, dead, true],
    ['another queue', { queues: ['sms'] }, dead, false],
    ['its name', { names: ['send'] }, dead, true],
    ['another name', { names: ['fetch'] }, dead, false],
    ['its tenant', { tenantId: 'acme' }, { ...dead, tenantId: 'acme' }, true],
    ['another tenant', { tenantId: 'acme' }, { ...dead, tenantId: 'other' }, false],
    ['no tenant, if it belongs to a tenant', { tenantId: 'acme' }, dead, false],
    ['any tenant, if it belongs to none', {}, { ...dead, tenantId: 'acme' }, true],
    ['an event without a job, whatever its queues', { queues: ['sms'] }, { type: 'webhook.disabled' }, true],
    ['anything while it is disabled', { state: 'disabled' }, dead, false],
  ]

  it.each(CASES)('%s', (_what, given, subject, answer) => {
    expect(wants(endpoint(given), subject)).toBe(answer)
  })
})

describe('secrets', () => {
  it('overlap for a day', () => {
    const both = withSecret([{ value: 'one', createdAt: NOW }], 'two', NOW + 5)
    expect(liveSecrets(both, NOW + 5)).toEqual(['two', 'one'])
    expect(liveSecrets(both, NOW + 5 + SECRET_OVERLAP_MS - 1)).toEqual(['two', 'one'])
    expect(liveSecrets(both, NOW + 5 + SECRET_OVERLAP_MS)).toEqual(['two'])
  })

  it('do not last longer if they are replaced twice', () => {
    const two = withSecret([{ value: 'one', createdAt: NOW }], 'two', NOW)
    const three = withSecret(two, 'three', NOW + 1000)
    expect(liveSecrets(three, NOW + SECRET_OVERLAP_MS)).toEqual(['three', 'two'])
  })

  it('are few', () => {
    let secrets = endpoint().secrets
    for (let i = 0; i < 20; i++) secrets = withSecret(secrets, `s${i}`, NOW)
    expect(secrets).toHaveLength(SECRETS_MAX)
    expect(secrets[0]!.value).toBe('s19')
  })

  it('are in no view', () => {
    const view = viewEndpoint(endpoint({ secrets: withSecret(endpoint().secrets, 'whsec_two', NOW) }), NOW)
    expect(JSON.stringify(view)).not.toContain('whsec_')
    expect(view.secrets).toEqual([
      { createdAt: '2026-01-01T00:00:00.000Z' },
      { createdAt: '2026-01-01T00:00:00.000Z', expiresAt: '2026-01-02T00:00:00.000Z' },
    ])
  })
})

describe('the health of an endpoint', () => {
  it('remembers its first failure since a success, and nothing else', () => {
    const failing = afterFailure(endpoint(), NOW + 1)
    expect(failing).toMatchObject({ state: 'enabled', failingSince: NOW + 1 })
    expect(afterFailure(failing, NOW + 2)).toBe(failing)
    expect(afterSuccess(failing)).toEqual(endpoint())
    const well = endpoint()
    expect(afterSuccess(well)).toBe(well)
  })

  it('ends after five days without a success', () => {
    const failing = afterFailure(endpoint(), NOW)
    expect(afterFailure(failing, NOW + FAILING_MAX_MS - 1).state).toBe('enabled')
    const over = afterFailure(failing, NOW + FAILING_MAX_MS)
    expect(over).toMatchObject({ state: 'disabled', disabledReason: 'failing', failingSince: NOW })
    expect(afterFailure(over, NOW + 2 * FAILING_MAX_MS)).toBe(over)
  })

  it('stays as it is once it is disabled, also after a late success', () => {
    const over = disabled(afterFailure(endpoint(), NOW), 'gone', NOW + 1)
    expect(afterSuccess(over)).toBe(over)
    expect(afterFailure(over, NOW + FAILING_MAX_MS)).toBe(over)
  })

  it('is reset when it is enabled', () => {
    const over = disabled(afterFailure(endpoint(), NOW), 'gone', NOW + 1)
    expect(enabled(over, NOW)).toEqual(endpoint())
  })
})

describe('a message', () => {
  const job = {
    id: 'j1',
    name: 'send',
    queue: 'mail',
    tags: [],
    generation: 1,
    run: 2,
    attempt: 2,
    delivery: 'at-least-once' as const,
    createdAt: NOW - 5000,
  }

  it('has the outcome of a job', () => {
    const error = { name: 'Error', message: 'no', stack: 'at secret.js' }
    const news = { type: 'job.dead', job, at: NOW, startedAt: NOW - 250, reason: 'exhausted', error } as const
    expect(JSON.parse(jobMessageBody(news))).toEqual({
      type: 'job.dead',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: {
        jobId: 'j1',
        name: 'send',
        queue: 'mail',
        tags: [],
        state: 'dead',
        reason: 'exhausted',
        generation: 1,
        run: 2,
        attempt: 2,
        createdAt: '2025-12-31T23:59:55.000Z',
        startedAt: '2025-12-31T23:59:59.750Z',
        finishedAt: '2026-01-01T00:00:00.000Z',
        durationMs: 250,
        error: { name: 'Error', message: 'no' },
      },
    })
  })

  it('has the time of a retry', () => {
    const news = { type: 'job.retrying', job, at: NOW, startedAt: NOW, delayMs: 1000 } as const
    expect(JSON.parse(jobMessageBody(news)).data).toMatchObject({
      state: 'waiting',
      delayMs: 1000,
      nextRunAt: '2026-01-01T00:00:01.000Z',
    })
  })

  it.each([
    ['a small result', '{"a":1}', { a: 1 }],
    ['no large one', JSON.stringify('x'.repeat(9000)), undefined],
  ])('has %s', (_what, result, kept) => {
    const body = jobMessageBody({ type: 'job.succeeded', job, at: NOW, result })
    expect(JSON.parse(body).data.result).toEqual(kept)
  })

  it('has a limit', () => {
    const huge = { text: 'x'.repeat(MESSAGE_MAX_BYTES) }
    expect(() => messageBody('alert.firing', NOW, huge)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
  })
})
