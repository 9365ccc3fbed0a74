import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { widthOf } from '../../../src/cli/output/width.js'
import { type Lives, live } from '../lives.js'
import { say } from '../memory-io.js'

let folder: string
let lives: Lives

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-narrow-'))
  lives = await live(join(folder, 'chronos.db'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const TABLES = ['jobs list', 'dead list', 'dead groups', 'queues list', 'alerts rules', 'config show', 'policy list']

describe('a table on a narrow terminal', () => {
  const shown = async (command: string, columns: number): Promise<string> => {
    const store = /config|policy/.test(command) ? [] : ['--store', `sqlite:${join(folder, 'chronos.db')}`]
    return (await say([...command.split(' '), ...store], { isTTY: true, columns, env: { NO_COLOR: '1' } })).stdout
  }

  it.each(TABLES)('%s fits 50 columns', async command => {
    const lines = (await shown(command, 50)).split('\n')
    expect(lines.filter(line => widthOf(line) > 50)).toEqual([])
  })

  it('is shown as cards, with ids that can be copied', async () => {
    const text = await shown('dead list', 50)
    expect(text).toMatch(new RegExp(`^Id      ${lives.dead}\nName    sync-invent`))
    expect(text).toContain('\nReason  exhausted\n')
  })

  it('stays a table where it fits', async () => {
    expect(await shown('dead list', 80)).toMatch(/^Id +Name +Reason +When\n/)
  })
})
