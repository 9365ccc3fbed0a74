import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChronos } from '../../src/index.js'
import { createServer } from '../../src/server.js'
import { type Lives, live } from './lives.js'
import { say } from './memory-io.js'
import { commandPaths, help } from './paths.js'

/** Every command that has the flag. */
const DRY = (
  await Promise.all(
    (await commandPaths()).map(async path => ((await help(path)).includes('--dry-run  ') ? path.join(' ') : '')),
  )
).filter(path => path !== '')

/** What each command acts on: an id of a job that it accepts, and a filter that matches some. */
const CHOICES: Readonly<Record<string, { ids?: (lives: Lives) => string; filter: readonly string[] }>> = {
  'jobs retry': { ids: lives => lives.dead, filter: ['--all'] },
  'jobs run-now': { ids: lives => lives.scheduled, filter: ['--all'] },
  'jobs reschedule': { ids: lives => lives.scheduled, filter: ['--all'] },
  'jobs cancel': { ids: lives => lives.scheduled, filter: ['--all'] },
  'jobs delete': { ids: lives => lives.dead, filter: ['--all'] },
  'dead redrive': { ids: lives => lives.dead, filter: ['--all'] },
  'dead acknowledge': { ids: lives => lives.dead, filter: ['--all'] },
  'dead discard': { ids: lives => lives.dead, filter: ['--all'] },
  prune: { filter: ['--succeeded', '1ms', '--dead', '1ms', '--cancelled', '1ms'] },
}
const MORE: Readonly<Record<string, readonly string[]>> = { 'jobs reschedule': ['--delay', '5h'] }

let folder: string
let store: string
let lives: Lives

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-dry-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  lives = await live(join(folder, 'chronos.db'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** All that a command could have changed. */
async function content(): Promise<unknown> {
  const chronos = createChronos({ store, log: false })
  try {
    const { data } = await chronos.jobs.list({}, { limit: 200 })
    const whole = await Promise.all(data.map(({ id }) => chronos.jobs.get(id)))
    return { whole, redrives: (await chronos.redrives.list()).data }
  } finally {
    await chronos.close()
  }
}

describe('a dry run', () => {
  it('is offered by the commands that this test knows', () => {
    expect([...DRY].sort()).toEqual(Object.keys(CHOICES).sort())
  })

  const argvOf = (path: string): readonly string[] => [...path.split(' '), ...(MORE[path] ?? []), '--dry-run', '--yes']

  it.each(DRY)('%s --dry-run changes nothing on a store', async path => {
    const { ids, filter } = CHOICES[path]!
    const before = await content()
    for (const choice of [filter, ...(ids ? [[ids(lives)]] : [])]) {
      const { code, stderr } = await say([...argvOf(path), ...choice, '--store', store])
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
      expect(await content()).toEqual(before)
    }
  })

  // `prune` works on a store only.
  it.each(DRY.filter(path => path !== 'prune'))('%s --dry-run changes nothing on a server', async path => {
    const { ids, filter } = CHOICES[path]!
    const before = await content()
    const chronos = createChronos({ store, log: false })
    const server = createServer(chronos, { log: false, dashboard: false, maintenance: false })
    const { url } = await server.listen({ port: 0 })
    try {
      for (const choice of [filter, [ids!(lives)]]) {
        const { code, stderr } = await say([...argvOf(path), ...choice, '--url', url])
        expect([code, stderr]).toEqual([0, expect.stringContaining('nothing was changed')])
      }
    } finally {
      await server.close()
      await chronos.close()
    }
    expect(await content()).toEqual(before)
  })

  it('refuses what the action would refuse', async () => {
    const refused = await say(['jobs', 'cancel', lives.scheduled, lives.dead, '--dry-run', '--store', store])
    expect([refused.code, refused.stderr]).toEqual([
      4,
      `1 job would be cancelled; nothing was changed\nerror: jobs cancel: job ${lives.dead} is dead (NOT_ALLOWED)\n`,
    ])
    expect((await say(['jobs', 'retry', 'nosuch', '--dry-run', '--store', store])).code).toBe(3)
  })
})

describe('an action on a filter that matches no job', () => {
  it.each([
    ['jobs retry --queue nosuch', 'no job matches the filter\n'],
    ['dead redrive --queue nosuch', ''],
    ['dead discard --queue nosuch', ''],
    ['prune --succeeded 1825d', '0 jobs deleted\n'],
  ])('chronos %s asks for no confirmation', async (line, stdout) => {
    const said = await say([...line.split(' '), '--store', store])
    expect([said.code, said.stdout, said.stderr]).toEqual([0, stdout, expect.not.stringContaining('--yes')])
  })
})
