import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

function run(program: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd: ROOT, encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe('a development command', () => {
  it.each(['test/flaky/run.js', 'test/simulation/run.js'])('explains itself and runs nothing: %s', program => {
    const help = run(program, '--help')
    expect(help).toMatchObject({ status: 0, stderr: '' })
    expect(help.stdout).toMatch(/^npm run \S+/)
    const misspelt = run(program, '--misspelt')
    expect(misspelt).toMatchObject({ status: 2, stdout: '' })
    expect(misspelt.stderr).toContain(`Unknown option '--misspelt'`)
    expect(misspelt.stderr).toContain(help.stdout)
  })

  it.each([
    ['test/simulation/run.js', ['--seeds', 'many'], '--seeds many: expected a whole number of at least 1'],
    ['test/flaky/run.js', ['--core', 'all'], '--core all: expected a whole number of at least 0'],
  ])('names a wrong value: %s %j', (program, args, why) => {
    const refused = run(program, ...args)
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain(why)
  })
})
