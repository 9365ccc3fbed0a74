import { describe, expect, it } from 'vitest'
import { EgressBlocked } from '../../../src/engine/egress/blocked.js'
import { type EgressOptions, mayReach, parseEgress, type Trust } from '../../../src/engine/egress/rules.js'
import { checkTarget } from '../../../src/engine/egress/target.js'
import vectors from '../../vectors/ssrf.json' with { type: 'json' }

/** What refuses a URL, or `allowed`. */
function verdict(url: string, options: EgressOptions = {}, trust: Trust = 'untrusted'): string {
  try {
    checkTarget(url, parseEgress(options), trust)
    return 'allowed'
  } catch (error) {
    return error instanceof EgressBlocked ? error.by : String(error)
  }
}

const words = (text: string): string[] => text.trim().split(/\s+/)

describe('an untrusted URL', () => {
  it.each(vectors.map(({ url, expect: expected }) => [url, expected] as const))('%s is %s', (url, expected) => {
    expect(verdict(url)).toBe(expected.startsWith('ALLOW') ? 'allowed' : expected)
  })

  it.each(
    words(`127.0.1 0x7f000001 017700000001 0.1.2.3 [::ffff:0:127.0.0.1] [64:ff9b:1::a9fe:a9fe] [2001:0:7f00:1::]
      [100::1] [fd00:ec2::254] [3fff::1] [::ffff:10.0.0.1] 192.0.0.192 0xA9FEA9FE`),
  )('never goes to %s', host => {
    expect(verdict(`http://${host}/`)).toBe('ip')
  })

  it.each(words('LOCALHOST. metadata db.internal printer.local api.svc router.lan x.home.arpa'))(
    'never asks for %s',
    host => {
      expect(verdict(`http://${host}/`)).toBe('name')
    },
  )

  it.each(words('22 25 2375 5432 6379 10250 81'))('never uses port %s', port => {
    expect(verdict(`http://example.com:${port}/`)).toBe('port')
  })

  it.each(words('80 443 8080 8443'))('may use port %s', port => {
    expect(verdict(`http://example.com:${port}/`)).toBe('allowed')
  })

  it.each(words('gopher://example.com/ javascript:alert(1) ws://example.com/ blob:https://example.com/x'))(
    'is not %s',
    url => {
      expect(verdict(url)).toBe('scheme')
    },
  )

  it('is judged by its host, whatever surrounds it', () => {
    expect(verdict('http://example.com#@127.0.0.1/')).toBe('allowed')
    expect(verdict('http://127.0.0.1\t.example.com/')).toBe('allowed')
    expect(verdict('http:127.0.0.1')).toBe('ip')
    expect(verdict(`http://${'a'.repeat(300)}.example/`)).toBe('allowed')
  })
})

describe('addresses', () => {
  const rules = parseEgress()
  it.each(
    words(`8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 198.17.255.255 198.20.0.1
      ::ffff:8.8.8.8 2001:4860:4860::8888 2606:4700:4700::1111`),
  )('%s is public', address => {
    expect(mayReach(address, 'example.com', rules, 'untrusted')).toBe(true)
  })

  it.each(
    words(`127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
      100.127.255.255 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1
      ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 2002:7f00:1:: 2001::1
      2001:db8::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1 not-an-ip 127.1 0x7f.1 2130706433`),
  )('%s is not', address => {
    expect(mayReach(address, 'example.com', rules, 'untrusted')).toBe(false)
  })
})

