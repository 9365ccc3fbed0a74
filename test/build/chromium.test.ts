import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { unpacked } from '../../build/chromium.js'

test('two test processes on a fresh machine never start a browser that is only partly unpacked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-chromium-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const versionOf = async () =>
    execFileSync(await unpacked(folder), ['--version', '--no-sandbox'], { encoding: 'utf8' })
  const versions = await Promise.all([versionOf(), versionOf()])
  expect(versions).toEqual([expect.stringMatching(/^\S.* \d+\./), versions[0]])
  expect(readdirSync(folder)).toHaveLength(1)
})
