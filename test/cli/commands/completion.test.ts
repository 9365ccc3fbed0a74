import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { say } from '../memory-io.js'

/** The completions of bash for a line, with the cursor at its end. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout: script } = await say(['completion', 'bash'])
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _chronos; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-c', `${script}\n${ask}`, 'bash', ...words])
  return stdout.split('\n').filter(word => word !== '')
}

describe('completion in bash', () => {
  it.each([
    ['commands', ['chronos', 'do'], ['doctor']],
    ['commands below a command', ['chronos', 'jobs', 're'], ['retry', 'reschedule', 'replay']],
    ['options', ['chronos', 'jobs', 'list', '--created'], ['--created-after', '--created-before']],
    ['options after arguments', ['chronos', 'jobs', 'get', 'x', '--st'], ['--stack', '--store']],
    ['values', ['chronos', 'jobs', 'list', '--state', 'd'], ['dead']],
    ['values after other options', ['chronos', 'jobs', 'list', '--queue', 'jobs', '--phase', 're'], ['retrying']],
    ['arguments of a command', ['chronos', 'migrate', 'st'], ['status']],
    ['shells', ['chronos', 'completion', ''], ['bash', 'zsh', 'fish', '--help']],
    ['nothing for an unknown word', ['chronos', 'jobs', 'zzz'], []],
  ])('offers %s', async (_, words, found) => {
    expect(await offered(...words)).toEqual(found)
  })

  it('knows every command', async () => {
    const { stdout } = await say(['--help'])
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)[ [<]/gm)].map(([, name]) => name!)
    expect(commands).toContain('jobs')
    const known = await offered('chronos', '')
    expect(commands.filter(name => name !== 'help' && !known.includes(name))).toEqual([])
  })
})

describe('completion', () => {
  it('has descriptions in zsh', async () => {
    const { stdout } = await say(['completion', 'zsh'])
    expect(stdout).toMatch(/^#compdef chronos\n/)
    expect(stdout).toContain("'retry:retry dead jobs'")
    expect(stdout).toContain("'jobs list:--state') compadd -- waiting running succeeded dead cancelled; return ;;")
  })

  it('has descriptions in fish, for each command separately', async () => {
    const { stdout } = await say(['completion', 'fish'])
    expect(stdout).toContain(
      `complete -c chronos -n 'test (__chronos_at) = "jobs"' -f -a 'retry' -d 'retry dead jobs'\n`,
    )
    expect(stdout).toContain(
      `complete -c chronos -n 'test (__chronos_at) = "jobs list"' -l phase -x -a 'scheduled queued`,
    )
  })

  it('quotes special characters of shells', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await say(['completion', shell])
      // Without escaped quotes, the number of quotes is even.
      expect(stdout.replaceAll("'\\''", '').split("'").length % 2).toBe(1)
    }
  })

  it('rejects other shells', async () => {
    const { code, stderr } = await say(['completion', 'tcsh'])
    expect(code).toBe(2)
    expect(stderr).toContain('Allowed choices are bash, zsh, fish.')
  })
})
