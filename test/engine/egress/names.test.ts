import { describe, expect, it } from 'vitest'
import { classify } from '../../../src/core/failure/classify.js'
import { startReceiver } from '../../support/receiver.js'
import { startResolver } from './resolver.js'
import { failureOf, sender, textOf } from './sending.js'

const BLOCKED = { code: 'ESSRFBLOCKED' }

describe('a name', () => {
  it('is resolved once, and the socket gets the checked addresses', async () => {
    await using receiver = await startReceiver((_, response) => response.end('here'))
    await using resolver = await startResolver(() => ['127.0.0.1'])
    await using egress = sender({ allow: ['loopback'], ports: [receiver.port], lookup: resolver.lookup })
    const answer = await egress.send(`http://shop.example:${receiver.port}/`)
    expect(textOf(answer)).toBe('here')
    expect(resolver.asked).toBe(1)
    expect(answer.timing.dnsMs).toBeGreaterThanOrEqual(0)
    expect(answer.timing.connectMs).toBeGreaterThanOrEqual(0)
  })

  it.each<[what: string, answers: readonly string[]]>([
    ['a private address', ['10.0.0.1']],
    ['where credentials are', ['169.254.169.254']],
    ['both in and out', ['93.184.216.34', '127.0.0.1']],
    ['out many times and in once', [...Array.from({ length: 15 }, (_, i) => `93.184.216.${i + 1}`), '10.0.0.1']],
  ])('that leads to %s is refused', async (_, answers) => {
    await using resolver = await startResolver(() => answers)
    await using egress = sender({ lookup: resolver.lookup })
    expect(await failureOf(egress.send('http://shop.example/'))).toMatchObject(BLOCKED)
    expect(egress.logged).toEqual([{ event: 'egress.blocked', by: 'dns', host: 'shop.example' }])
  })

  it('with five hundred addresses has all of them checked', async () => {
    const answers = [...Array.from({ length: 499 }, (_, i) => `93.184.${i >> 8}.${i & 255}`), '::1']
    await using egress = sender({ lookup: async () => answers })
    expect(await failureOf(egress.send('https://shop.example/'))).toMatchObject(BLOCKED)
  })

  it('that does not exist is known not to have been requested', async () => {
    await using resolver = await startResolver(() => [])
    await using egress = sender({ lookup: resolver.lookup })
    const error = await failureOf(egress.send('http://shop.example/'))
    expect(error).toMatchObject({ name: 'HttpError', code: 'ENOTFOUND' })
    expect(classify(error, [], 0)).toMatchObject({ kind: 'transient', maybeExecuted: false })
  })

  it('whose resolver returns no address or invalid ones is refused', async () => {
    await using nothing = sender({ lookup: async () => [] })
    expect(await failureOf(nothing.send('http://shop.example/'))).toMatchObject({ code: 'ENOTFOUND' })
    await using nonsense = sender({ lookup: async () => ['127.1'] })
    expect(await failureOf(nonsense.send('http://shop.example/'))).toMatchObject(BLOCKED)
  })

  it('that resolves differently the second time reaches no forbidden address', async () => {
    // Two addresses of this machine: one stands for the internet, the other for what must not be reached.
    let victims = 0
    await using outside = await startReceiver((_, response) => response.end('outside'), '127.0.0.2')
    await using inside = await startReceiver(() => victims++, '127.0.0.1', outside.port)
    await using resolver = await startResolver((_, asked) => [asked % 2 === 0 ? '127.0.0.2' : '127.0.0.1'])
    await using egress = sender({ allow: ['127.0.0.2'], ports: [outside.port], lookup: resolver.lookup })
    let answered = 0
    let blocked = 0
    const tries = 1_000
    for (let i = 0; i < tries; i += 50) {
      const batch = Array.from({ length: 50 }, () =>
        egress.send(`http://rebind.example:${outside.port}/`, { freshConnection: true }).then(
          () => answered++,
          (error: { code?: string }) => {
            if (error.code === 'ESSRFBLOCKED') blocked++
          },
        ),
      )
      await Promise.all(batch)
    }
    expect({ answered, blocked, victims, connections: inside.connections }).toEqual({
      answered: tries / 2,
      blocked: tries / 2,
      victims: 0,
      connections: 0,
    })
    expect(resolver.asked).toBe(tries)
  })

  it('that the operator may reach is not thereby allowed for others', async () => {
    await using receiver = await startReceiver((_, response) => response.end('inside'))
    await using egress = sender({ ports: [receiver.port], lookup: async () => ['127.0.0.1'] })
    const url = `http://shop.example:${receiver.port}/`
    expect(textOf(await egress.send(url, { trust: 'trusted' }))).toBe('inside')
    expect(await failureOf(egress.send(url))).toMatchObject(BLOCKED)
    expect(receiver.connections).toBe(1)
  })
})
