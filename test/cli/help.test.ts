import { describe, expect, it } from 'vitest'
import { say } from './memory-io.js'
import { commandPaths, help } from './paths.js'

const PATHS = await commandPaths()

describe('the help of every command', () => {
  it('finds every command', () => {
    const found = PATHS.map(path => path.join(' '))
    for (const path of ['jobs list', 'jobs run-now', 'migrate', 'queues set', 'doctor', 'enqueue', 'completion'])
      expect(found).toContain(path)
  })

  it.each(PATHS.map(path => [`chronos ${path.join(' ')}`.trim(), path] as const))(
    '%s fits 80 columns, and has examples where it does something',
    async (name, path) => {
      const text = await help(path)
      expect(text.split('\n').filter(line => line.length > 80)).toEqual([])
      const isGroup = PATHS.some(
        other => other.length === path.length + 1 && path.every((name, i) => name === other[i]),
      )
      if (!isGroup) expect(text).toContain('\nExamples:\n  $ ')
      expect(text).toContain(`Usage: ${name}`)
    },
  )
})

describe('the help of a command that does not exist', () => {
  it.each([
    [['help', 'doktor'], "unknown command 'doktor'"],
    [['jobs', 'help', 'timline'], "unknown command 'timline'"],
    [['help', 'nosuch'], "unknown command 'nosuch'"],
  ])('%j is an error', async (argv, says) => {
    const { code, stdout, stderr } = await say(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(says)
  })

  it('is shown for one that does', async () => {
    expect((await say(['help', 'doctor'])).stdout).toContain('Usage: chronos doctor')
    expect((await say(['jobs', 'help', 'list'])).stdout).toContain('Usage: chronos jobs list')
  })
})

describe('a misspelt command', () => {
  it.each([
    [['doktor'], 'doctor'],
    [['jobs', 'timline'], 'timeline'],
    [['jobs', 'runnow'], 'run-now'],
    [['queues', 'pasue'], 'pause'],
    [['migrate', 'statsu'], 'status'],
  ])('%j gets a suggestion', async (argv, meant) => {
    const { code, stdout, stderr } = await say(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(meant)
  })
})
