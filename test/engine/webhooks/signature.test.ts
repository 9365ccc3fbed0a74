import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { newSecret, sign, type VerifyOptions, verifyWebhook } from '../../../src/engine/webhooks/signature.js'

const SECRET_A = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const SECRET_B = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const ID = 'msg_01JCW0000000000000000000A1'
const AT = 1_794_776_400_000
const BODY =
  '{"type":"job.completed","timestamp":"2026-11-15T21:00:00.000Z","data":{"jobId":"job_01","status":"succeeded"}}'

describe('sign', () => {
  it.each([
    [
      "the vector of the standard's own library",
      ['msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330_000, '{"test": 2432232314}', [SECRET_A]],
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    ],
    ['a message', [ID, AT, BODY, [SECRET_B]], 'v1,esyluCzwVO8sKtwuo/tkAwrj3M96Jl17twlyiZrhl/Y='],
    [
      'one secret and the one before it',
      [ID, AT, BODY, [SECRET_B, SECRET_A]],
      'v1,esyluCzwVO8sKtwuo/tkAwrj3M96Jl17twlyiZrhl/Y= v1,PM7pUOhVrNNw17lWb/hE8h9oDRKyBaZ7LSab6kvxq20=',
    ],
    ['nothing', [ID, AT, '', [SECRET_B]], 'v1,dX8imobN11AMe4CGfEhcNFGN+xzDYM+WZyr/fX2Ag0w='],
    ['text beyond ASCII', [ID, AT, '{"m":"héllo ✓"}', [SECRET_B]], 'v1,J2+stKJ3MFIqWnb4//WXi+OOFcxCYbjftu2bNMp98VA='],
    ['another try of it', [ID, AT + 60_000, BODY, [SECRET_B]], 'v1,4+tfZ3sw2HrtPalTHugJH43jL0a0rCT4cRL/J2di2+4='],
  ] as [string, Parameters<typeof sign>, string][])('signs %s', (_what, given, signature) => {
    expect(sign(...given)['webhook-signature']).toBe(signature)
  })

  it('contains the time of this attempt in seconds', () => {
    expect(sign(ID, AT + 999, BODY, [SECRET_B])['webhook-timestamp']).toBe('1794776400')
  })

  it('is understood by an independent receiver', () => {
    const secret = newSecret(seededDice(1))
    const now = Date.now()
    const headers = sign(ID, now, BODY, [secret, SECRET_A])
    expect(new Webhook(secret).verify(BODY, { ...headers })).toEqual(JSON.parse(BODY))
    expect(new Webhook(SECRET_A).verify(BODY, { ...headers })).toEqual(JSON.parse(BODY))
    expect(() => new Webhook(SECRET_B).verify(BODY, { ...headers })).toThrow()
  })
})

describe('a secret', () => {
  it('is 256 bits, another one every time', () => {
    const dice = seededDice(7)
    const [one, two] = [newSecret(dice), newSecret(dice)]
    expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(two).not.toBe(one)
  })
})

describe('verifyWebhook', () => {
  const headers = { ...sign(ID, AT, BODY, [SECRET_B]) }
  const given: VerifyOptions = { body: BODY, headers, secret: SECRET_B, now: AT + 1000 }
  const verify = (more: Partial<VerifyOptions> = {}) => verifyWebhook({ ...given, ...more })

  it('gives the message', () => {
    expect(verify()).toEqual({
      id: ID,
      type: 'job.completed',
      timestamp: '2026-11-15T21:00:00.000Z',
      data: { jobId: 'job_01', status: 'succeeded' },
      sentAt: new Date(AT),
    })
  })

  it('understands an independent sender', () => {
    const at = new Date(AT)
    const signature = new Webhook(SECRET_B).sign(ID, at, BODY)
    expect(verify({ headers: { ...headers, 'webhook-signature': signature } }).id).toBe(ID)
  })

  it('takes headers as Node, fetch and people write them', () => {
    const titled = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace(/^w|-./g, part => part.toUpperCase()), value]),
    )
    expect(verify({ headers: titled }).id).toBe(ID)
    expect(verify({ headers: new Headers(headers) }).id).toBe(ID)
    expect(verify({ headers: { ...headers, 'webhook-id': [ID] } }).id).toBe(ID)
  })

  it('takes the bytes as they came', () => {
    expect(verify({ body: Buffer.from(BODY) }).type).toBe('job.completed')
  })

  it('takes any of several secrets', () => {
    const { secret: _, ...rest } = given
    expect(verifyWebhook({ ...rest, secrets: [SECRET_A, SECRET_B] }).id).toBe(ID)
  })

  it('accepts one matching signature among others', () => {
    const many = { ...headers, 'webhook-signature': `v1a,xyz v1,AAAA ${headers['webhook-signature']}` }
    expect(verify({ headers: many }).id).toBe(ID)
  })

  const TAMPERED: [string, Partial<VerifyOptions>, string][] = [
    ['another body', { body: BODY.replace('job_01', 'job_02') }, 'SIGNATURE_INVALID'],
    ['another id', { headers: { ...headers, 'webhook-id': 'msg_2' } }, 'SIGNATURE_INVALID'],
    ['another time', { headers: { ...headers, 'webhook-timestamp': '1794776401' } }, 'SIGNATURE_INVALID'],
    ['another secret', { secret: SECRET_A }, 'SIGNATURE_INVALID'],
    ['no time', { headers: { ...headers, 'webhook-timestamp': 'soon' } }, 'SIGNATURE_INVALID'],
    [
      'a signature of another kind',
      { headers: { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') } },
      'SIGNATURE_INVALID',
    ],
    ['no signature', { headers: { ...headers, 'webhook-signature': '' } }, 'SIGNATURE_MISSING'],
    ['no headers', { headers: {} }, 'SIGNATURE_MISSING'],
    ['an old message', { now: AT + 301_000 }, 'SIGNATURE_EXPIRED'],
    ['a message of the future', { now: new Date(AT - 301_000) }, 'SIGNATURE_EXPIRED'],
    ['less patience', { now: AT + 2000, toleranceMs: 1000 }, 'SIGNATURE_EXPIRED'],
    ['a secret that is none', { secret: 'hunter2!' }, 'INVALID_OPTION'],
    ['no secret', { secret: '' }, 'INVALID_OPTION'],
  ]

  it.each(TAMPERED)('refuses %s', (_what, more, code) => {
    expect(() => verify(more)).toThrow(expect.objectContaining({ code }))
  })

  it('refuses a signed body that is not a message', () => {
    const body = '[1]'
    const signed = { ...sign(ID, AT, body, [SECRET_B]) }
    expect(() => verify({ body, headers: signed })).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD' }))
  })

  it('never repeats a secret', () => {
    expect(() => verify({ secret: 'whsec_not base64 at all' })).toThrow(/^(?!.*base64 at all).*$/)
  })

  it('uses the time of this machine', () => {
    const now = Date.now()
    const fresh = { ...sign(ID, now, BODY, [SECRET_B]) }
    expect(verifyWebhook({ body: BODY, headers: fresh, secret: SECRET_B }).id).toBe(ID)
    expect(() => verifyWebhook({ body: BODY, headers, secret: SECRET_B, toleranceMs: 0 })).toThrow('too far from now')
  })
})
