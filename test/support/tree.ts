import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Text by path, with forward slashes from the root of the repository. */
export type Tree = Readonly<Record<string, string>>

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const NOT_OURS = new Set(['node_modules', 'dist', '.artifacts', '.cache', '.client', '.git', 'coverage'])
const TEXT = /\.(ts|js|mjs|md|json|yml|yaml)$/

/** Reads the source and documentation files among these files and folders; skips those that don't exist. */
export function readTree(...paths: readonly string[]): Tree {
  return readFiles(TEXT, paths)
}

/** Reads the files whose path matches, among these files and folders. */
export function readFiles(matching: RegExp, paths: readonly string[]): Tree {
  const found: Record<string, string> = {}
  const visit = (path: string): void => {
    const absolute = join(ROOT, path)
    if (!existsSync(absolute)) return
    if (statSync(absolute).isDirectory()) {
      for (const name of readdirSync(absolute).sort()) if (!NOT_OURS.has(name)) visit(posix.join(path, name))
    } else if (matching.test(path)) {
      found[path] = readFileSync(absolute, 'utf8')
    }
  }
  for (const path of paths) visit(path)
  return found
}

/** The files of a tree under a folder. */
export function under(tree: Tree, folder: string): Tree {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => path.startsWith(`${folder}/`)))
}

