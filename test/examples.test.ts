import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const folder = new URL('../examples/', import.meta.url)
const examples = readdirSync(folder).filter(name => name.endsWith('.js'))

test('there are examples', () => expect(examples.length).toBeGreaterThan(0))

test.each(examples)('examples/%s prints what its last comment says', async name => {
  const source = readFileSync(new URL(name, folder), 'utf8')
  const expected = source
    .slice(source.indexOf('// Output:\n') + '// Output:\n'.length)
    .split('\n')
    .filter(line => line.startsWith('// '))
    .map(line => line.slice(3))
  expect(expected.length).toBeGreaterThan(0)
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL(name, folder))])
  expect(stdout.trimEnd().split('\n')).toEqual(expected)
})
