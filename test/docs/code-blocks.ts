import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { lineAt, ROOT, type Tree } from '../support/tree.js'

/** A fenced block of a page. */
export interface Block {
  readonly page: string
  /** The line of its first line of code. */
  readonly line: number
  readonly language: string
  readonly code: string
}

export function blocksOf(pages: Tree): readonly Block[] {
  return Object.entries(pages).flatMap(([page, text]) =>
    [...text.matchAll(/^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```/gm)].map(match => ({
      page,
      line: lineAt(text, match.index) + 1,
      language: match[2]!,
      code: match[3]!,
    })),
  )
}

/** What the pages use without an import: the instance of the reader, and what a block above has imported. */
const GLOBALS = `
import * as root from 'chronos-jobs'
import * as postgresDoor from 'chronos-jobs/postgres'
import * as serverDoor from 'chronos-jobs/server'
import * as testing from 'chronos-jobs/testing'

declare global {
  const chronos: root.Chronos
  const createChronos: typeof root.createChronos
  const defineJob: typeof root.defineJob
  const exponential: typeof root.exponential
  const postgres: typeof postgresDoor.postgres
  const createServer: typeof serverDoor.createServer
  const t: Awaited<ReturnType<typeof testing.testChronos>>
}
`

/** The reader's own names and files are unknown here: they have any type. */
const READERS_OWN = /error TS(?:2304|2552|2582|2584|2593|18004|2307: Cannot find module '(?!chronos-jobs)|7016)/

const CONFIG = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable'],
    noUnusedLocals: false,
    noUnusedParameters: false,
    noImplicitAny: false,
    noUncheckedIndexedAccess: false,
    noPropertyAccessFromIndexSignature: false,
    exactOptionalPropertyTypes: false,
  },
  include: ['*.ts', '*.js'],
  exclude: [],
}

/**
 * Compiles blocks of TypeScript and JavaScript against the built package, and returns what is wrong with them. The folder is
 * inside the repository, so that they find its packages. Two test runs may do it at once.
 */
export async function compile(blocks: readonly Block[]): Promise<readonly string[]> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const at = mkdtempSync(join(ROOT, '.cache', 'docs-'))
  try {
    return await compileIn(at, blocks)
  } finally {
    rmSync(at, { recursive: true })
  }
}

async function compileIn(at: string, blocks: readonly Block[]): Promise<readonly string[]> {
  const nameOf = ({ page, line, language }: Block) => `${page.replaceAll(/\W/g, '-')}-${line}.${language}`
  for (const block of blocks) writeFileSync(join(at, nameOf(block)), `${block.code}\nexport {}\n`)
  writeFileSync(join(at, 'globals.d.ts'), GLOBALS)
  writeFileSync(join(at, 'tsconfig.json'), JSON.stringify(CONFIG))
  const byName = new Map(blocks.map(block => [nameOf(block), block]))
  return (await problemsIn(at)).flatMap(problem => {
    const [, name = '', line = '', says = ''] = /([^/\\]+)\((\d+),\d+\): (.*)$/.exec(problem) ?? []
    const block = byName.get(name)
    if (!block) return [problem]
    return READERS_OWN.test(says) ? [] : [`${block.page}:${block.line + Number(line) - 1} ${says}`]
  })
}

async function problemsIn(project: string): Promise<readonly string[]> {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  try {
    await promisify(execFile)(process.execPath, [compiler, '-p', project, '--pretty', 'false'])
    return []
  } catch (error) {
    const { stdout } = error as { stdout: string }
    return stdout.split('\n').filter(line => /^\S.*error TS/.test(line))
  }
}