const REGEX_MAY_FOLLOW =
  /(^|[([{}=,;:!&|?+\-*%~^<>]|\b(?:return|typeof|case|in|of|void|delete|throw|new|do|else|await|yield))\s*$/

/** Every rule reads the same files. */
const known = new Map<string, string>()

/**
 * Replaces comments and the contents of strings and regular expressions with spaces, so that only code remains, at the
 * same offsets and lines.
 */
export function codeOf(text: string): string {
  const code = known.get(text) ?? withoutWords(text)
  known.set(text, code)
  return code
}

function withoutWords(text: string): string {
  const out = text.split('')
  /** One entry per open `${`: how many braces are open inside it. */
  const templates: number[] = []
  let i = 0

  const blank = (from: number, to: number): void => {
    for (let at = from; at < to; at++) if (out[at] !== '\n') out[at] = ' '
  }
  const skipTo = (end: number, keepEnds: number): void => {
    blank(i + keepEnds, end - keepEnds)
    i = end
  }
  const skipTemplate = (): void => {
    const from = i
    while (i < text.length && text[i] !== '`' && !text.startsWith('${', i)) i += text[i] === '\\' ? 2 : 1
    blank(from, Math.min(i, text.length))
    if (text.startsWith('${', i)) {
      templates.push(0)
      i += 2
    } else {
      i++
    }
  }

  while (i < text.length) {
    const char = text[i]
    const inner = templates.length - 1
    if (text.startsWith('//', i)) skipTo(endOf(text, '\n', i), 0)
    else if (text.startsWith('/*', i)) skipTo(endOf(text, '*/', i) + 2, 0)
    else if (char === "'" || char === '"') skipTo(endOfQuoted(text, i, char), 1)
    else if (char === '/' && REGEX_MAY_FOLLOW.test(out.slice(Math.max(0, i - 20), i).join(''))) {
      skipTo(endOfRegex(text, i), 1)
    } else if (char === '`') {
      i++
      skipTemplate()
    } else if (char === '}' && templates[inner] === 0) {
      templates.pop()
      i++
      skipTemplate()
    } else {
      if (inner >= 0 && char === '{') templates[inner]! += 1
      if (inner >= 0 && char === '}') templates[inner]! -= 1
      i++
    }
  }
  return out.join('')
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at < 0 ? text.length : at
}

function endOfQuoted(text: string, from: number, quote: string): number {
  let at = from + 1
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endOfRegex(text: string, from: number): number {
  let at = from + 1
  let inClass = false
  while (at < text.length && text[at] !== '\n' && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true
    if (text[at] === ']') inClass = false
    at += text[at] === '\\' ? 2 : 1
  }
  return at + 1
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

export interface Import {
  readonly specifier: string
  /** Absent after compilation. */
  readonly typeOnly: boolean
  readonly line: number
}

const STATIC_IMPORT = /(?<![.\w$])(?:import|export)\s+(?:(type)\s+(?!from\b))?(?:[\w$*{}\s,]*?\sfrom\s*)?(?=['"])/g
const IMPORT_CALL = /(?<![.\w$])(typeof\s+)?import\(\s*(?=['"])/g

/** What a file imports or re-exports, by any form of the statement. */
export function importsOf(text: string): readonly Import[] {
  const code = codeOf(text)
  const found: Import[] = []
  const add = (match: RegExpExecArray, typeOnly: (end: number) => boolean): void => {
    const from = match.index + match[0].length
    const to = endOfQuoted(text, from, text.charAt(from))
    found.push({ specifier: text.slice(from + 1, to - 1), typeOnly: typeOnly(to), line: lineAt(text, match.index) })
  }
  for (const match of code.matchAll(STATIC_IMPORT)) add(match, () => match[1] !== undefined)
  for (const match of code.matchAll(IMPORT_CALL)) {
    add(match, end => match[1] !== undefined || /^\s*\)\s*\.\s*[A-Z]/.test(code.slice(end)))
  }
  return found
}

/** The file that a relative import in `from` refers to, if it is in the tree. */
export function resolveImport(tree: Tree, from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const target = posix.join(posix.dirname(from), specifier)
  return [target, target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.d.ts')].find(path => path in tree)
}

export interface FunctionSpan {
  readonly line: number
  readonly lines: number
}

const CONTROL = /\b(?:if|for|for await|while|switch|catch|with)\s*$/

/** Where functions with a body in braces begin, and how long they are. */
export function functionsOf(text: string): readonly FunctionSpan[] {
  const code = codeOf(text)
  const pairs = bracketPairs(code)
  const bodies = new Map<number, number>()
  for (const arrow of code.matchAll(/=>\s*(?=\{)/g)) bodies.set(arrow.index + arrow[0].length, arrow.index)
  for (const [open, close] of pairs) {
    if (code[open] !== '(' || CONTROL.test(code.slice(Math.max(0, open - 20), open))) continue
    const body = bodyAfter(code, close + 1, pairs)
    if (body !== undefined && !bodies.has(body)) bodies.set(body, open)
  }
  return [...bodies].map(([body, start]) => {
    const line = lineAt(code, start)
    return { line, lines: lineAt(code, pairs.get(body) ?? code.length) - line + 1 }
  })
}

/** The offset of each closing bracket by that of its opening one. */
function bracketPairs(code: string): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (const { index, 0: bracket } of code.matchAll(/[([{)\]}]/g)) {
    if ('([{'.includes(bracket)) open.push(index)
    else pairs.set(open.pop() ?? -1, index)
  }
  return pairs
}

/** The brace that opens a function's body after its parameters and an optional return type. */
function bodyAfter(code: string, from: number, pairs: ReadonlyMap<number, number>): number | undefined {
  let at = skipSpace(code, from)
  if (code[at] === '{') return at
  if (code[at] !== ':') return undefined
  at = skipSpace(code, at + 1)
  let typeIsWhole = false
  for (;;) {
    const char = code.charAt(at)
    if (char === '{' && typeIsWhole) return at
    let next = at + 1
    if (/[{[(]/.test(char)) {
      next = (pairs.get(at) ?? code.length) + 1
      typeIsWhole = true
    } else if (/[\w$.>'"`]/.test(char)) {
      typeIsWhole = true
    } else if (/[|&<,]/.test(char)) {
      typeIsWhole = false
    } else if (code.startsWith('=>', at) && /\)\s*$/.test(code.slice(0, at))) {
      next++
      typeIsWhole = false
    } else {
      return undefined
    }
    at = skipSpace(code, next)
    // This was not a return type but the end of `a ? b(c) : d`, and another statement follows.
    if (typeIsWhole && code.slice(next, at).includes('\n') && !/[|&>]/.test(code.charAt(at))) return undefined
  }
}

function skipSpace(code: string, from: number): number {
  let at = from
  while (/\s/.test(code.charAt(at))) at++
  return at
}