describe('the allow-list', () => {
  it.each<[allow: string, url: string, verdict: string]>([
    ['loopback', 'http://127.0.0.1:3000/', 'allowed'],
    ['loopback', 'http://localhost:3000/', 'allowed'],
    ['loopback', 'http://app.localhost:3000/', 'allowed'],
    ['loopback', 'http://[::1]:3000/', 'allowed'],
    ['loopback', 'http://0.0.0.0:3000/', 'ip'],
    ['loopback', 'http://10.0.0.1/', 'ip'],
    ['loopback', 'http://example.com:3000/', 'port'],
    ['10.1.0.0/16', 'http://10.1.2.3/', 'allowed'],
    ['10.1.0.0/16', 'http://[::ffff:10.1.2.3]/', 'allowed'],
    ['10.1.0.0/16', 'http://10.2.0.1/', 'ip'],
    ['10.1.0.0/16', 'http://10.1.2.3:9000/', 'port'],
    ['10.1.0.0/16:9000', 'http://10.1.2.3:9000/', 'allowed'],
    ['10.1.0.0/16:*', 'http://10.1.2.3:5432/', 'allowed'],
    ['fd12::/16', 'http://[fd12::1]/', 'allowed'],
    ['[fd12::/16]:9000', 'http://[fd12::1]:9000/', 'allowed'],
    ['hooks.internal', 'http://hooks.internal/', 'allowed'],
    ['hooks.internal', 'http://HOOKS.internal./', 'allowed'],
    ['hooks.internal', 'http://a.hooks.internal/', 'name'],
    ['hooks.internal', 'http://hooks.internal:9000/', 'port'],
    ['hooks.internal:9000', 'http://hooks.internal:9000/', 'allowed'],
    ['*.corp.internal', 'http://a.b.corp.internal/', 'allowed'],
    ['*.corp.internal', 'http://corp.internal/', 'name'],
    ['db', 'http://db/', 'allowed'],
    // What hands out credentials is opened by its own name only.
    ['169.254.0.0/16', 'http://169.254.169.254/', 'ip'],
    ['169.254.0.0/16', 'http://169.254.1.1/', 'allowed'],
    ['169.254.169.254', 'http://169.254.169.254/', 'allowed'],
    ['0.0.0.0/0', 'http://168.63.129.16/', 'ip'],
    ['*.google.internal', 'http://metadata.google.internal/', 'name'],
    ['metadata.google.internal', 'http://metadata.google.internal/', 'allowed'],
  ])('%s: %s is %s', (allow, url, expected) => {
    expect(verdict(url, { allow: [allow] })).toBe(expected)
  })

  it('opens ports for every host', () => {
    expect(verdict('http://example.com:9000/', { ports: [9000] })).toBe('allowed')
    expect(verdict('http://10.0.0.1:9000/', { ports: [9000] })).toBe('ip')
  })

  it('lets a listed name resolve to internal addresses, and never to metadata services', () => {
    const rules = parseEgress({ allow: ['hooks.internal'] })
    const reach = (address: string, name: string): boolean => mayReach(address, name, rules, 'untrusted')
    expect(reach('10.0.0.7', 'hooks.internal')).toBe(true)
    expect(reach('10.0.0.7', 'example.com')).toBe(false)
    expect(reach('169.254.169.254', 'hooks.internal')).toBe(false)
    expect(reach('224.0.0.1', 'hooks.internal')).toBe(false)
  })

  it.each<[options: unknown, message: RegExp]>([
    [{ allow: ['10.0.0.0/33'] }, /egress\.allow\[0\]: expected "loopback", an address.*got "10\.0\.0\.0\/33"/],
    [{ allow: ['300.1.2.3'] }, /got "300\.1\.2\.3"/],
    [{ allow: ['http://example.com'] }, /got "http:\/\/example\.com"/],
    [{ allow: ['example.com:99999'] }, /got "example\.com:99999"/],
    [{ allow: ['*'] }, /got "\*"/],
    [{ allow: [''] }, /got ""/],
    [{ allow: [7] }, /got 7/],
    [{ allow: 'loopback' }, /egress\.allow: expected a list of at most 1000, got "loopback"/],
    [{ ports: [0] }, /egress\.ports\[0\]: expected a whole number from 1 to 65535, got 0/],
    [{ lookup: 'dns' }, /egress\.lookup: expected a function, got "dns"/],
    [{ alow: [] }, /unknown option "alow"; did you mean "allow"\?/],
  ])('refuses %j', (options, message) => {
    expect(() => parseEgress(options as EgressOptions)).toThrow(message)
  })
})

describe('a URL of the operator', () => {
  it.each<[url: string, verdict: string]>([
    ['http://localhost:3000/', 'allowed'],
    ['http://10.0.0.1:5000/', 'allowed'],
    ['http://db/', 'allowed'],
    ['http://169.254.169.254/', 'ip'],
    ['http://169.254.1.1/', 'ip'],
    ['http://[fe80::1]/', 'ip'],
    ['http://metadata.google.internal/', 'name'],
    ['http://0.0.0.0/', 'ip'],
    ['file:///etc/passwd', 'scheme'],
    ['http://a:b@example.com/', 'userinfo'],
  ])('%s is %s', (url, expected) => {
    expect(verdict(url, {}, 'trusted')).toBe(expected)
  })
})

it('gives the same message for every refusal', () => {
  const messages = ['ip', 'name', 'port', 'dns', 'peer'].map(by => new EgressBlocked(by as 'ip', 'db.internal').message)
  expect(new Set(messages).size).toBe(1)
  expect(messages[0]).not.toContain('db.internal')
})
