import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/index.js'
import { Visitor } from './browser.js'
import { emptyWorld } from './world.js'

/** Sixty script injection payloads; each would call `hit`. */
const TAGS = [
  'script',
  'img src=x onerror',
  'svg onload',
  'body onload',
  'iframe srcdoc',
  'details open ontoggle',
  'video src=x onerror',
  'input autofocus onfocus',
  'marquee onstart',
  'a href',
]
const WRAPS: readonly ((code: string) => string)[] = [
  code => code,
  code => `">${code}`,
  code => `'>${code}`,
  code => `</script>${code}`,
  code => `--></style></title></textarea>${code}`,
  code => `\`\${${code}}\``,
]

const PAYLOADS = TAGS.flatMap(tag => WRAPS.map(wrap => wrap(attack(tag))))

function attack(tag: string): string {
  switch (tag) {
    case 'script':
      return '<script>hit()</script>'
    case 'iframe srcdoc':
      return '<iframe srcdoc="<script>parent.hit()</script>"></iframe>'
    case 'a href':
      return '<a href="javascript:hit()">press</a>'
    default:
      return `<${tag}="hit()">`
  }
}

describe('untrusted text', () => {
  it(`is shown and never executed: ${PAYLOADS.length} payloads in every field`, async () => {
    expect(PAYLOADS.length).toBe(60)
    await using t = await emptyWorld()
    const { chronos } = t
    const evil = defineJob({
      name: 'evil',
      retry: 'none',
      run: ({ texts: [text = ''] }: { texts: string[] }, job) => {
        for (const line of PAYLOADS) job.log(line, { [line]: line })
        job.progress(PAYLOADS)
        throw Object.assign(new Error(text), {
          name: text.slice(0, 60),
          code: text.slice(0, 60),
          stack: PAYLOADS.join('\n'),
        })
      },
    })
    let left = PAYLOADS.length
    const died = new Promise<void>(resolve => void chronos.on('job.dead', () => --left === 0 && resolve()))
    for (const [i, text] of PAYLOADS.entries()) {
      await chronos.enqueue(
        evil,
        { texts: [text, ...PAYLOADS] },
        { key: `${i} ${text}`, tags: [text.slice(0, 60)], tenantId: text, fingerprint: `evil-${i}` },
      )
    }
    chronos.work([evil], { signals: false })
    await died
    const { id: scheduleId } = await chronos.schedules.put('evil', {
      cron: '0 9 * * *',
      job: 'evil',
      payload: { texts: PAYLOADS },
      tags: PAYLOADS.slice(0, 10).map(text => text.slice(0, 60)),
    })
    const admin = await t.server.tokens.create({ name: 'ann', role: 'admin' })
    await t.server.tokens.create({ name: PAYLOADS[7]!.slice(0, 100), role: 'viewer', tenantId: PAYLOADS[8]! })
    const { data: groups } = await chronos.dead.groups({ limit: 200 })
    expect(groups).toHaveLength(PAYLOADS.length)
    const { data: jobs } = await chronos.jobs.list({}, { limit: 60 })
    const script = encodeURIComponent(PAYLOADS[0]!)
    const [group] = groups
    const paths = [
      '/',
      '/jobs',
      `/jobs?q=${script}&tag=${script}&key=${script}&tenant=${script}`,
      '/dead',
      '/dead?view=jobs',
      `/dead/${group!.fingerprint}`,
      `/dead/${group!.fingerprint}?tenant=${encodeURIComponent(group!.tenants![0]!.tenantId!)}`,
      `/schedules/${scheduleId}`,
      '/tokens',
      '/audit',
      ...jobs.slice(0, 3).map(job => `/jobs/${job.id}`),
    ]
    await using visitor = await Visitor.at(t.url)
    await visitor.signIn(admin.token)
    const hits: string[] = []
    await visitor.page.exposeFunction('hit', () => void hits.push(visitor.page.url()))
    for (const path of paths) {
      await visitor.open(path)
      const shown = await visitor.page.locator('main').innerText()
      expect(shown.length, path).toBeGreaterThan(20)
    }
    expect(hits).toEqual([])
    expect(visitor.troubles).toEqual([])
    expect(await visitor.page.locator('main script, main iframe, main marquee').count()).toBe(0)
  })
})
