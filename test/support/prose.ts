import { parseSync } from 'vite'

/** Replaces a character of code. It is neither a word nor a space, so no phrase reaches across it. */
const CODE = '\u0000'

/**
 * Blanks everything that is not written for people. Source files keep their strings, JSX text and comments, at the same
 * offsets and lines; other files keep everything.
 */
export function proseOf(path: string, text: string): string {
  if (!/\.(?:[jt]sx?|mjs)$/.test(path)) return text
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} can't be parsed: ${errors[0]?.message}`)
  const out = text.replace(/\S/g, CODE).split('')
  const keep = (from: number, to: number): void => {
    for (let at = from; at < to; at++) out[at] = text.charAt(at)
  }
  for (const { start, end } of comments) keep(start + 2, end)
  visit(program, keep)
  return withoutMarks(out.join(''), comments)
}

/** Turns comment markers into spaces, so that a phrase may continue on the next line. */
function withoutMarks(prose: string, comments: readonly { start: number; end: number }[]): string {
  let out = prose
  for (const { start, end } of comments) {
    const inside = out
      .slice(start + 2, end)
      .replace(/\*\/$/, '  ')
      .replace(/^(\s*)\*(?!\*)/gm, '$1 ')
    out = `${out.slice(0, start)}  ${inside}${out.slice(end)}`
  }
  return out
}

type Node = { readonly type?: unknown; readonly start?: unknown; readonly end?: unknown } & Record<string, unknown>

function visit(node: unknown, keep: (from: number, to: number) => void): void {
  if (Array.isArray(node)) {
    for (const each of node) visit(each, keep)
    return
  }
  if (typeof node !== 'object' || node === null) return
  const { type, start, end, value, source, ...rest } = node as Node
  if (typeof start === 'number' && typeof end === 'number') {
    if (type === 'Literal' && typeof value === 'string') keep(start + 1, end - 1)
    // It starts with a backtick or a brace, and ends with a backtick or `${`.
    if (type === 'TemplateElement') keep(start + 1, end - (rest['tail'] === true ? 1 : 2))
    if (type === 'JSXText') keep(start, end)
  }
  // The source of an import is a path.
  if (source !== undefined && !/^(Import|Export)/.test(String(type))) visit(source, keep)
  visit(value, keep)
  for (const each of Object.values(rest)) visit(each, keep)
}
