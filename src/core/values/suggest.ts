/** The word that was probably meant, if one is close enough. */
export function suggest(word: string, words: readonly string[]): string | undefined {
  if (word.length > 50) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.ceil(word.length * 0.4)) + 1
  for (const candidate of words) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    if (edits < least && edits < candidate.length) {
      best = candidate
      least = edits
    }
  }
  return best
}

/** Insertions, deletions and replacements from one word to the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replace = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replace, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}

/** Ways out for words that are known elsewhere. */
export type WordHints = Readonly<Record<string, string>>

/** The way out for an unknown word: its hint, or the word that was probably meant. */
export function hintFor(word: string, words: readonly string[], hints: WordHints = {}): string | undefined {
  if (Object.hasOwn(hints, word)) return hints[word]
  const near = suggest(word, words)
  return near === undefined ? undefined : `did you mean "${near}"?`
}
