const WIDE = /[^\0-\xff]+/gu

/**
 * Writes characters beyond Latin-1 as escapes. One of them makes V8 keep two bytes for each character of a file: 3 MB more
 * for a program that imports the library. No template here is raw, so an escape means the character everywhere.
 *
 * @returns {import('rolldown').Plugin}
 */
export function oneByte() {
  return {
    name: 'one-byte',
    renderChunk(code, _chunk, _options, { magicString }) {
      if (!magicString) return
      for (const { 0: wide, index } of code.matchAll(WIDE)) {
        magicString.overwrite(index, index + wide.length, wide.split('').map(escapeOf).join(''))
      }
      return { code: magicString }
    },
  }
}

/** @param {string} unit */
const escapeOf = unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
