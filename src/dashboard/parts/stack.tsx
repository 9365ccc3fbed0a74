import { plural } from '../data/format.js'

interface Part {
  readonly isLibrary: boolean
  readonly lines: readonly string[]
}

/** Frames of Node and of installed packages. */
const LIBRARY = /^\s+at .*(node_modules|node:|<anonymous>)/

/** Consecutive lines of a stack, those of libraries apart. */
export function stackParts(stack: string): readonly Part[] {
  const parts: { isLibrary: boolean; lines: string[] }[] = []
  for (const line of stack.split('\n')) {
    const isLibrary = LIBRARY.test(line)
    const last = parts.at(-1)
    if (last?.isLibrary === isLibrary) last.lines.push(line)
    else parts.push({ isLibrary, lines: [line] })
  }
  return parts
}

/** A stack in which the frames of libraries are folded; Enter or a click unfolds them. */
export function Stack({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y: a scrollable element must be reachable by keyboard, and this one is no landmark
    <div class="stack-trace" role="group" aria-label={label} tabIndex={0}>
      {stackParts(text).map(({ isLibrary, lines }, i) =>
        isLibrary ? (
          <details key={i}>
            <summary>{plural(lines.length, 'library frame')}</summary>
            <pre>{lines.join('\n')}</pre>
          </details>
        ) : (
          <pre key={i}>{lines.join('\n')}</pre>
        ),
      )}
    </div>
  )
}
