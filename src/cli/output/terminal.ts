import type { Terminal } from '../io.js'

export function processTerminal(): Terminal {
  const { stdin, stdout } = process
  return {
    get rows() {
      return stdout.rows
    },
    capture({ onKey, onResize }) {
      const hear = (text: string): void => {
        for (const key of keysIn(text)) onKey(key)
      }
      stdin.setEncoding('utf8').on('data', hear)
      stdin.setRawMode(true).resume()
      stdout.on('resize', onResize)
      return () => {
        stdout.off('resize', onResize)
        stdin.off('data', hear)
        stdin.setRawMode(false).pause()
      }
    },
  }
}

const ESCAPE = '\u001b'

/** Splits input into keys: several keys can arrive as one text, and an arrow key is several characters. */
export function keysIn(text: string): readonly string[] {
  const keys: string[] = []
  for (let rest = text; rest !== ''; ) {
    const sequence = rest.startsWith(ESCAPE) ? /^\[[0-9;]*[A-Za-z~]/.exec(rest.slice(1))?.[0] : undefined
    const key = sequence === undefined ? [...rest][0]! : `${ESCAPE}${sequence}`
    keys.push(key)
    rest = rest.slice(key.length)
  }
  return keys
}
