import { describe, expect, it } from 'vitest'
import type { Mail } from '../../../src/engine/alerts/mail.js'
import { openMail } from '../../../src/engine/alerts/mail.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { newSecret, verifyWebhook } from '../../../src/engine/webhooks/signature.js'
import { type Heard, hear, startReceiver } from '../../support/receiver.js'
import { STORES } from '../../support/stores.js'
import { die, World } from './world.js'

const SECRET = newSecret(seededDice(9))
const QUICK = { 'dead-letters': { for: '0s', keep: '0s' } } as const

/** Answers as it is told, the last answer from then on, and lets one wait for so many calls. */
async function startListener(...statuses: number[]) {
  const heard: Heard[] = []
  let onCall = (): void => undefined
  const receiver = await startReceiver(async (request, response) => {
    heard.push(await hear(request))
    response.writeHead((statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 204).end()
    onCall()
  })
  const calls = async (count: number): Promise<readonly Heard[]> => {
    while (heard.length < count) {
      await new Promise<void>(resolve => {
        onCall = resolve
      })
    }
    return heard
  }
  return Object.assign(receiver, { calls })
}

describe.each(STORES)('channels on %s', (_, open) => {
  it('send signed webhooks with one id per notification, and messages in the format of Slack', async () => {
    await using world = new World(open)
    await using hook = await startListener(500, 204)
    await using slack = await startListener()
    const chronos = world.start({
      alerts: {
        rules: QUICK,
        channels: {
          hook: { type: 'webhook', url: `${hook.origin}/alerts`, secret: SECRET },
          slack: { type: 'slack', url: slack.origin },
        },
      },
    })
    await die(world, chronos, 1)
    await world.advance('15s')
    const [text] = await slack.calls(1)
    expect(JSON.parse(text!.body)).toEqual({
      text: expect.stringMatching(/^\[firing\] dead-letters: 1 unacknowledged dead letter in queue payments/),
    })
    await hook.calls(1)
    await world.advance('31s')
    const [first, second] = await hook.calls(2)
    const message = verifyWebhook({ ...second!, secret: SECRET, now: world.clock.now() })
    expect(message).toMatchObject({
      id: first!.headers['webhook-id'],
      type: 'alert.firing',
      data: { notice: 'firing', rule: 'dead-letters', labels: { queue: 'payments' }, value: 1, state: 'firing' },
    })
  })

  it('raise no alert when they fail, not even for their own dead letters', async () => {
    await using world = new World(open)
    const transport = { sendMail: async () => Promise.reject(new Error('no such mailbox')) }
    const rules = { 'dead-letters': { ...QUICK['dead-letters'] }, 'exhausted-burst': { fire: 0, clear: 0 } }
    const channels = { ops: { type: 'email', from: 'a@example.com', to: 'b@example.com', transport } } as const
    const chronos = world.start({ alerts: { rules, channels } })
    await chronos.alerts.test()
    await world.advance('20m')
    expect(await chronos.jobs.count({ state: 'dead', queue: 'chronos:deliveries' })).toMatchObject({ value: 1 })
    expect(world.heard()).toEqual([])
    expect((await chronos.alerts.list()).data).toEqual([])
  })

  it('send mail with one id per notification, and only the alerts that they are configured for', async () => {
    await using world = new World(open)
    const mails: Mail[] = []
    const transport = { sendMail: async (mail: Mail) => mails.push(mail) }
    const email = { type: 'email', from: 'Chronos <a@example.com>', to: ['b@example.com'], transport } as const
    const chronos = world.start({
      alerts: {
        rules: QUICK,
        channels: { all: email, night: { ...email, severity: 'critical', rules: ['no-workers'] } },
      },
    })
    await die(world, chronos, 2)
    await world.advance('15s')
    await chronos.dead.acknowledge({})
    await world.advance('15s')
    const what = 'dead-letters: 2 unacknowledged dead letters in queue payments, the oldest for 14'
    expect(mails.map(({ subject, to }) => [subject.replace(/\.\ds$/, ''), to])).toEqual([
      [`[firing] ${what}`, ['b@example.com']],
      [`[resolved] ${what}`, ['b@example.com']],
    ])
    expect(mails[0]!.messageId).toMatch(/^<alert_dead-letters-[0-9a-f]{16}_\d+_firing@example.com>$/)
    expect(mails[0]!.text).toContain('rule: dead-letters\nqueue: payments\nseverity: warning\n')
    expect(await chronos.alerts.test('night')).toEqual(['night'])
    await world.advance('1s')
    expect(mails.at(-1)!.subject).toBe('[test] this is a test notification; nothing is wrong')
    await expect(chronos.alerts.test('nigth')).rejects.toThrow('did you mean "night"?')
  })

  it('work together with webhook endpoints that subscribe to alerts', async () => {
    await using world = new World(open)
    await using hook = await startListener()
    const chronos = world.start({ egress: { allow: ['loopback'] }, alerts: { rules: QUICK } })
    const { secret } = await chronos.webhooks.create({ url: hook.origin, events: ['alert.firing'] })
    await die(world, chronos, 1)
    await world.advance('15s')
    const [call] = await hook.calls(1)
    expect(verifyWebhook({ ...call!, secret, now: world.clock.now() })).toMatchObject({
      type: 'alert.firing',
      data: { rule: 'dead-letters', notice: 'firing' },
    })
  })
})

describe('channels', () => {
  it.each([
    [{ ops: { type: 'pager' } }, 'alerts.channels.ops.type: expected one of "webhook", "slack", "email", got "pager"'],
    [{ ops: { type: 'slack', url: 'ftp://x' } }, 'alerts.channels.ops.url'],
    [{ ops: { type: 'slack', url: 'https://x', secret: SECRET } }, 'unknown key "secret"'],
    [{ ops: { type: 'webhook', url: 'https://x', secret: 'hunter2' } }, 'expected "whsec_" and at least 16 bytes'],
    [{ ops: { type: 'email', from: 'a@b.c', to: 'd@e.f' } }, 'give smtp (an address) or transport'],
    [
      { ops: { type: 'email', from: 'a', to: 'd@e.f', smtp: 'smtp://h' } },
      'alerts.channels.ops.from: expected an address',
    ],
    [{ ops: { type: 'email', from: 'a@b.c', to: 'x\r\nBcc: d@e.f', smtp: 'smtp://h' } }, 'alerts.channels.ops.to'],
    [
      { ops: { type: 'email', from: 'a@b.c', to: 'd@e.f', smtp: 'http://h' } },
      'expected smtp://user:password@host:587',
    ],
    [{ 'two words': { type: 'slack', url: 'https://x' } }, 'the name of a channel'],
    [[], 'expected an object of channels, got an array'],
  ])('refuse %j', (channels, words) => {
    const world = new World(STORES[0]![1])
    expect(() => world.start({ alerts: { channels: channels as never } })).toThrow(words)
  })
})

describe('mail', () => {
  it('says what to install if nodemailer is missing', async () => {
    const missing = openMail(new URL('smtp://h'), () => Promise.reject(new Error('not found')))
    await expect(missing).rejects.toThrow('e-mail needs the package nodemailer; install it (`npm install nodemailer`)')
  })

  it.each([
    ['smtp://mail.example', { host: 'mail.example', port: 587, secure: false }],
    ['smtps://u%40x:p%3Aw@mail.example', { port: 465, secure: true, auth: { user: 'u@x', pass: 'p:w' } }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525 }],
  ])('opens %s', async (url, options) => {
    const opened: object[] = []
    const createTransport = (given: object) => opened.push(given)
    await openMail(new URL(url), async () => ({ default: { createTransport } }))
    expect(opened).toMatchObject([options])
  })
})
