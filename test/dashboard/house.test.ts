import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/tree.js'

const SCRIPT_MAX_BYTES = 150_000
const FILE_LINES_MAX = 400
/** Markup is longer than code, but faster to read. */
const COMPONENT_LINES_MAX = 100

const source = join(ROOT, 'src', 'dashboard')
const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(entry => {
    const path = join(entry.parentPath, entry.name)
    return { path: path.slice(ROOT.length).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }
  })

/** The lines of these files that match. */
function places(pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : [])),
  )
}

describe('the dashboard', () => {
  it('reads its own files', () => {
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(['src/dashboard/screens/jobs/jobs.tsx']))
  })

  it('builds no markup or style from text', () => {
    expect(
      places(/dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(/),
    ).toEqual([])
    expect(places(/\sstyle=[{"]/)).toEqual([])
  })

  it('imports values only from core and from its own packages', () => {
    const wrong = files.flatMap(({ path, text }) =>
      [...text.matchAll(/^import (type )?[^'"]*?(?:from )?'([^']+)'/gm)].flatMap(([, type, from = '']) => {
        const target = from.startsWith('.') ? posix.join(posix.dirname(path), from) : from
        const isOurs = /^src\/(core|dashboard)\//.test(target) || /^(preact(\/.+)?|@preact\/signals)$/.test(target)
        return isOurs || (type && /^src\/(store|engine|server)\//.test(target)) ? [] : [`${path}: ${from}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('keeps files and components short enough to read', () => {
    const long = files.flatMap(({ path, text }) => {
      const lines = text.split('\n')
      const starts = lines.flatMap((line, i) => (/^(export )?(default )?(async )?function /.test(line) ? [i] : []))
      const functions = starts.map(start => ({ start, end: lines.indexOf('}', start) }))
      return [
        ...(lines.length > FILE_LINES_MAX ? [`${path} has ${lines.length} lines`] : []),
        ...functions
          .filter(({ start, end }) => end - start + 1 > COMPONENT_LINES_MAX)
          .map(({ start, end }) => `${path}:${start + 1} has ${end - start + 1} lines`),
      ]
    })
    expect(long).toEqual([])
  })

  it('sends at most 150 kB of script, compressed', () => {
    const assets = join(ROOT, 'dist', 'dashboard', 'assets')
    const scripts = readdirSync(assets).filter(name => name.endsWith('.js'))
    expect(scripts.length).toBeGreaterThan(1)
    const bytes = scripts.map(name => gzipSync(readFileSync(join(assets, name)), { level: 9 }).byteLength)
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(SCRIPT_MAX_BYTES)
  })
})
